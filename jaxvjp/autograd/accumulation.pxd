# What C knows of gradients that are accumulated.
from jaxvjp.core.modes cimport GradMode, Staging, Transforming, grad_mode, staging, transforming
from jaxvjp.core.engine cimport release
from jaxvjp.core.graph cimport Node, Number, ends_here
from jaxvjp.core.walks cimport Answer, Question
from jaxvjp.storage cimport Stored, holding, shown


# What C knows of gradients that are accumulated.
from jaxvjp.core.record.modes cimport GradMode, Staging, Transforming, grad_mode, staging, transforming
from jaxvjp.core.derive.saved cimport release
from jaxvjp.core.record.graph cimport Node, Number, hooks_of
from jaxvjp.core.derive.remembered_walks cimport RecalledGradients, BackwardRequest
from jaxvjp.tensor.storage cimport Stored, holding, shown


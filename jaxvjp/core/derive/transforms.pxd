# What C knows of pushforwards and batches: see graph.pxd.
from jaxvjp.core.record.graph cimport Node, Number
from jaxvjp.core.record.modes cimport GradMode, grad_mode

# What C knows of pushforwards and batches: see graph.pxd.
from jaxvjp.core.graph cimport Node, Number, gradient_edges
from jaxvjp.core.modes cimport GradMode, grad_mode

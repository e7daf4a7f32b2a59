# What C knows of the walk back: see graph.pxd.
from jaxvjp.core.record.modes cimport GradMode, Staging, Transforming, grad_mode, staging, transforming
from jaxvjp.core.record.graph cimport Node, Number, ends_here, gradient_edges, is_held, stripped_of

cpdef check_unchanged(object operations)
cpdef release(object operations, object met)

# What C knows of what nodes saved: see graph.pxd.
from jaxvjp.core.record.graph cimport Node, NodesMet, Number, TensorsBehind, copy_without_inputs, ends_here, is_held, leave_recorded_uncollected
from jaxvjp.core.record.modes cimport GradMode, Transforming, grad_mode, transforming

cpdef check_unchanged(object operations)
cpdef release(object operations, NodesMet met)

# What C knows of what nodes saved: see graph.pxd.
from jaxvjp.core.record.graph cimport Node, NodesMet, Number, TensorsBehind, ends_here, is_held, copy_without_inputs
from jaxvjp.core.record.modes cimport GradMode, Transforming, grad_mode, transforming

cpdef check_unchanged(object operations)
cpdef release(object operations, NodesMet met)

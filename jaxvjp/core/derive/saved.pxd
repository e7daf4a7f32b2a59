# What C knows of what nodes saved: see graph.pxd.
from jaxvjp.core.record.graph cimport Node, Number
from jaxvjp.core.record.lifetime cimport NodesMet, TensorsBehind, copy_without_inputs, drop_inputs_if_done
from jaxvjp.core.record.record cimport leave_recorded_uncollected
from jaxvjp.core.record.saves cimport changed_in_place, saved_positions, saves_something, shows_overwritten
from jaxvjp.core.record.modes cimport GradMode, Transforming, grad_mode, listening, transforming

cpdef check_unchanged(object operations)
cpdef release(object operations, NodesMet met)

# What C knows of gradients that are recorded again.
from jaxvjp.core.record.graph cimport Node, Number, new_node
from jaxvjp.core.record.modes cimport GradMode, Staging, grad_mode, staging
from jaxvjp.core.record.user_lines cimport user_line
from jaxvjp.core.derive.remembered_walks cimport BackwardRequest

cdef class Recipe:
    cdef public object operation, static, aval, inputs, edges
    cdef public bint tracked

cdef class WalkNodes:
    cdef public tuple constants, recipes, gradients, walked

# What C knows of how nodes are made: see graph.pxd.
cimport cython

from jaxvjp.core.record.collector cimport PyObject_GC_IsTracked, leave_uncollected, let_collector_visit
from jaxvjp.core.record.graph cimport Node, Number
from jaxvjp.core.record.modes cimport GradMode, Staging, Transforming, grad_mode, staging, transforming
from jaxvjp.core.record.saves cimport check_savable, saved_inputs
from jaxvjp.core.record.user_lines cimport user_line

cdef class Signature:
    cdef public object aval
    cdef public tuple warnings
    cdef public bint differentiable, saves

@cython.locals(node=Node)
cpdef bint tracks(tuple inputs)
cpdef tuple avals_of(tuple inputs)
cpdef Node record(object operation, tuple inputs, tuple static=*)
@cython.locals(node=Node, operand=Node, mode=GradMode)
cpdef Node record_with(Signature signature, object operation, tuple inputs, tuple static, object where)
cpdef object leave_recorded_uncollected(Node node)
@cython.locals(node=Node)
cpdef Node node_of_value(object value, object aval, bint requires_grad=*, object where=*)

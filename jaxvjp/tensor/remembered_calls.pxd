# What C knows of remembered calls.
from jaxvjp.core.record.graph cimport Node, Number
from jaxvjp.core.record.record cimport Signature, leave_recorded_uncollected, record_with
from jaxvjp.core.record.user_lines cimport user_line
from jaxvjp.tensor.storage cimport Stored, holding, shown, view_by

cdef class Call:
    cdef public object operation, row, step
    cdef public Signature signature
    cdef public tuple static, inputs
    cdef public bint plain
    cpdef bint fits(self, Stored source)
    cpdef Node node(self, tuple inputs, tuple where)
    cpdef object record(self, tuple inputs, tuple where)

cdef class Kind:
    cdef public tuple static
    cdef public dict calls

cdef class Calls:
    cdef public bint by_value
    cdef public dict kinds
    cpdef object recalled(self, tuple arguments, dict named)

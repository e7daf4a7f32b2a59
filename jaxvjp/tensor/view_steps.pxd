# What C knows of view steps: see graph.pxd.
cimport cython

from jaxvjp.core.record.graph cimport Node, Number
from jaxvjp.core.record.user_lines cimport user_line
from jaxvjp.core.record.record cimport Signature, avals_of, node_of_value, record, record_with

cdef class Step:
    cdef public object operation
    cdef public tuple static, operands
    cdef public dict signatures
    cpdef Node read(self, Node node)

@cython.locals(step=Step)
cpdef Node read(Node node, tuple steps)

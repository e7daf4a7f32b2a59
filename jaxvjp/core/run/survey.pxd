# What C knows of graphs looked over.
from jaxvjp.core.record.graph cimport Node, Number, is_held

cdef class Survey:
    cdef public list nodes, operations, kept
    cdef public dict number
    cdef public tuple key
    cdef public bint regular

cpdef Survey survey(object start, object wanted, object question=*, object added_to=*, bint differentiated=*, bint create_graph=*)

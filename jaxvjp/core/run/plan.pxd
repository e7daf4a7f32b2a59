# What C knows of graphs looked over and of plans.
from jaxvjp.core.record.graph cimport Node, Number, is_held

cdef class Survey:
    cdef public list nodes, operations, kept
    cdef public dict number
    cdef public tuple key
    cdef public bint regular

cdef class Dispatch:
    cdef public object executable, turns
    cdef public tuple arrays, packs, gives, last_reads

cdef class Plan:
    cdef public tuple dispatches, outputs

cpdef Survey survey(object start, object wanted, object question=*, object added_to=*, bint differentiated=*, bint create_graph=*)

# What C knows of graphs looked over.
from jaxvjp.core.record.graph cimport Node, Number, is_held

cdef class Survey:
    cdef public list nodes, operations, kept
    cdef public dict place_of
    cdef public tuple key
    cdef public bint regular

cdef bint _note_leaf(Node node, object added_to, list nodes, dict place_of, list key)
cpdef Survey survey(object start, object wanted, object question=*, object added_to=*, bint differentiated=*, bint create_graph=*)

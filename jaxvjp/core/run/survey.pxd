# What C knows of graphs looked over.
from jaxvjp.core.record.graph cimport Node, Number

cdef class Survey:
    cdef public list nodes, operations, kept
    cdef public dict place_of
    cdef public tuple key
    cdef public bint key_is_complete

cdef bint _note_leaf(Node node, object grad_node_of, list nodes, dict place_of, list key)
cdef bint _tells_all(Node node)
cpdef Survey survey(object start, object wanted, object key_prefix=*, object grad_node_of=*, bint walks_behind_values=*, bint create_graph=*, bint reading=*)

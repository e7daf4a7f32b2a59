# What C knows of the life of nodes: see graph.pxd.
cimport cython

from jaxvjp.core.record.collector cimport leave_uncollected, uncollected_ref
from jaxvjp.core.record.graph cimport Node, gradient_edges
from jaxvjp.core.record.modes cimport Transforming, transforming
from jaxvjp.core.record.saves cimport count_writes

cpdef Node original_of(Node node)
cpdef object drop_inputs_if_done(Node node)
@cython.locals(copy=Node)
cpdef Node copy_without_inputs(Node node, object passed)
@cython.locals(node=Node)
cpdef list noted(list nodes, dict holders, dict earlier)

cdef class NodesMet:
    cdef public list nodes, onward
    cpdef list ways(self)

cdef class TensorsBehind:
    cdef public list serials, onward
    cdef public dict holders, earlier
    cdef public object where

# What C knows of what nodes save: see graph.pxd.
cimport cython

from jaxvjp.core.record.graph cimport Node, Number, gradient_edges
from jaxvjp.core.record.modes cimport Transforming, transforming

cpdef list saved_positions(Node node)
cpdef bint saves_something(Node node)
cpdef list saved_inputs(Node node)
cpdef object check_savable(object saved, object inputs=*)
cpdef Node changed_in_place(Node node)
@cython.locals(several=Node)
cdef bint _is_saved(Node node)
cpdef Node shows_overwritten(Node node)
@cython.locals(behind=object)
cpdef Node origin_of(Node node)
@cython.locals(each=Node, origin=Node)
cpdef object count_writes(Node node, Node shown)

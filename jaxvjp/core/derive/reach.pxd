# What C knows of the part of a graph that a walk goes through: see graph.pxd.
from jaxvjp.core.record.graph cimport Node, Number, gradient_edges, hooks_of
from jaxvjp.core.record.lifetime cimport original_of
from jaxvjp.core.derive.saved cimport check_unchanged

cpdef Node whole(Node node)
cpdef list _onward(Node node)

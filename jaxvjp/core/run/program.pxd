# What C knows of graphs that are frozen: see graph.pxd.
from jaxvjp.core.record.graph cimport Node, Number

cpdef long weight_of(Node node)

# What C knows of parts of a graph: see graph.pxd.
from jaxvjp.core.record.graph cimport Node, Number, gradient_edges

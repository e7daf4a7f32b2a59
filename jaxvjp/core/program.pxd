# What C knows of graphs that are frozen: see graph.pxd.
from jaxvjp.core.graph cimport Node, Number

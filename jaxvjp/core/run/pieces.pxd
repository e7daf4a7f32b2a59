# What C knows of graphs that are cut: see graph.pxd.
from jaxvjp.core.record.graph cimport Node
from jaxvjp.core.run.program cimport weight_of

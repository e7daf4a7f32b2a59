# What C knows of Jacobians: see graph.pxd.
from jaxvjp.core.record.graph cimport Node, Number

# What C knows of transforms under way: see graph.pxd.
from jaxvjp.core.record.graph cimport Node, Number

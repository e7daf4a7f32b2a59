# What C knows of transforms under way: see graph.pxd.
from jaxvjp.core.graph cimport Node, Number

# What C knows of steps that are taken alone: see graph.pxd.
from jaxvjp.core.record.graph cimport Node, Number

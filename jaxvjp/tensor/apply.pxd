# What C knows of operations that are applied: see graph.pxd.
from jaxvjp.core.record.graph cimport Node
from jaxvjp.core.record.modes cimport Staging, Transforming, staging, transforming
from jaxvjp.tensor.storage cimport Stored

cpdef object check_writable(object operation, Stored target, tuple operands)
cpdef object limit_untracked_graph(Node node)
cpdef object written(object operation, Stored target, tuple operands, Node result)

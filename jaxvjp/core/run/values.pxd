# What C knows of values.
from jaxvjp.core.record.graph cimport Node

cpdef object operand_of(Node node)
cpdef object array_of(Node node)

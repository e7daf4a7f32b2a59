# What C knows of evaluations.
from jaxvjp.core.graph cimport Node, is_held
from jaxvjp.core.modes cimport Staging, Transforming, staging, transforming
from jaxvjp.core.plan cimport Plan, Survey, survey

cpdef object operand_of(Node node)
cpdef object array_of(Node node)

# What C knows of evaluations.
from jaxvjp.core.record.graph cimport Node, is_held
from jaxvjp.core.record.lifetime cimport forget
from jaxvjp.core.record.modes cimport Staging, Transforming, staging, transforming
from jaxvjp.core.run.plan cimport Dispatch, Plan
from jaxvjp.core.run.survey cimport Survey, survey

cpdef object operand_of(Node node)
cpdef object array_of(Node node)
cpdef list operands_of(list nodes, Plan plan)

# What C knows of evaluations.
from jaxvjp.core.record.graph cimport Node
from jaxvjp.core.record.lifetime cimport drop_inputs_if_done
from jaxvjp.core.record.modes cimport Staging, Transforming, staging, transforming
from jaxvjp.core.run.plan cimport Dispatch, Plan
from jaxvjp.core.run.survey cimport Survey, survey
from jaxvjp.core.run.values cimport operand_of

cpdef list values_of(list nodes, Plan plan)

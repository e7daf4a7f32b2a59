# What C knows of walks that are remembered.
from jaxvjp.core.run.evaluation cimport values_of
from jaxvjp.core.record.graph cimport Node, Number
from jaxvjp.core.record.lifetime cimport NodesMet, drop_inputs_if_done
from jaxvjp.core.record.record cimport node_of_value
from jaxvjp.core.record.user_lines cimport user_line
from jaxvjp.core.run.plan cimport Plan
from jaxvjp.core.run.survey cimport Survey

cdef class ComputedWalk:
    cdef public Plan plan
    cdef public list further, onward
    cdef public tuple gradients, values, walked
    cpdef object again(self, Survey found)

cdef class Recipe:
    cdef public object operation, static, aval, inputs, edges
    cdef public bint tracked

cdef class RecordedWalk:
    cdef public list constants, recipes, gradients, walked
    cpdef object again(self, Survey found)

cpdef object known_walk(Survey found)

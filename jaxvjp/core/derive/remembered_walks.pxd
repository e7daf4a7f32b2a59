# What C knows of walks that are remembered.
from jaxvjp.core.record.modes cimport GradMode, Staging, Transforming, grad_mode, staging, transforming
from jaxvjp.core.run.evaluation cimport values_of
from jaxvjp.core.record.graph cimport Node, Number
from jaxvjp.core.record.lifetime cimport NodesMet, drop_inputs_if_done
from jaxvjp.core.record.record cimport node_of_value
from jaxvjp.core.record.user_lines cimport user_line
from jaxvjp.core.run.plan cimport Plan
from jaxvjp.core.run.survey cimport Survey, survey

cdef class WalkPlan:
    cdef public Plan plan
    cdef public list constants, own, onward
    cdef public tuple gradients, values, walked

cdef class RecalledGradients:
    cdef public list gradients, walked
    cdef public object met

cdef class BackwardRequest:
    cdef public Survey survey
    cdef public bint may_be_remembered
    cpdef RecalledGradients recalled(self)

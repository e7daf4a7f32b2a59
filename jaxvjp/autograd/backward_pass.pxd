# What C knows of a backward pass.
from jaxvjp.core.record.modes cimport GradMode, Staging, ThreadModes, Transforming, grad_mode, listening, thread_modes, transforming
from jaxvjp.core.derive.remembered_walks cimport ComputedWalk, RecordedWalk, known_walk
from jaxvjp.core.derive.saved cimport release
from jaxvjp.core.record.graph cimport Node, Number, hooks_of
from jaxvjp.core.run.survey cimport Survey, survey
from jaxvjp.tensor.storage cimport Stored, holding, shown

cdef class Backward:
    cdef public object roots, cotangents, targets, batch, walk
    cdef public Survey found
    cdef public ThreadModes modes
    cdef public bint create_graph, lazy, may_be_remembered, short_pieces
    cdef public list received

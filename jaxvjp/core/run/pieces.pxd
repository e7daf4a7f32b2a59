# What C knows of graphs that are cut: see graph.pxd.
from jaxvjp.core.record.graph cimport Node
from jaxvjp.core.run.program cimport weight_of

cdef class Part:
    cdef public Py_ssize_t start, end
    cdef public long weight, label
    cdef public bint alone

cpdef Part _joined(list[Part] parts, dict labels)

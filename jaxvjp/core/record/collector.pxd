# What C knows of the garbage collector.

cdef extern from "Python.h":
    object PyWeakref_NewRef(object, object)
    void PyObject_GC_UnTrack(object)
    void PyObject_GC_Track(object)
    int PyObject_GC_IsTracked(object)

cpdef object leave_uncollected(object part)
cpdef object let_collector_visit(object node, tuple inputs)
cpdef object uncollected_ref(object target)

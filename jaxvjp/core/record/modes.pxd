# What C knows of the modes of a thread.

cdef extern from "Python.h":
    ctypedef struct PyThreadState:
        pass
    PyThreadState* PyThreadState_Get()
    unsigned long long PyThreadState_GetID(PyThreadState*)

    int PyObject_GenericSetAttr(object, object, object) except -1

cdef class Changes:
    cdef public Py_ssize_t count

cdef class Counted:
    pass

cdef class GradMode(Counted):
    cdef public bint enabled, inference
    cdef public object mutation, saving, refusing, autocast

cdef class Transforming(Counted):
    cdef public int depth, forward, pure
    cdef public list batches, guards, variables, cuts, duals
    cdef public object level

cdef class Staging(Counted):
    cdef public object journal

cdef class ThreadModes:
    cdef public GradMode grad_mode
    cdef public Transforming transforming
    cdef public Staging staging
    cdef public object walk
    cdef public list listening

cdef class tracking:
    cdef public bint enabled, before

cdef class outside_inference:
    cdef public bint before

cdef ThreadModes _last
cdef unsigned long long _number

cpdef count_change()
cpdef ThreadModes thread_modes()
cpdef GradMode grad_mode()
cpdef Transforming transforming()
cpdef Staging staging()
cpdef list listening()

# What C knows of code.

cdef extern from "Python.h":
    ctypedef class types.CodeType [object PyCodeObject, check_size ignore]:
        cdef object co_filename

cpdef object user_frame(object frame)
cpdef tuple user_line(object frame)

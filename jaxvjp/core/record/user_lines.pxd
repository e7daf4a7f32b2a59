# What C knows of code and of frames. Only frames of Python count: those of compiled modules do not exist.

from jaxvjp.core.record.collector cimport leave_uncollected

cdef extern from "Python.h":
    ctypedef class types.CodeType [object PyCodeObject, check_size ignore]:
        cdef object co_filename

cdef extern from *:
    """
    #include <frameobject.h>
    static CYTHON_INLINE PyObject *jaxvjp_object(void *found) {
        if (found != NULL) return (PyObject *)found;
        Py_RETURN_NONE;
    }
    #define jaxvjp_frame() jaxvjp_object(Py_XNewRef((PyObject *)PyEval_GetFrame()))
    #define jaxvjp_code(frame) ((PyObject *)PyFrame_GetCode((PyFrameObject *)(frame)))
    #define jaxvjp_back(frame) jaxvjp_object(PyFrame_GetBack((PyFrameObject *)(frame)))
    #define jaxvjp_instruction(frame) PyFrame_GetLasti((PyFrameObject *)(frame))
    """
    object innermost_frame "jaxvjp_frame" ()
    object code_of "jaxvjp_code" (object frame)
    object back_of "jaxvjp_back" (object frame)
    int instruction_of "jaxvjp_instruction" (object frame)

cpdef object user_frame(object frame)
cpdef tuple user_line(object frame=*)

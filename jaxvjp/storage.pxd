# What C knows of tensors: see graph.pxd.
cimport cython

from jaxvjp.core.modes cimport GradMode, Staging, Transforming, changed, grad_mode, staging, transforming
from jaxvjp.core.graph cimport Holder, Node, Number, hold
from jaxvjp.core.places cimport user_line
from jaxvjp.core.record cimport Signature, avals_of, leaf, record, record_as

cdef extern from *:
    """
    static PyObject *bare(PyObject *kind) {
        PyObject *nothing = PyTuple_New(0);
        PyObject *made = nothing ? ((PyTypeObject *)kind)->tp_new((PyTypeObject *)kind, nothing, NULL) : NULL;
        Py_XDECREF(nothing);
        return made;
    }
    """
    object bare(object kind)  # an object of a class, of which nothing is set yet

cdef class Step:
    cdef public object operation
    cdef public tuple static, operands
    cdef public dict signatures
    cpdef Node read(self, Node node)

cdef class Storage:
    cdef public Node contents
    cdef public Py_ssize_t version, address

cdef class Stored(Holder):
    cdef public Storage _storage
    cdef public Py_ssize_t _seen, _counted
    cdef public bint _unrecorded
    cdef public tuple _steps
    cdef public object _base_tensor, _path, _versions, _leaf, _grad, _after_accumulation

    cpdef object _take_grad(self, object value)

@cython.locals(step=Step)
cdef Node _read(Node node, tuple steps)
cpdef object holding(Node node, object kind)
cpdef object view(Stored source, object steps, object kind)
cpdef object view_by(Node node, Stored source, object steps, object kind)
cpdef Node shown(Stored tensor)

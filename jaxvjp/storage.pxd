# What C knows of tensors: see graph.pxd.
from jaxvjp.core.modes cimport GradMode, Staging, Transforming, grad_mode, staging, transforming
from jaxvjp.core.graph cimport Holder, Node, Number, changed, hold

cdef class Storage:
    cdef public Node node
    cdef public Py_ssize_t version

cdef class Stored(Holder):
    cdef public Storage _storage
    cdef public Py_ssize_t _seen
    cdef public tuple _steps
    cdef public object _base_tensor, _versions, _grad, _after_accumulation

    cpdef object _take_grad(self, object value)

cpdef object holding(Node node, object kind)
cpdef Node shown(Stored tensor)

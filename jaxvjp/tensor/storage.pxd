# What C knows of tensors: see graph.pxd.
from jaxvjp.core.record.modes cimport GradMode, Staging, Transforming, count_change, grad_mode, listening, staging, transforming
from jaxvjp.core.record.graph cimport Holder, Node, hold
from jaxvjp.core.record.collector cimport let_collector_visit
from jaxvjp.core.record.record cimport node_of_value, record

cdef extern from *:
    """
    static PyObject *bare(PyObject *base, PyObject *kind) {
        PyObject *nothing = PyTuple_New(0);
        PyObject *made = nothing ? ((PyTypeObject *)base)->tp_new((PyTypeObject *)kind, nothing, NULL) : NULL;
        Py_XDECREF(nothing);
        return made;
    }
    """
    object bare(object base, object kind)  # an object of a class, made as a base of it is: without its own `__new__`

cdef class Storage:
    cdef public Node contents
    cdef public Py_ssize_t version, address
    cdef public object shared
    cdef object __weakref__

cdef class Stored(Holder):
    cdef public Storage __storage__
    cdef public Py_ssize_t __seen__, __counted__
    cdef public tuple __steps__
    cdef public bint __retained__
    cdef public object __unrecorded__, __base_tensor__, __own_path__, __own_versions__, __leaf__, _grad, __after_accumulation__

    cpdef object __take_grad__(self, object value)

cpdef object holding(Node node, object kind)
cpdef object view(Stored source, object steps, object kind)
cpdef object view_by(Node node, Stored source, object steps, object kind)
cpdef Node shown(Stored tensor, tuple steps=*, tuple picks=*)

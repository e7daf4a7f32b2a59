# What C knows of counts of writes: see graph.pxd.
cdef class Latest:
    cdef public Py_ssize_t write, detach

cdef class Versions:
    cdef public Py_ssize_t count, last
    cdef public object where, spread_over

cdef class OwnVersions(Versions):
    pass

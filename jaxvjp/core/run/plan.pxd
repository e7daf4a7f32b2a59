# What C knows of plans.
cdef class Dispatch:
    cdef public object executable, turns
    cdef public tuple arrays, packs, gives, last_reads

cdef class Plan:
    cdef public tuple dispatches, outputs

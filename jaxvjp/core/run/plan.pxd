# What C knows of plans.
cdef class Dispatch:
    cdef public object executable
    cdef public tuple arrays, packs, gives, last_reads

cdef class Plan:
    cdef public tuple dispatches, outputs
    cpdef object run(self, list values, bint deferring=*)

cdef class ShortPiecesPlan(Plan):
    cdef public double spent

# What C knows of nodes: their attributes, each at its place and not in a dict. It must name all that graph.py sets.
cimport cython

@cython.no_gc  # a number and its type are in no cycle
cdef class Number:
    cdef object __weakref__
    cdef public object value, aval

@cython.freelist(256)
@cython.trashcan(True)
cdef class Node:
    cdef object __weakref__
    cdef public object operation, static, inputs, aval, value, where, serial
    cdef public object holder, passed, input_avals, overwritten
    cdef public object _edges, _python, _hooks, _packed, _step_hooks
    cdef public bint requires_grad, special, freed, in_place, inference, stale, _retains
    cdef public int retaken

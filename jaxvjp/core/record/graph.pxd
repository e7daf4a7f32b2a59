# What C knows of nodes: their attributes, each at its place and not in a dict. It must name all that graph.py sets.
cimport cython

from jaxvjp.core.record.collector cimport let_collector_visit, leave_uncollected, uncollected_ref
from jaxvjp.core.record.modes cimport GradMode, Staging, Transforming, count_change, grad_mode, staging, transforming
from jaxvjp.core.record.user_lines cimport user_line

cdef class Number:
    cdef object __weakref__
    cdef public object value, aval
    @cython.locals(number=Number)
    cpdef Number like(self, value)

cdef class Node:
    cdef object __weakref__
    cdef public object operation, static, inputs, aval, value, where, serial
    cdef public object holder, passed, input_avals, versions, leaf, original
    cdef public object _edges, _python, _hooks, _packed, _step_hooks, _mutation
    cdef public bint requires_grad, special, freed, in_place, inference, detached_in_place, stale, outdated, _retains, passed_by
    cdef public int retaken, version
    cpdef bint held(self)
    cpdef tuple avals_read(self)

cdef class Holder:
    cdef object __weakref__
    cdef public Node __shown__

cpdef object hooks_of(Node node)
cpdef list gradient_edges(Node node)
cpdef object hold(Node node, Holder holder)

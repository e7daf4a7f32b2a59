# What C knows of blocks that set modes: that a change of one is counted in C.
from jaxvjp.core.record.modes cimport count_change

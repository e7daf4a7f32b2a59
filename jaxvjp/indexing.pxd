# What C knows of keys: see storage.pxd.
from jaxvjp.core.graph cimport Node, Number
from jaxvjp.steps cimport Step
from jaxvjp.storage cimport Stored, shown
from jaxvjp.storage cimport view as view_of

# What C knows of keys: see storage.pxd.
from jaxvjp.core.graph cimport Node, Number
from jaxvjp.storage cimport Step, Stored, shown
from jaxvjp.storage cimport view as view_of

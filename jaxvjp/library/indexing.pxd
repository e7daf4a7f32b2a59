# What C knows of keys: see storage.pxd.
from jaxvjp.core.record.graph cimport Node, Number
from jaxvjp.tensor.view_steps cimport Step
from jaxvjp.tensor.storage cimport Stored, shown
from jaxvjp.tensor.storage cimport view as view_of

# What C knows of the walk back: see graph.pxd.
from jaxvjp.core.record.graph cimport Node, Number, gradient_edges, hooks_of
from jaxvjp.core.record.modes cimport ThreadModes, listening, thread_modes
from jaxvjp.core.derive.reach cimport whole

"""torch's `save` and `load`, in torch's own file format: files cross both ways.

A file is a zip archive, uncompressed: `data.pkl` is a pickle of the object, in which each storage is a reference, and
`data/0`, `data/1`, ... are the bytes of the storages. Tensors that share a storage share it in the file, too.
Before torch 1.6 a file was five pickles, one behind the other, and then the bytes of the storages.

* `writing`: `save`.
* `reading`: `load`, and tensors made of storages.
* `restricted`: reads a pickle without running anything but what a table names.
"""

from jaxvjp.serialization.reading import load
from jaxvjp.serialization.restricted import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from jaxvjp.serialization.writing import save
from jaxvjp.tensor.docstrings import complete_all

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

complete_all(globals(), __all__, "serialization", "no JAX: bytes of NumPy arrays in a zip archive")

__dir__ = __all__.copy

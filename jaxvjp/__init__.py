"""torch's imperative autograd over JAX: `import jaxvjp as torch`.

Operations on tensors are recorded; every derivative is `jax.vjp` of the recorded program, compiled by `jax.jit`. This
module has the public names.

The packages, from the lowest up (each imports only from those before it, which CI checks):

* `types`: dtypes, devices, shapes. `ops`: every op, as a pure JAX function and a row of the registry.
* `core`: records operations (`record`), compiles and runs programs (`run`), differentiates them (`derive`).
* `tensor`: the class, and how a call becomes an operation.  `library`: creation, indexing, random numbers, views.
* torch's namespaces, where torch has them: `autograd`, `func`, `nn`, `optim`, `linalg`, `fft`, `special` and others.
* `pure`: recorded programs as JAX functions, JAX functions as operations.
* `staging`: whole steps as one compiled function. `explain`: shows the functional program. `distributions`: torch's.
* `tools`: the commands of the command line.
"""

from __future__ import annotations

import gc
from importlib import import_module
from math import e, inf, nan, pi
from types import ModuleType
from typing import Any

import jax.numpy  # first, as the next lines are for jaxvjp's own imports

# The rows of the ops are so many objects that Python would search all of JAX for garbage cycles. That takes as long as
# the rest of this import and finds none.
_collecting = gc.isenabled()
gc.disable()

try:
    from jaxvjp import (
        autograd,
        explain,
        fft,
        func,
        library,
        linalg,
        masked,
        namespaces,
        nn,
        pure,
        signal,
        special,
        testing,
        utils,
    )
    from jaxvjp.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
    from jaxvjp.autograd.modes import is_anomaly_enabled, is_grad_enabled, is_inference_mode_enabled
    from jaxvjp.core.run.choosing import set_choosing
    from jaxvjp.core.run.compilation import counters
    from jaxvjp.core.run.history import explain_program, recompiles
    from jaxvjp.core.run.tiers import set_compiling
    from jaxvjp.func import vmap
    from jaxvjp.library.constructors import TYPES
    from jaxvjp.library.creation import empty, empty_like, full, ones, ones_like, tensor, zeros, zeros_like
    from jaxvjp.library.crossing import from_dlpack, from_jax, from_torch
    from jaxvjp.library.generator import Generator, default_generator, initial_seed, manual_seed
    from jaxvjp.library.random_tensors import rand, rand_like, randn, randn_like
    from jaxvjp.library.storages import STORAGES, TypedStorage, UntypedStorage
    from jaxvjp.ops.layouts import (
        SPARSE,
        channels_last,
        channels_last_3d,
        contiguous_format,
        layout,
        memory_format,
        preserve_format,
        strided,
    )
    from jaxvjp.pure import as_function, cond, functional, pullback, scan, while_loop, wrap
    from jaxvjp.staging import UnstageableError, compile, jit
    from jaxvjp.tensor import bindings
    from jaxvjp.tensor.docstrings import complete_all
    from jaxvjp.tensor.overriding import DisableTorchFunctionSubclass
    from jaxvjp.tensor.printing import set_printoptions
    from jaxvjp.tensor.tensor import Tensor
    from jaxvjp.types import dtypes
    from jaxvjp.types.devices import device, get_default_device, set_default_device
    from jaxvjp.types.dtypes import dtype, get_default_dtype, promote_types, set_default_dtype
    from jaxvjp.types.size import Size

    library.attach_methods()
    pure.attach_methods()
    namespaces.attach()
    globals().update({each.name: each for each in (*dtypes.ALL, *dtypes.UNSIGNED, *dtypes.NAMES)})
    globals().update(dtypes.ALIASES)
    globals().update(SPARSE)
    globals().update(TYPES)
    globals().update(STORAGES)
finally:
    if _collecting:
        gc.enable()

newaxis = None
__version__ = "0.2.0"

ROOMS = {
    "jaxvjp": ("amp distributed distributions multiprocessing optim quasirandom return_types serialization sparse"),
    "jaxvjp.amp": "GradScaler autocast",
    "jaxvjp.amp.autocast_mode": (
        "clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype "
        "get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled "
        "set_autocast_cache_enabled"
    ),
    "jaxvjp.library.sparse_tensors": "sparse_coo_tensor sparse_csr_tensor",
    "jaxvjp.serialization": "load save",
    "jaxvjp.tools.comparison": "compare",
    "jaxvjp.tools.scripts": "as_torch",
}
"""By module, names that are imported from it at first use; of "jaxvjp" they are modules of their own."""

LATER = {name: home for home, names in ROOMS.items() for name in names.split()}
INNER = """
    Any ModuleType annotations bindings complete_all core default_generator dtypes gc import_module jax library
    namespaces ops pure staging types
"""
"""Names in this module that are not public; nor are those in capitals."""
__all__ = [each for each in (*globals(), *LATER) if each[0] != "_" and not each.isupper() and each not in INNER.split()]

NOT_STARRED = """
    BFloat16Storage BFloat16Tensor ComplexDoubleStorage ComplexFloatStorage HalfStorage HalfTensor broadcast_shapes
    channels_last channels_last_3d contiguous_format eig from_dlpack lstsq lu matrix_rank native_dropout_backward
    pca_lowrank preserve_format segment_reduce set_default_dtype set_grad_enabled solve strided svd_lowrank symeig
    unique while_loop
"""
"""Names that `from torch import *` leaves out; it also leaves out modules and layouts of sparse tensors."""

complete_all(globals(), __all__, "function", "Python of this package, no JAX function")
_published, __dir__ = bindings.published("function", globals())


def __getattr__(name: str) -> Any:
    if name == "__all__":
        rooms = {each for each, value in globals().items() if type(value) in (ModuleType, namespaces.Namespace)}
        rooms |= {each for each, home in LATER.items() if home == "jaxvjp"}
        return [each for each in _published(name) if each not in {*rooms, *SPARSE, *NOT_STARRED.split()}]
    if name == "Storage":  # that of the default dtype
        return STORAGES[f"{get_default_dtype().legacy}Storage"]
    home = LATER.get(name)
    if home is None:
        return _published(name)
    return import_module(f"jaxvjp.{name}") if home == "jaxvjp" else getattr(import_module(home), name)

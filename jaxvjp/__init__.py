"""torch's imperative autograd over JAX: `import jaxvjp as torch`.

Operations on tensors are recorded; every derivative is `jax.vjp` of the recorded program, compiled by `jax.jit`. Here
are the public names and nothing else. The rooms in reading order: `devices`, `dtypes`, `ops`, `core`, `storage`,
`tensor`, `application`, `conversion`, `indexing`, `functions`, `creation`, `autograd`, `func`, `explain`.
"""

from __future__ import annotations

from jaxvjp import (
    autograd,
    conversion,
    cuda,
    dtypes,
    explain,
    fft,
    func,
    functions,
    indexing,
    linalg,
    nn,
    parts,  # noqa: F401 - publishes its functions, as `sampling` does
    properties,  # noqa: F401
    random,
    sampling,  # noqa: F401
    special,
    testing,
    utils,
)
from jaxvjp.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from jaxvjp.autograd.modes import is_anomaly_enabled, is_grad_enabled, is_inference_mode_enabled
from jaxvjp.core.compilation import counters, set_choosing
from jaxvjp.core.history import explain_program, recompiles
from jaxvjp.creation import (
    FloatTensor,
    empty,
    empty_like,
    full,
    ones,
    ones_like,
    tensor,
    zeros,
    zeros_like,
)
from jaxvjp.devices import device, get_default_device, set_default_device
from jaxvjp.dtypes import dtype, get_default_dtype, promote_types, set_default_dtype
from jaxvjp.func import vmap
from jaxvjp.random import Generator, initial_seed, manual_seed
from jaxvjp.sampling import rand, rand_like, randn, randn_like
from jaxvjp.staging import UnstageableError, compile, jit
from jaxvjp.tensor import Size, Tensor

__version__ = "0.1.0"

functions.attach_methods()
conversion.attach_methods()
indexing.attach_methods()
globals().update(functions.functions_in("function"))
globals().update({each.name: each for each in dtypes.ALL})
globals().update(dtypes.ALIASES)

__all__ = [
    "FloatTensor",
    "Generator",
    "Size",
    "Tensor",
    "UnstageableError",
    "autograd",
    "compile",
    "counters",
    "cuda",
    "device",
    "dtype",
    "empty",
    "empty_like",
    "enable_grad",
    "explain",
    "explain_program",
    "fft",
    "full",
    "func",
    "get_default_device",
    "get_default_dtype",
    "inference_mode",
    "initial_seed",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "jit",
    "linalg",
    "manual_seed",
    "nn",
    "no_grad",
    "ones",
    "ones_like",
    "promote_types",
    "rand",
    "rand_like",
    "randn",
    "randn_like",
    "random",
    "recompiles",
    "set_choosing",
    "set_default_device",
    "set_default_dtype",
    "set_grad_enabled",
    "special",
    "tensor",
    "testing",
    "utils",
    "vmap",
    "zeros",
    "zeros_like",
]

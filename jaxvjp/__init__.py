"""torch's imperative autograd over JAX: `import jaxvjp as torch`.

Operations on tensors are recorded; every derivative is `jax.vjp` of the recorded program, compiled by `jax.jit`. Here
are the public names and nothing else. The rooms in reading order: `dtypes`, `ops`, `core`, `storage`, `tensor`,
`application`, `indexing`, `functions`, `creation`, `autograd`, `func`, `explain`.
"""

from __future__ import annotations

from jaxvjp import (
    autograd,
    dtypes,
    explain,
    fft,
    func,
    functions,
    indexing,
    linalg,
    nn,
    random,
    special,
    testing,
    utils,
)
from jaxvjp.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from jaxvjp.autograd.modes import is_anomaly_enabled, is_grad_enabled, is_inference_mode_enabled
from jaxvjp.core.compilation import counters, set_choosing
from jaxvjp.creation import (
    FloatTensor,
    empty,
    empty_like,
    full,
    ones,
    ones_like,
    rand,
    rand_like,
    randn,
    randn_like,
    tensor,
    zeros,
    zeros_like,
)
from jaxvjp.dtypes import dtype, get_default_dtype, promote_types, set_default_dtype
from jaxvjp.func import vmap
from jaxvjp.random import Generator, initial_seed, manual_seed
from jaxvjp.staging import UnstageableError, compile, jit
from jaxvjp.tensor import Size, Tensor

__version__ = "0.1.0"

functions.attach_methods()
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
    "dtype",
    "empty",
    "empty_like",
    "enable_grad",
    "explain",
    "fft",
    "full",
    "func",
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
    "set_choosing",
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

"""Transforms of functions, by torch's names: `grad`, `vjp`, `jvp`, `jacrev`, `jacfwd`, `hessian`, `vmap` and others.

Each takes a function of tensors and returns one, or its results; arguments and results may be tuples, lists and dicts
of tensors, nested. Each runs the function once, which records it, and then records a JAX transform of the recorded
program (`levels`). So they nest in one another, and in `backward`, without tracing the user's Python.
"""

from __future__ import annotations

from jaxvjp.func.batching import vmap
from jaxvjp.func.forward import hessian, jacfwd, jvp, linearize
from jaxvjp.func.functionalization import debug_unwrap, functionalize
from jaxvjp.func.parameters import functional_call, replace_all_batch_norm_modules_, stack_module_state
from jaxvjp.func.reverse import grad, grad_and_value, jacrev, vjp
from jaxvjp.tensor import docstrings
from jaxvjp.types import public

__all__ = public.public_names(globals())

docstrings.complete_all(globals(), __all__, "func")

__dir__ = __all__.copy

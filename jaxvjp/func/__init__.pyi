# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from jaxvjp.func.batching import vmap as vmap
from jaxvjp.func.forward import hessian as hessian
from jaxvjp.func.forward import jacfwd as jacfwd
from jaxvjp.func.forward import jvp as jvp
from jaxvjp.func.forward import linearize as linearize
from jaxvjp.func.functionalization import debug_unwrap as debug_unwrap
from jaxvjp.func.functionalization import functionalize as functionalize
from jaxvjp.func.parameters import functional_call as functional_call
from jaxvjp.func.parameters import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from jaxvjp.func.parameters import stack_module_state as stack_module_state
from jaxvjp.func.reverse import grad as grad
from jaxvjp.func.reverse import grad_and_value as grad_and_value
from jaxvjp.func.reverse import jacrev as jacrev
from jaxvjp.func.reverse import vjp as vjp


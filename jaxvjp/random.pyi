# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from contextlib import AbstractContextManager
from jaxvjp.library.generator import default_generator as default_generator
from jaxvjp.library.generator import initial_seed as initial_seed
from jaxvjp.library.generator import manual_seed as manual_seed
from jaxvjp.library.random_tensors import fork_rng as fork_rng
from jaxvjp.library.random_tensors import get_rng_state as get_rng_state
from jaxvjp.library.random_tensors import seed as seed
from jaxvjp.library.random_tensors import set_rng_state as set_rng_state
from jaxvjp.tensor.tensor import Tensor


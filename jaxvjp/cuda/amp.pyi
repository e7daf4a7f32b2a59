# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from contextlib import AbstractContextManager
from jaxvjp.amp.older_names import custom_bwd as custom_bwd
from jaxvjp.amp.older_names import custom_fwd as custom_fwd
from jaxvjp.tensor.tensor import Tensor

GradScaler: Any
autocast: Any

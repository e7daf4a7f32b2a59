# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from contextlib import AbstractContextManager
from jaxvjp.tensor.overriding import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from jaxvjp.tensor.overriding import handle_torch_function as handle_torch_function
from jaxvjp.tensor.overriding import has_torch_function as has_torch_function
from jaxvjp.tensor.overriding import is_tensor_like as is_tensor_like
from jaxvjp.tensor.tensor import Tensor


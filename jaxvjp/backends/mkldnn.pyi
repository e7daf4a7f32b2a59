# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from contextlib import AbstractContextManager
from jaxvjp.tensor.tensor import Tensor

allow_tf32: bool
deterministic: bool
enabled: bool
def is_available() -> bool:
    """False: XLA has kernels of its own."""
def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> AbstractContextManager[None]:
    """`set_flags` for a block."""
def set_flags(_enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None) -> tuple[Any, ...]:
    """Sets those that are given and returns what they all were."""

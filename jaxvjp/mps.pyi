# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from contextlib import AbstractContextManager
from jaxvjp.tensor.tensor import Tensor

def device_count() -> int:
    """None."""
def empty_cache() -> None:
    """RuntimeError: there is no such device."""
def is_available() -> bool:
    """False: JAX has no device of this type."""
def manual_seed(seed: int) -> None:
    """Accepted, without effect."""
def synchronize() -> None:
    """RuntimeError: there is no such device."""

# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from contextlib import AbstractContextManager
from jaxvjp.cpu import amp as amp
from jaxvjp.tensor.tensor import Tensor

def current_device() -> str:
    """The only one."""
def device_count() -> int:
    """One."""
def is_available() -> bool:
    """True."""
def is_initialized() -> bool:
    """True."""
def set_device(device: Any) -> None:
    """Accepted, without effect."""
def synchronize(device: Any = None) -> None:
    """Accepted, without effect: whatever reads a value waits for it."""

# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from contextlib import AbstractContextManager
from jaxvjp.namespaces.accelerators import current_accelerator as current_accelerator
from jaxvjp.namespaces.accelerators import device_index as device_index
from jaxvjp.tensor.tensor import Tensor

def current_device_index() -> int:
    """The number of the one that is used."""
def current_device_idx() -> int:
    """The number of the one that is used."""
def device_count() -> int:
    """How many there are."""
def empty_cache() -> None:
    """Accepted, without effect: JAX manages its memory itself."""
def is_available() -> bool:
    """Whether there is one."""
def memory_stats(device_index: Any = None) -> dict[str, int]:
    """What JAX tells of the device's memory, by JAX's names."""
def memory_allocated(device_index: Any = None) -> int:
    """How many bytes are in use."""
def max_memory_allocated(device_index: Any = None) -> int:
    """How many bytes were in use at most."""
def memory_reserved(device_index: Any = None) -> int:
    """How many bytes JAX has taken of the device."""
def max_memory_reserved(device_index: Any = None) -> int:
    """How many bytes JAX had taken at most."""
def reset_peak_memory_stats(device_index: Any = None) -> None:
    """Accepted, without effect: JAX's peaks last."""
def set_device_index(device: Any) -> None:
    """Has this thread use another one."""
def set_device_idx(device: Any) -> None:
    """Has this thread use another one."""
def synchronize(device: Any = None) -> None:
    """Accepted: reading a value waits for it."""

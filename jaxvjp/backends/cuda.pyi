# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from contextlib import AbstractContextManager
from jaxvjp.namespaces.accelerators import preferred_linalg_library as preferred_linalg_library
from jaxvjp.namespaces.accelerators import sdp_kernel as sdp_kernel
from jaxvjp.tensor.tensor import Tensor

def is_built() -> bool:
    """Whether JAX has a GPU here."""
def is_flash_attention_available() -> bool:
    """False: attention is a composition that XLA fuses."""
matmul: Any
def enable_cudnn_sdp(enabled: bool) -> None:
    """Remembered, without effect: XLA has attention kernels of its own."""
def cudnn_sdp_enabled() -> bool:
    """What was last set."""
def enable_flash_sdp(enabled: bool) -> None:
    """Remembered, without effect: XLA has attention kernels of its own."""
def flash_sdp_enabled() -> bool:
    """What was last set."""
def enable_math_sdp(enabled: bool) -> None:
    """Remembered, without effect: XLA has attention kernels of its own."""
def math_sdp_enabled() -> bool:
    """What was last set."""
def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Remembered, without effect: XLA has attention kernels of its own."""
def mem_efficient_sdp_enabled() -> bool:
    """What was last set."""

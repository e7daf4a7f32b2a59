"""The functions of `torch.cpu`, for scripts that ask the module of any type of device the same: there is one CPU."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "amp",
    "current_device",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "synchronize",
]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    if name == "amp":  # imported when it is first used
        return import_module("jaxvjp.cpu.amp")
    raise AttributeError(f"module 'jaxvjp.cpu' has no attribute {name!r}")


def is_available() -> bool:
    """True. Counterpart of `torch.cpu.is_available`."""
    return True


def is_initialized() -> bool:
    """True. Counterpart of `torch.cpu.is_initialized`."""
    return True


def device_count() -> int:
    """1. Counterpart of `torch.cpu.device_count`."""
    return 1


def current_device() -> str:
    """ "cpu". Counterpart of `torch.cpu.current_device`."""
    return "cpu"


def set_device(device: Any) -> None:
    """Accepted, without effect. Counterpart of `torch.cpu.set_device`."""


def synchronize(device: Any = None) -> None:
    """Accepted, without effect: whatever reads a value waits for it. Counterpart of `torch.cpu.synchronize`."""

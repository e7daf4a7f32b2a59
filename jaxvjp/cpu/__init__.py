"""The functions of `torch.cpu`, for scripts that ask the module of any type of device the same: there is one CPU."""

from __future__ import annotations

from typing import Any

from jaxvjp.types.public import modules_later, public_names

__getattr__ = modules_later(__name__, "amp")


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


__all__ = public_names(globals(), "amp", home=__name__)
__dir__ = __all__.copy

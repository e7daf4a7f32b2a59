"""The functions of `torch.cuda` that scripts call to choose a device."""

from __future__ import annotations

from typing import Any

from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.types import devices

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "synchronize",
]


def __dir__() -> list[str]:
    return __all__


def is_available() -> bool:
    """Whether JAX has a GPU here; counterpart of `torch.cuda.is_available`."""
    return device_count() > 0


def device_count() -> int:
    """How many GPUs JAX has here; counterpart of `torch.cuda.device_count`."""
    return devices.count_of("cuda")


def current_device() -> int:
    """The number of the GPU that `device("cuda")` means; AssertionError where there is none."""
    where = devices.of(devices.place("cuda"))
    return where.index or 0


def get_device_name(device: Any = None) -> str:
    """The name of a GPU; AssertionError if there is none. Counterpart of `torch.cuda.get_device_name`."""
    return str(devices.jax_device(devices.place("cuda" if device is None else device)).device_kind)


def synchronize(device: Any = None) -> None:
    """Accepted, for scripts that time a GPU; here reading a value waits for it. AssertionError without a GPU."""
    devices.place("cuda" if device is None else device)


def empty_cache() -> None:
    """Accepted and without effect, as in torch without a GPU: JAX manages its memory itself."""


def manual_seed(seed: int) -> None:
    """Accepted and without effect: numbers are drawn on the host, by `manual_seed`'s generator."""


manual_seed_all = manual_seed


complete_all(globals(), __all__, "cuda", "`jax.devices`")

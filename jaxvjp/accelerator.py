"""torch's `accelerator`: the device that JAX has beside the CPU, if any."""

from __future__ import annotations

from typing import Any

from jaxvjp.types import devices
from jaxvjp.types.devices import device
from jaxvjp.types.public import public_names


def current_accelerator(check_available: bool = False) -> device | None:
    """The type of JAX's GPU or TPU as a device; None where there is only the CPU. As in `torch.accelerator`."""
    kind = devices.home().type
    return None if kind == "cpu" else device(kind)


def _kind() -> str:
    """The type of the accelerator; RuntimeError where there is none."""
    found = current_accelerator()
    if found is None:
        raise RuntimeError(
            "Cannot access accelerator device when none is available.\n"
            "`torch.accelerator.is_available()` tells; JAX has only the CPU here."
        )
    return found.type


def is_available() -> bool:
    """Whether there is one. Counterpart of `torch.accelerator.is_available`."""
    return current_accelerator() is not None


def device_count() -> int:
    """How many there are. Counterpart of `torch.accelerator.device_count`."""
    found = current_accelerator()
    return 0 if found is None else devices.count_of(found.type)


def current_device_index() -> int:
    """The number of the one that is used unless told otherwise. As `torch.accelerator.current_device_index`."""
    return devices.current(_kind())


def set_device_index(device: Any) -> None:
    """Has this thread use another one. Counterpart of `torch.accelerator.set_device_index`."""
    devices.use(_kind(), device if isinstance(device, int) else (devices.device(device).index or 0))


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index:  # noqa: N801 - torch's name
    """`set_device_index` for a block; with None nothing changes. Counterpart of `torch.accelerator.device_index`."""

    def __init__(self, device: int | None) -> None:
        self.idx = device
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *_: object) -> None:
        if self.idx is not None:
            set_device_index(self.prev_idx)


def synchronize(device: Any = None) -> None:
    """Accepted: reading a value waits for it. Counterpart of `torch.accelerator.synchronize`."""
    _kind()


def empty_cache() -> None:
    """Accepted, without effect: JAX manages its memory itself. Counterpart of `torch.accelerator.empty_cache`."""
    _kind()


def memory_stats(device_index: Any = None) -> dict[str, int]:
    """What JAX tells of the device's memory, by JAX's names. Counterpart of `torch.accelerator.memory_stats`."""
    return devices.memory(_kind() if device_index is None else device_index)


def memory_allocated(device_index: Any = None) -> int:
    """How many bytes are in use. Counterpart of `torch.accelerator.memory_allocated`."""
    return memory_stats(device_index).get("bytes_in_use", 0)


def max_memory_allocated(device_index: Any = None) -> int:
    """How many bytes were in use at most. Counterpart of `torch.accelerator.max_memory_allocated`."""
    return memory_stats(device_index).get("peak_bytes_in_use", 0)


def memory_reserved(device_index: Any = None) -> int:
    """How many bytes JAX has taken of the device. Counterpart of `torch.accelerator.memory_reserved`."""
    return memory_stats(device_index).get("pool_bytes", 0)


def max_memory_reserved(device_index: Any = None) -> int:
    """How many bytes JAX had taken at most. Counterpart of `torch.accelerator.max_memory_reserved`."""
    return memory_stats(device_index).get("peak_pool_bytes", 0)


def reset_peak_memory_stats(device_index: Any = None) -> None:
    """Accepted, without effect: JAX's peaks last. Counterpart of `torch.accelerator.reset_peak_memory_stats`."""
    _kind()


__all__ = public_names(globals(), home=__name__)
__dir__ = __all__.copy

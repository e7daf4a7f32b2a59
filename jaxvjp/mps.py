"""torch's `mps`, as it answers on a machine without such a device; JAX has none."""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]
__dir__ = __all__.copy


def is_available() -> bool:
    """False: JAX has no device of this type. Counterpart of `torch.mps.is_available`."""
    return False


def device_count() -> int:
    """0. Counterpart of `torch.mps.device_count`."""
    return 0


def manual_seed(seed: int) -> None:
    """Accepted, without effect. Counterpart of `torch.mps.manual_seed`."""


def synchronize() -> None:
    """RuntimeError: there is no such device. Counterpart of `torch.mps.synchronize`."""
    raise RuntimeError("Cannot execute deviceSynchronize() without MPS backend.")


def empty_cache() -> None:
    """RuntimeError: there is no such device. Counterpart of `torch.mps.empty_cache`."""
    raise RuntimeError("Cannot execute emptyCache() without MPS backend.")

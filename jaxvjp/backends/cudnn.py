"""torch's `backends.cudnn`: settings that are remembered; XLA chooses its kernels itself: `cudnn.benchmark = True`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "allow_tf32",
    "benchmark",
    "benchmark_limit",
    "deterministic",
    "enabled",
    "flags",
    "is_acceptable",
    "is_available",
    "set_flags",
    "version",
]

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: XLA calls cuDNN where it chooses to. Counterpart of `torch.backends.cudnn.is_available`."""
    return False


def version() -> int | None:
    """None, as where torch has no cuDNN. Counterpart of `torch.backends.cudnn.version`."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """False, as where torch has no cuDNN. Counterpart of `torch.backends.cudnn.is_acceptable`."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[bool, bool, int | None, bool, bool]:
    """Sets those that are given and returns what they all were. Counterpart of `torch.backends.cudnn.set_flags`."""
    before = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
    globals().update({name: each for name, each in zip(names, given, strict=True) if each is not None})
    return before


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int | None = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """`set_flags` for a block. Counterpart of `torch.backends.cudnn.flags`."""
    before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)

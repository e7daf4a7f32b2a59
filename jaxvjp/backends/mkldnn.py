"""torch's `backends.mkldnn`: settings that are remembered; XLA has kernels of its own: `mkldnn.enabled = False`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["allow_tf32", "deterministic", "enabled", "flags", "is_available", "set_flags"]

enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: XLA has kernels of its own. Counterpart of `torch.backends.mkldnn.is_available`."""
    return False


def set_flags(
    _enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None
) -> tuple[bool, bool, bool]:
    """Sets those that are given and returns what they all were. Counterpart of `torch.backends.mkldnn.set_flags`."""
    before = (enabled, deterministic, allow_tf32)
    given = {"enabled": _enabled, "deterministic": _deterministic, "allow_tf32": _allow_tf32}
    globals().update({name: each for name, each in given.items() if each is not None})
    return before


@contextmanager
def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> Iterator[None]:
    """`set_flags` for a block. Counterpart of `torch.backends.mkldnn.flags`."""
    before = set_flags(enabled, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)

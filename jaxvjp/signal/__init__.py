"""torch's `signal`, which has only `windows`."""

from jaxvjp.signal import windows

__all__ = ["windows"]
__dir__ = __all__.copy

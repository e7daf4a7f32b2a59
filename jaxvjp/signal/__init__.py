"""torch's `signal`, which has only `windows`."""

from jaxvjp.signal import windows

__all__ = ["windows"]


def __dir__() -> list[str]:
    return __all__

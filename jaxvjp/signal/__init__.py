"""torch's `signal`, which is its windows."""

from jaxvjp.signal import windows

__all__ = ["windows"]


def __dir__() -> list[str]:
    return __all__

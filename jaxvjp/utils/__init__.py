"""torch's `utils`, of which jaxvjp has `checkpoint`."""

from __future__ import annotations

from jaxvjp.utils import checkpoint

__all__ = ["checkpoint"]


def __dir__() -> list[str]:
    return __all__

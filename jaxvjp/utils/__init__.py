"""torch's `utils`, of which `checkpoint` and `dlpack` are here."""

from __future__ import annotations

from jaxvjp.utils import checkpoint, dlpack

__all__ = ["checkpoint", "dlpack"]


def __dir__() -> list[str]:
    return __all__

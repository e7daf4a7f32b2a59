"""torch's `utils`, of which `checkpoint`, `deterministic` and `dlpack` are here."""

from __future__ import annotations

from jaxvjp.utils import checkpoint, deterministic, dlpack

__all__ = ["checkpoint", "deterministic", "dlpack"]


def __dir__() -> list[str]:
    return __all__

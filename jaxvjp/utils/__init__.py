"""torch's `utils`, which has only `checkpoint` here: `torch.utils.checkpoint`."""

from __future__ import annotations

from jaxvjp.utils import checkpoint

__all__ = ["checkpoint"]


def __dir__() -> list[str]:
    return __all__

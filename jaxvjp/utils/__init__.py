"""torch's name for the place where `checkpoint` lives, `torch.utils.checkpoint`: the room has it only for that."""

from __future__ import annotations

from jaxvjp.utils import checkpoint

__all__ = ["checkpoint"]


def __dir__() -> list[str]:
    return __all__

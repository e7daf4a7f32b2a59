"""torch's `utils`, of which `benchmark`, `checkpoint`, `data`, `deterministic`, `dlpack` and `hooks` are here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxvjp.types.public import modules_later
from jaxvjp.utils import checkpoint, deterministic, dlpack, hooks

if TYPE_CHECKING:
    from jaxvjp.utils import benchmark, data

__all__ = ["benchmark", "checkpoint", "data", "deterministic", "dlpack", "hooks"]

__dir__ = __all__.copy


__getattr__ = modules_later(__name__, "benchmark", "data")

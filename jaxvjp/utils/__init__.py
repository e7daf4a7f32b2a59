"""torch's `utils`, of which `benchmark`, `checkpoint`, `data`, `deterministic`, `dlpack` and `hooks` are here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from jaxvjp.utils import checkpoint, deterministic, dlpack, hooks

if TYPE_CHECKING:
    from jaxvjp.utils import benchmark, data

__all__ = ["benchmark", "checkpoint", "data", "deterministic", "dlpack", "hooks"]

LATER = frozenset(["benchmark", "data"])
"""Modules that are imported at first use."""

__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    if name in LATER:
        return import_module(f"jaxvjp.utils.{name}")
    raise AttributeError(f"module 'jaxvjp.utils' has no attribute '{name}'")

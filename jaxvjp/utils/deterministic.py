"""torch's `utils.deterministic`: whether new memory is filled where deterministic algorithms are asked for."""

from __future__ import annotations

import sys
from types import ModuleType

from jaxvjp.types.dtypes import typename
from jaxvjp.types.settings import settings


class _Deterministic(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether `empty` and `resize_` fill in nan, or the largest integer, under `use_deterministic_algorithms`."""
        return settings.fills

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {typename(mode)}")
        settings.fills = mode


sys.modules[__name__].__class__ = _Deterministic

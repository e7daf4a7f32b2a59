"""Padding: what its rows in `rows` derive from."""

from __future__ import annotations

from typing import Any

from jaxvjp.nn.modules.layer import Layer, define
from jaxvjp.nn.modules.utils import _ntuple


class _Pad(Layer):
    def __finish_init__(self) -> None:
        self.padding: Any = _ntuple(2 * self.__spatial_dims__)(self.padding)


define("padding", globals())

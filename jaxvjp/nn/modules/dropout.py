"""Dropout: what their rows in `rows` derive from."""

from __future__ import annotations

from jaxvjp.nn.dropout import check_probability
from jaxvjp.nn.modules.layer import Layer, define


class _DropoutNd(Layer):
    __printed__ = "p inplace"

    def __finish_init__(self) -> None:
        check_probability(self.p)


define("dropout", globals())

"""Dropout: what their rows in `rows` derive from."""

from __future__ import annotations

from jaxvjp.nn.dropout import check_probability
from jaxvjp.nn.modules.layer import Layer, define


class _DropoutNd(Layer):
    shown = "p inplace"

    def _settle(self) -> None:
        check_probability(self.p)


define("dropout", globals())

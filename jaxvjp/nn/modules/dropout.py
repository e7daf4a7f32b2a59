"""Dropout, one row each."""

from __future__ import annotations

from typing import Any  # noqa: F401 - for annotations of rows

from jaxvjp.nn import functional as F  # noqa: F401 - for calls of rows
from jaxvjp.nn.dropout import check_probability
from jaxvjp.nn.modules.layer import Layer, Row, define
from jaxvjp.tensor.tensor import Tensor  # noqa: F401 - for annotations of rows

SETTINGS = "p: float = 0.5, inplace: bool = False"


class _DropoutNd(Layer):
    shown = "p inplace"

    def _settle(self) -> None:
        check_probability(self.p)


ROWS = {
    name: Row(f"F.{function}(input, self.p, self.training{inplace})", SETTINGS, "p inplace", "_DropoutNd")
    for name, function, inplace in [
        ("AlphaDropout", "alpha_dropout", ""),
        ("Dropout", "dropout", ", self.inplace"),
        ("Dropout{d}d", "dropout{d}d", ", self.inplace"),
        ("FeatureAlphaDropout", "feature_alpha_dropout", ""),
    ]
}
define(ROWS, globals())

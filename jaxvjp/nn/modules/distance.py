"""Distances, one row each."""

from __future__ import annotations

from typing import Any  # noqa: F401 - for annotations of rows

from jaxvjp.nn import functional as F  # noqa: F401 - for calls of rows
from jaxvjp.nn.modules.layer import Layer, Row, define
from jaxvjp.tensor.tensor import Tensor  # noqa: F401 - for annotations of rows

TWO = "x1: Tensor, x2: Tensor"


class _Distance(Layer):
    def _settle(self) -> None:
        self.norm = self.__dict__.pop("p")


ROWS = {
    "CosineSimilarity": Row("cosine_similarity", "dim: int = 1, eps: float = 1e-8", input=TWO),
    "PairwiseDistance": Row(
        "F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)",
        "p: float = 2.0, eps: float = 1e-6, keepdim: bool = False",
        base="_Distance",
        input=TWO,
    ),
}
define(ROWS, globals())

# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Callable
from jaxvjp.nn.modules.bases import _Distance as _Distance
from jaxvjp.nn.modules.layer import Layer as Layer
from jaxvjp.nn.modules.layer import Size
from jaxvjp.tensor.tensor import Tensor

class CosineSimilarity(Layer):
    dim: int
    eps: float
    def __init__(self, dim: int = 1, eps: float = 1e-08) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Any: ...
class PairwiseDistance(_Distance):
    p: float
    eps: float
    keepdim: bool
    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Any: ...

# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Callable
from jaxvjp.nn.modules.bases import _Fixed2d as _Fixed2d
from jaxvjp.nn.modules.bases import _Unflatten as _Unflatten
from jaxvjp.nn.modules.bases import _Upsample as _Upsample
from jaxvjp.nn.modules.layer import Layer as Layer
from jaxvjp.nn.modules.layer import Size
from jaxvjp.tensor.tensor import Tensor

class ChannelShuffle(Layer):
    groups: int
    def __init__(self, groups: int) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class Flatten(Layer):
    start_dim: int
    end_dim: int
    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class Fold(Layer):
    output_size: Size
    kernel_size: Size
    dilation: Size
    padding: Size
    stride: Size
    def __init__(self, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class LocalResponseNorm(Layer):
    size: int
    alpha: float
    beta: float
    k: float
    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class PixelShuffle(Layer):
    upscale_factor: int
    def __init__(self, upscale_factor: int) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class PixelUnshuffle(Layer):
    downscale_factor: int
    def __init__(self, downscale_factor: int) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class Unflatten(_Unflatten):
    dim: int
    unflattened_size: tuple[int, ...]
    def __init__(self, dim: int, unflattened_size: tuple[int, ...]) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class Unfold(Layer):
    kernel_size: Size
    dilation: Size
    padding: Size
    stride: Size
    def __init__(self, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class Upsample(_Upsample):
    size: Size | None
    scale_factor: float | tuple[float, ...] | None
    mode: str
    align_corners: bool | None
    recompute_scale_factor: bool | None
    def __init__(self, size: Size | None = None, scale_factor: float | tuple[float, ...] | None = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class UpsamplingBilinear2d(_Fixed2d):
    size: Size | None
    scale_factor: float | tuple[float, ...] | None
    def __init__(self, size: Size | None = None, scale_factor: float | tuple[float, ...] | None = None) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class UpsamplingNearest2d(_Fixed2d):
    size: Size | None
    scale_factor: float | tuple[float, ...] | None
    def __init__(self, size: Size | None = None, scale_factor: float | tuple[float, ...] | None = None) -> None: ...
    def forward(self, input: Tensor) -> Any: ...

# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Callable
from jaxvjp.nn.modules.bases import _FractionalMaxPool as _FractionalMaxPool
from jaxvjp.nn.modules.bases import _Pool as _Pool
from jaxvjp.nn.modules.bases import _TuplePool as _TuplePool
from jaxvjp.nn.modules.layer import Layer as Layer
from jaxvjp.nn.modules.layer import Size
from jaxvjp.tensor.tensor import Tensor

class AdaptiveAvgPool1d(Layer):
    output_size: Any
    def __init__(self, output_size: Any) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class AdaptiveAvgPool2d(Layer):
    output_size: Any
    def __init__(self, output_size: Any) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class AdaptiveAvgPool3d(Layer):
    output_size: Any
    def __init__(self, output_size: Any) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class AdaptiveMaxPool1d(Layer):
    output_size: Any
    return_indices: bool
    def __init__(self, output_size: Any, return_indices: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class AdaptiveMaxPool2d(Layer):
    output_size: Any
    return_indices: bool
    def __init__(self, output_size: Any, return_indices: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class AdaptiveMaxPool3d(Layer):
    output_size: Any
    return_indices: bool
    def __init__(self, output_size: Any, return_indices: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class AvgPool1d(_TuplePool):
    kernel_size: Size
    stride: Size | None
    padding: Size
    ceil_mode: bool
    count_include_pad: bool
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class AvgPool2d(_Pool):
    kernel_size: Size
    stride: Size | None
    padding: Size
    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int | None
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class AvgPool3d(_Pool):
    kernel_size: Size
    stride: Size | None
    padding: Size
    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int | None
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class FractionalMaxPool2d(_FractionalMaxPool):
    kernel_size: Size
    output_size: Size | None
    output_ratio: float | tuple[float, ...] | None
    return_indices: bool
    _random_samples: Tensor | None
    def __init__(self, kernel_size: Size, output_size: Size | None = None, output_ratio: float | tuple[float, ...] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class FractionalMaxPool3d(_FractionalMaxPool):
    kernel_size: Size
    output_size: Size | None
    output_ratio: float | tuple[float, ...] | None
    return_indices: bool
    _random_samples: Tensor | None
    def __init__(self, kernel_size: Size, output_size: Size | None = None, output_ratio: float | tuple[float, ...] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class LPPool1d(Layer):
    norm_type: float
    kernel_size: Size
    stride: Size | None
    ceil_mode: bool
    def __init__(self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class LPPool2d(Layer):
    norm_type: float
    kernel_size: Size
    stride: Size | None
    ceil_mode: bool
    def __init__(self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class LPPool3d(Layer):
    norm_type: float
    kernel_size: Size
    stride: Size | None
    ceil_mode: bool
    def __init__(self, norm_type: float, kernel_size: Size, stride: Size | None = None, ceil_mode: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class MaxPool1d(_Pool):
    kernel_size: Size
    stride: Size | None
    padding: Size
    dilation: Size
    return_indices: bool
    ceil_mode: bool
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1, return_indices: bool = False, ceil_mode: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class MaxPool2d(_Pool):
    kernel_size: Size
    stride: Size | None
    padding: Size
    dilation: Size
    return_indices: bool
    ceil_mode: bool
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1, return_indices: bool = False, ceil_mode: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class MaxPool3d(_Pool):
    kernel_size: Size
    stride: Size | None
    padding: Size
    dilation: Size
    return_indices: bool
    ceil_mode: bool
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1, return_indices: bool = False, ceil_mode: bool = False) -> None: ...
    def forward(self, input: Tensor) -> Any: ...
class MaxUnpool1d(_TuplePool):
    kernel_size: Size
    stride: Size | None
    padding: Size
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None: ...
    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Any: ...
class MaxUnpool2d(_TuplePool):
    kernel_size: Size
    stride: Size | None
    padding: Size
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None: ...
    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Any: ...
class MaxUnpool3d(_TuplePool):
    kernel_size: Size
    stride: Size | None
    padding: Size
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0) -> None: ...
    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Any: ...

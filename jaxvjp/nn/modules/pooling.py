"""Pooling, one row for each kind and its numbers of dimensions."""

from __future__ import annotations

from typing import Any

from jaxvjp.nn import functional as F  # noqa: F401 - for calls of rows
from jaxvjp.nn.modules.layer import Layer, Row, Size, define  # noqa: F401
from jaxvjp.nn.modules.utils import _ntuple
from jaxvjp.tensor.tensor import Tensor  # noqa: F401 - for annotations of rows

WINDOW = "kernel_size: Size, stride: Size | None = None"
AVERAGE = f"{WINDOW}, padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True"
FRACTION = "output_size: Size | None = None, output_ratio: float | tuple[float, ...] | None = None"
FRACTIONS = f"kernel_size: Size, {FRACTION}, return_indices: bool = False, _random_samples: Tensor | None = None"


class _Pool(Layer):
    """Windows that by default do not overlap."""

    def _settle(self) -> None:
        self.stride: Any = self.kernel_size if self.stride is None else self.stride


class _TuplePool(_Pool):
    """Its settings are kept as tuples."""

    def _settle(self) -> None:
        super()._settle()
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, _ntuple(self.dims)(getattr(self, name)))


class _FractionalMaxPool(Layer):
    def _settle(self) -> None:
        name, each = type(self).__name__, _ntuple(self.dims)
        if self.output_size is None and self.output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if self.output_size is not None and self.output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size: Any = each(self.kernel_size)
        self.output_size: Any = None if self.output_size is None else each(self.output_size)
        if self.output_ratio is not None:
            given, self.output_ratio = self.output_ratio, each(self.output_ratio)
            if not all(0 < ratio < 1 for ratio in self.output_ratio):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {given})")


ROWS = {
    "AdaptiveAvgPool{d}d": Row("adaptive_avg_pool{d}d", "output_size: Any", "output_size"),
    "AdaptiveMaxPool{d}d": Row(
        "adaptive_max_pool{d}d", "output_size: Any, return_indices: bool = False", "output_size"
    ),
    "AvgPool1d": Row("avg_pool1d", AVERAGE, "kernel_size stride padding", "_TuplePool"),
    **{
        f"AvgPool{dims}d": Row(
            f"avg_pool{dims}d", f"{AVERAGE}, divisor_override: int | None = None", "kernel_size stride padding", "_Pool"
        )
        for dims in (2, 3)
    },
    **{
        f"FractionalMaxPool{dims}d": Row(f"fractional_max_pool{dims}d", FRACTIONS, base="_FractionalMaxPool")
        for dims in (2, 3)
    },
    "LPPool{d}d": Row(
        "F.lp_pool{d}d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)",
        f"norm_type: float, {WINDOW}, ceil_mode: bool = False",
        "norm_type kernel_size stride ceil_mode",
    ),
    "MaxPool{d}d": Row(
        "max_pool{d}d",
        f"{WINDOW}, padding: Size = 0, dilation: Size = 1, return_indices: bool = False, ceil_mode: bool = False",
        "kernel_size stride padding dilation ceil_mode",
        "_Pool",
    ),
    "MaxUnpool{d}d": Row(
        "F.max_unpool{d}d(input, indices, self.kernel_size, self.stride, self.padding, output_size)",
        f"{WINDOW}, padding: Size = 0",
        "kernel_size stride padding",
        "_TuplePool",
        "input: Tensor, indices: Tensor, output_size: list[int] | None = None",
    ),
}
define(ROWS, globals())

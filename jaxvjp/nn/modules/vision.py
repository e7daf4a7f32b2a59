"""Layers that move or repeat elements, one row each."""

from __future__ import annotations

from typing import Any

from jaxvjp.nn import functional as F  # noqa: F401 - for calls of rows
from jaxvjp.nn.modules.layer import Layer, Row, Size, define  # noqa: F401
from jaxvjp.tensor.tensor import Tensor  # noqa: F401 - for annotations of rows

SLIDING = "kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1"
SCALED = "size: Size | None = None, scale_factor: float | tuple[float, ...] | None = None"


class _Upsample(Layer):
    scale_factor: Any

    def _settle(self) -> None:
        self.name = type(self).__name__
        given = self.scale_factor
        self.scale_factor = tuple(map(float, given)) if isinstance(given, tuple) else float(given) if given else None

    def extra_repr(self) -> str:
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class _Fixed2d(_Upsample):
    """Upsampling whose mode its name tells."""

    def _settle(self) -> None:
        super()._settle()
        bilinear = "Bilinear" in self.name
        self.mode, self.align_corners = ("bilinear", True) if bilinear else ("nearest", None)
        self.recompute_scale_factor = None


class _Unflatten(Layer):
    def _settle(self) -> None:
        given: Any = self.unflattened_size
        if not isinstance(given, tuple | list):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(given).__name__}")
        for place, each in enumerate(given):
            if not isinstance(each, int):
                told = f"but found element of type {type(each).__name__} at pos {place}"
                raise TypeError(f"unflattened_size must be tuple of ints, {told}")


INTERPOLATE = (
    "F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)"
)
ROWS = {
    "ChannelShuffle": Row("channel_shuffle", "groups: int", "groups"),
    "Flatten": Row(
        "input.flatten(self.start_dim, self.end_dim)", "start_dim: int = 1, end_dim: int = -1", "start_dim end_dim"
    ),
    "Fold": Row("fold", f"output_size: Size, {SLIDING}", "output_size kernel_size dilation padding stride"),
    "LocalResponseNorm": Row(
        "local_response_norm",
        "size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0",
        "size! alpha beta k",
    ),
    "PixelShuffle": Row("pixel_shuffle", "upscale_factor: int", "upscale_factor"),
    "PixelUnshuffle": Row("pixel_unshuffle", "downscale_factor: int", "downscale_factor"),
    "Unflatten": Row(
        "input.unflatten(self.dim, self.unflattened_size)",
        "dim: int, unflattened_size: tuple[int, ...]",
        "dim unflattened_size",
        "_Unflatten",
    ),
    "Unfold": Row("unfold", SLIDING, "kernel_size dilation padding stride"),
    "Upsample": Row(
        INTERPOLATE,
        f"{SCALED}, mode: str = 'nearest', align_corners: bool | None = None, "
        "recompute_scale_factor: bool | None = None",
        base="_Upsample",
    ),
    "UpsamplingBilinear2d": Row(INTERPOLATE, SCALED, base="_Fixed2d"),
    "UpsamplingNearest2d": Row(INTERPOLATE, SCALED, base="_Fixed2d"),
}
define(ROWS, globals())

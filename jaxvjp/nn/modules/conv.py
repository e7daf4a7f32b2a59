"""Convolutions and transposed ones, of one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxvjp.nn import functional as F
from jaxvjp.nn.modules.layer import BIAS, PLACE, Layer, register_empty
from jaxvjp.nn.modules.linear import reset_scaled
from jaxvjp.nn.modules.utils import _ntuple
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "a function of `nn.functional`; the parameters are drawn on the host"
CHANNELS = "in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1"
MODE = "padding_mode: str = 'zeros'"


class _ConvNd(Layer):
    __printed__ = (
        "in_channels! out_channels! kernel_size stride padding? dilation? output_padding? groups? bias? padding_mode?"
    )
    __computed__ = ("_reversed_padding_repeated_twice",)
    __settings__ = (
        f"{CHANNELS}, padding: str | Size = 0, dilation: Size = 1, transposed: bool = False, output_padding: Size = 0, "
        f"groups: int = 1, {BIAS}, {MODE}, {PLACE}"
    )

    weight: Tensor
    bias: Tensor | None

    def __finish_init__(self, bias: bool, device: Any, dtype: Any) -> None:
        each = _ntuple(self.__spatial_dims__)
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        if self.out_channels % self.groups:
            raise ValueError("out_channels must be divisible by groups")
        self.stride: Any = each(self.stride)
        padding: Any = self.padding
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        mode, modes = self.padding_mode, ("zeros", "reflect", "replicate", "circular")
        if mode not in modes:
            raise ValueError(f"padding_mode must be one of {set(modes)}, but got padding_mode='{mode}'")
        self.transposed = vars(self).get("transposed", isinstance(self, _ConvTransposeNd))
        self.kernel_size: Any = each(self.kernel_size)
        self.dilation: Any = each(self.dilation)
        self.padding: Any = padding if isinstance(padding, str) else each(padding)
        self.output_padding = each(vars(self).get("output_padding", 0))
        register_empty(self, device, dtype, weight=weight_shape(self), bias=(self.out_channels,) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_scaled(self.weight, self.bias)

    @property
    def _reversed_padding_repeated_twice(self) -> list[int]:
        """The padding in the order of `F.pad`: the last dimension first, before and after."""
        if self.padding == "valid":
            return [0, 0] * len(self.kernel_size)
        if self.padding == "same":
            totals = [by * (size - 1) for by, size in zip(self.dilation, self.kernel_size, strict=True)]
            return [part for total in totals[::-1] for part in (total // 2, total - total // 2)]
        return [each for each in self.padding[::-1] for _ in range(2)]


def weight_shape(layer: _ConvNd) -> tuple[int, ...]:
    """What the sizes of its kernel and channels make of it."""
    into, out = layer.in_channels, layer.out_channels
    ends = (into, out // layer.groups) if layer.transposed else (out, into // layer.groups)
    return (*ends, *layer.kernel_size)


class _Convolution(_ConvNd):
    __settings__ = f"{CHANNELS}, padding: str | Size = 0, dilation: Size = 1, groups: int = 1, {BIAS}, {MODE}, {PLACE}"

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        convolution = getattr(F, f"conv{len(self.kernel_size)}d")
        return convolution(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Convolution):
    """A convolution over (batch, channels, length)."""


class Conv2d(_Convolution):
    """A convolution over (batch, channels, height, width)."""


class Conv3d(_Convolution):
    """A convolution over (batch, channels, depth, height, width)."""


class _ConvTransposeNd(_ConvNd):
    __settings__ = (
        f"{CHANNELS}, padding: Size = 0, output_padding: Size = 0, groups: int = 1, {BIAS}, dilation: Size = 1, "
        f"{MODE}, {PLACE}"
    )

    def __finish_init__(self, bias: bool, device: Any, dtype: Any) -> None:
        if self.padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__finish_init__(bias, device, dtype)

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        if output_size is None:
            return self.output_padding
        dims = len(self.kernel_size)
        before = input.dim() - dims
        wanted = list(output_size)[before if len(output_size) == before + dims else 0 :]
        if len(wanted) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                f"{before + dims} elements (got {len(wanted)})"
            )
        settings: Any = (self.stride, self.padding, self.dilation, self.kernel_size)
        least = [
            (length - 1) * step - 2 * edge + by * (size - 1) + 1
            for length, step, edge, by, size in zip(input.shape[before:], *settings, strict=True)
        ]
        most = [size + step - 1 for size, step in zip(least, self.stride, strict=True)]
        if not all(low <= size <= high for low, size, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an "
                f"input of {input.size()[2:]})"
            )
        return tuple(size - low for size, low in zip(wanted, least, strict=True))

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        further = self._output_padding(input, output_size)
        convolution = getattr(F, f"conv_transpose{len(self.kernel_size)}d")
        settings = (self.stride, self.padding, further, self.groups, self.dilation)
        return convolution(input, self.weight, self.bias, *settings)


class ConvTranspose1d(_ConvTransposeNd):
    """A transposed convolution over (batch, channels, length)."""


class ConvTranspose2d(_ConvTransposeNd):
    """A transposed convolution over (batch, channels, height, width)."""


class ConvTranspose3d(_ConvTransposeNd):
    """A transposed convolution over (batch, channels, depth, height, width)."""

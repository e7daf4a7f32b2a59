"""Normalizations within each example."""

from __future__ import annotations

from typing import Any

from jaxvjp.nn import functional as F
from jaxvjp.nn import init
from jaxvjp.nn.modules.layer import BIAS, PLACE, Layer, register_empty
from jaxvjp.nn.modules.utils import _single
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "a function of `nn.functional`"


class _Norm(Layer):
    weight: Tensor | None
    bias: Tensor | None

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)
        bias = self._parameters.get("bias")
        if bias is not None:
            init.zeros_(bias)


def register_affine(layer: _Norm, shape: Any, bias: bool, device: Any, dtype: Any) -> None:
    """Gives a normalization its weight and bias of a shape, or of None nothing, and sets all that it has."""
    register_empty(layer, device, dtype, weight=shape, bias=shape if bias else None)
    layer.reset_parameters()


class LayerNorm(_Norm):
    """`F.layer_norm` over the last dimensions, which `normalized_shape` tells."""

    __printed__ = "normalized_shape! eps elementwise_affine bias"
    __settings__ = f"normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, {BIAS}, {PLACE}"

    def __finish_init__(self, bias: bool, device: Any, dtype: Any) -> None:
        self.normalized_shape: Any = _single(self.normalized_shape)
        register_affine(self, self.normalized_shape if self.elementwise_affine else None, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(_Norm):
    """`F.rms_norm` over the last dimensions, which `normalized_shape` tells."""

    __printed__ = "normalized_shape! eps elementwise_affine"
    __settings__ = f"normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, {PLACE}"

    def __finish_init__(self, device: Any, dtype: Any) -> None:
        self.normalized_shape: Any = _single(self.normalized_shape)
        register_empty(self, device, dtype, weight=self.normalized_shape if self.elementwise_affine else None)
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(_Norm):
    """`F.group_norm` over groups of channels."""

    __printed__ = "num_groups! num_channels! eps affine bias"
    __settings__ = f"num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, {PLACE}, *, {BIAS}"

    def __finish_init__(self, bias: bool, device: Any, dtype: Any) -> None:
        if self.num_channels % self.num_groups:
            raise ValueError(f"num_channels ({self.num_channels}) must be divisible by num_groups ({self.num_groups})")
        register_affine(self, (self.num_channels,) if self.affine else None, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

"""Normalizations within each example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxvjp.nn import functional as F
from jaxvjp.nn import init
from jaxvjp.nn.modules.layer import Layer, register_empty
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


class LayerNorm(_Norm):
    """`F.layer_norm` over the last dimensions, which `normalized_shape` tells."""

    __printed__ = "normalized_shape! eps elementwise_affine bias"

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _single(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        shape = self.normalized_shape if elementwise_affine else None
        register_empty(self, device, dtype, weight=shape, bias=shape if bias else None)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(_Norm):
    """`F.rms_norm` over the last dimensions, which `normalized_shape` tells."""

    __printed__ = "normalized_shape! eps elementwise_affine"

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _single(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        register_empty(self, device, dtype, weight=self.normalized_shape if elementwise_affine else None)
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(_Norm):
    """`F.group_norm` over groups of channels."""

    __printed__ = "num_groups! num_channels! eps affine bias"

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        shape = (num_channels,) if affine else None
        register_empty(self, device, dtype, weight=shape, bias=shape if bias else None)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

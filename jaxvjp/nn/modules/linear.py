"""Linear and bilinear maps."""

from __future__ import annotations

import math
from typing import Any

from jaxvjp.nn import functional as F
from jaxvjp.nn import init
from jaxvjp.nn.modules.bases import _WeightedLoss
from jaxvjp.nn.modules.layer import BIAS, PLACE, Layer, register_empty
from jaxvjp.nn.modules.module import Module
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "a function of `nn.functional`; the parameters are drawn on the host"


def reset_scaled(weight: Tensor, bias: Tensor | None) -> None:
    """Draws the parameters of `Linear` and of convolutions."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)


class Identity(Module):
    """Gives its input; it takes any settings."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Layer):
    """`input @ weight.T + bias`."""

    __printed__ = "in_features out_features bias"
    __settings__ = f"in_features: int, out_features: int, {BIAS}, {PLACE}"
    weight: Tensor
    bias: Tensor | None

    def __finish_init__(self, bias: bool, device: Any, dtype: Any) -> None:
        rows = (self.out_features,)
        register_empty(self, device, dtype, weight=(*rows, self.in_features), bias=rows if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_scaled(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` under the name that the output projection of attention has."""


class Bilinear(Layer):
    """`input1 @ weight[k] @ input2 + bias[k]`."""

    __printed__ = "in1_features in2_features out_features bias"
    __settings__ = f"in1_features: int, in2_features: int, out_features: int, {BIAS}, {PLACE}"

    def __finish_init__(self, bias: bool, device: Any, dtype: Any) -> None:
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        rows = (self.out_features,)
        shape = (*rows, self.in1_features, self.in2_features)
        register_empty(self, device, dtype, weight=shape, bias=rows if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.weight.size(1))
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)


class PReLU(Layer):
    """`leaky_relu` with slopes that are learned."""

    __printed__ = "num_parameters"
    __settings__ = f"num_parameters: int = 1, init: float = 0.25, {PLACE}"

    def __finish_init__(self, device: Any, dtype: Any) -> None:
        register_empty(self, device, dtype, weight=(self.num_parameters,))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


KEPT = ("reduction", "ignore_index", "label_smoothing", "options")


class LinearCrossEntropyLoss(_WeightedLoss):
    """`F.linear_cross_entropy` with the weight and the bias of a `Linear`, which it has."""

    __given__ = "in_features bias device dtype"
    __settings__ = (
        f"in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False, {PLACE}, "
        "reduction: str = 'mean', weight: Tensor | None = None, ignore_index: int | None = None, "
        "label_smoothing: float = 0.0, options: Any = None"
    )

    def __finish_init__(self, in_features: int, **settings: Any) -> None:
        if self.weight is not None and self.weight.shape != (self.num_classes,):
            raise RuntimeError(f"expected weight shape to be {(self.num_classes,)}, got {tuple(self.weight.shape)}")
        if not 0 <= self.label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {self.label_smoothing}")
        self.linear = Linear(in_features, self.num_classes * math.prod(self.out_features), **settings)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        own, classes = self.linear, (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input,
            own.weight.reshape((*classes, own.in_features)),
            target,
            linear_bias=None if own.bias is None else own.bias.reshape(classes),
            **{name: getattr(self, name) for name in ("weight", *KEPT)},
        )

    def extra_repr(self) -> str:
        shown: dict[str, Any] = {"in_features": self.linear.in_features, "num_classes": self.num_classes}
        shown |= {"out_features": self.out_features, "bias": self.linear.bias is not None}
        shown |= {name: getattr(self, name) for name in KEPT}
        return ", ".join(f"{name}={value}" for name, value in shown.items())

"""Linear and bilinear maps."""

from __future__ import annotations

import math
from typing import Any

from jaxvjp.nn import functional as F
from jaxvjp.nn import init
from jaxvjp.nn.modules.bases import _WeightedLoss
from jaxvjp.nn.modules.layer import Layer, register_empty
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
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        register_empty(self, device, dtype, weight=(out_features, in_features), bias=(out_features,) if bias else None)
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

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        shape = (out_features, in1_features, in2_features)
        register_empty(self, device, dtype, weight=shape, bias=(out_features,) if bias else None)
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

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        register_empty(self, device, dtype, weight=(num_parameters,))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class LinearCrossEntropyLoss(_WeightedLoss):
    """`F.linear_cross_entropy` with the weight and the bias of a `Linear`, which it has."""

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__()
        self.register_buffer("weight", weight)
        self.num_classes, self.out_features, self.reduction = num_classes, out_features, reduction
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        own, classes = self.linear, (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input,
            own.weight.reshape((*classes, own.in_features)),
            target,
            linear_bias=None if own.bias is None else own.bias.reshape(classes),
            **{name: getattr(self, name) for name in ("weight", *self.__settings__)},
        )

    __settings__ = ("reduction", "ignore_index", "label_smoothing", "options")

    def extra_repr(self) -> str:
        shown: dict[str, Any] = {"in_features": self.linear.in_features, "num_classes": self.num_classes}
        shown |= {"out_features": self.out_features, "bias": self.linear.bias is not None}
        shown |= {name: getattr(self, name) for name in self.__settings__}
        return ", ".join(f"{name}={value}" for name, value in shown.items())

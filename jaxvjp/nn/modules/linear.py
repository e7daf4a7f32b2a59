"""Linear and bilinear maps."""

from __future__ import annotations

import math
from typing import Any

from jaxvjp.nn import functional as F
from jaxvjp.nn import init
from jaxvjp.nn.modules.layer import Layer
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

    shown = "in_features out_features bias"
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self._allot(device, dtype, weight=(out_features, in_features), bias=(out_features,) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset_scaled(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` under the name that the output projection of attention has."""


class Bilinear(Layer):
    """`input1 @ weight[k] @ input2 + bias[k]`."""

    shown = "in1_features in2_features out_features bias"

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
        self._allot(device, dtype, weight=shape, bias=(out_features,) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.weight.size(1))
        for each in self.parameters():
            init.uniform_(each, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)


class PReLU(Layer):
    """`leaky_relu` with slopes that are learned."""

    shown = "num_parameters"

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self._allot(device, dtype, weight=(num_parameters,))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

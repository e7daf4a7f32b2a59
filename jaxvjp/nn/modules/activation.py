"""Activations, one row each."""

from __future__ import annotations

from typing import Any  # noqa: F401 - for annotations of rows

from jaxvjp.nn import functional as F  # noqa: F401 - for calls of rows
from jaxvjp.nn.modules.layer import Layer, Row, define
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.user_code import warn_user

INPLACE = "inplace: bool = False"
BOUNDS = "min_value: float | None = None, max_value: float | None = None"


class _Bounded(Layer):
    def _settle(self) -> None:
        for old, new in (("min_value", "min_val"), ("max_value", "max_val")):
            given = self.__dict__.pop(old)
            if given is not None:
                told = f"keyword argument `{old}` is deprecated and renamed to `{new}`"
                warn_user(told, FutureWarning)
                setattr(self, new, given)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


class _OverChannels(Layer):
    """A softmax over channels."""

    def _check(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return input


ROWS = {
    "CELU": Row("celu", f"alpha: float = 1.0, {INPLACE}", "alpha inplace?"),
    "ELU": Row("elu", f"alpha: float = 1.0, {INPLACE}", "alpha inplace?"),
    "GELU": Row("gelu", "approximate: str = 'none'", "approximate"),
    "GLU": Row("glu", "dim: int = -1", "dim"),
    "Hardshrink": Row("hardshrink", "lambd: float = 0.5", "lambd!"),
    "Hardsigmoid": Row("hardsigmoid", INPLACE),
    "Hardswish": Row("hardswish", INPLACE),
    "Hardtanh": Row(
        "F.hardtanh(input, self.min_val, self.max_val, self.inplace)",
        f"min_val: float = -1.0, max_val: float = 1.0, {INPLACE}, {BOUNDS}",
        "min_val max_val inplace?",
        "_Bounded",
    ),
    "LeakyReLU": Row("leaky_relu", f"negative_slope: float = 0.01, {INPLACE}", "negative_slope inplace?"),
    "LogSigmoid": Row("logsigmoid"),
    "LogSoftmax": Row("F.log_softmax(input, self.dim, _stacklevel=5)", "dim: int | None = None", "dim"),
    "Mish": Row("mish", INPLACE, "inplace?"),
    "RReLU": Row(
        "F.rrelu(input, self.lower, self.upper, self.training, self.inplace)",
        f"lower: float = 1 / 8, upper: float = 1 / 3, {INPLACE}",
        "lower upper inplace?",
    ),
    "ReLU": Row("relu", INPLACE, "inplace?"),
    "ReLU6": Row("relu6", INPLACE, "inplace?"),
    "SELU": Row("selu", INPLACE, "inplace?"),
    "SiLU": Row("silu", INPLACE, "inplace?"),
    "Sigmoid": Row("sigmoid"),
    "Softmax": Row("F.softmax(input, self.dim, _stacklevel=5)", "dim: int | None = None", "dim"),
    "Softmax2d": Row("F.softmax(self._check(input), -3)", base="_OverChannels"),
    "Softmin": Row("F.softmin(input, self.dim, _stacklevel=5)", "dim: int | None = None", "dim"),
    "Softplus": Row("softplus", "beta: float = 1.0, threshold: float = 20.0", "beta threshold"),
    "Softshrink": Row("softshrink", "lambd: float = 0.5", "lambd!"),
    "Softsign": Row("softsign"),
    "Tanh": Row("tanh"),
    "Tanhshrink": Row("tanhshrink"),
    "Threshold": Row("threshold", f"threshold: float, value: float, {INPLACE}", "threshold value inplace?"),
}
define(ROWS, globals())

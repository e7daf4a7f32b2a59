"""A layer and the batch normalization after it, as one layer."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from jaxvjp.library.creation import ones_like, zeros_like
from jaxvjp.nn.parameter import Parameter
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "operations on the parameters"


def _fused(layer: Any, bn: Any, *extra: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    made = deepcopy(layer)
    fuse = fuse_conv_bn_weights if extra else fuse_linear_bn_weights
    statistics = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    made.weight, made.bias = fuse(made.weight, made.bias, *statistics, *extra)
    return made


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what `conv` and then `bn` do, both in evaluation mode."""
    return _fused(conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear layer that does what `linear` and then `bn` do, both in evaluation mode."""
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused(linear, bn)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of `fuse_conv_bn_eval`, from those of the convolution; and the statistics (`bn_rm`, `bn_rv`),
    eps, weight and bias of the normalization."""
    bias = zeros_like(bn_rm) if conv_b is None else conv_b
    scale = (bn_rv + bn_eps).rsqrt() * (ones_like(bn_rm) if bn_w is None else bn_w)
    shape = [1, -1] if transpose else [-1, 1]
    weight = (conv_w * scale.reshape(shape + [1] * (conv_w.ndim - 2))).to(conv_w.dtype)
    moved = (bias - bn_rm) * scale + (zeros_like(bn_rm) if bn_b is None else bn_b)
    dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    return Parameter(weight, conv_w.requires_grad), Parameter(moved.to(dtype), bias.requires_grad)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """The same as `fuse_conv_bn_weights`, for a linear layer."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)

"""Normalizations: an input with mean 0 and variance 1 over some of its dimensions.

float16 and bfloat16 are summed up in float32, as in torch.
"""

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Index, Real, Scalar, Shape
from jaxvjp.ops.identity import clone
from jaxvjp.ops.layouts import BATCHED, CHANNELS
from jaxvjp.ops.neural.pooling import Sliding, window_sum
from jaxvjp.ops.op import FLOAT, OPMATH, SHORT, op
from jaxvjp.ops.pointwise import supported


def _wide(input):
    """`input` in a type precise enough for sums."""
    return input.astype(jnp.float32) if input.dtype.itemsize == 2 else input


FEW = 1 << 18
"""Up to this many numbers a CPU sums rows by a product with ones; beyond, memory bandwidth is the limit."""


class _Rows(NamedTuple):
    """How to average values over some axes (keepdims), and how to combine such an average with the values."""

    mean: Callable[[Any], Any]
    minus: Callable[[Any, Any], Any]
    times: Callable[[Any, Any], Any]


def _in_rows(function, input, axes):
    """`function(input, rows)` with the `_Rows` of `axes` that are fastest where it runs."""

    def plain(input):
        return function(input, _Rows(partial(jnp.mean, axis=axes, keepdims=True), operator.sub, operator.mul))

    def by_products(input):
        kept, count = input.shape[: -len(axes)], math.prod(input.shape[-len(axes) :])
        ones = jnp.ones((count, 1), input.dtype)

        def mean(values):
            rows = values.reshape(math.prod(kept), count)
            return (_product(rows, ones) / count).reshape(*kept, *[1] * len(axes))

        def spread(average):
            return _product(average.reshape(math.prod(kept), 1), ones.T).reshape(input.shape)

        def minus(values, average):
            return values + spread(-average)

        def times(values, average):
            return values * spread(average)

        return function(input, _Rows(mean, minus, times))

    if axes != tuple(range(input.ndim - len(axes), input.ndim)) or input.size > FEW:
        return plain(input)
    # On a CPU a product with ones sums rows faster, also in the gradient of a broadcast: six layer norms of 256 x 256
    # and their gradients take 0.65 of the time. Elsewhere XLA fuses a sum with the computation of its terms.
    return jax.lax.platform_dependent(input, cpu=by_products, default=plain)


_product = partial(jnp.dot, precision=jax.lax.Precision.HIGHEST)


def _standardized(input, axes, eps):
    """`(input - mean) / deviation`; and the mean, variance and 1 / deviation, with keepdims."""

    def standardized(wide, rows):
        mean = rows.mean(wide)
        centered = rows.minus(wide, mean)
        variance = rows.mean(centered * centered)
        scale = jax.lax.rsqrt(variance + eps)
        return rows.times(centered, scale), mean, variance, scale

    return _in_rows(standardized, _wide(input), axes)


def _affine(input, weight, bias, shape, dtype):
    """`input * weight + bias` in `dtype`; either may be None."""
    if weight is not None:
        input = input * weight.reshape(shape)
    if bias is not None:
        input = input + bias.reshape(shape)
    return input.astype(dtype)


def _check_types(kernel, input, *parameters):
    """torch's errors for a dtype that it has no kernel for, and for parameters and statistics of another one: float32
    beside an input of 16 bits is the only mixture that it takes."""
    supported(kernel, input, "bool integers", "")
    for each in parameters:
        if each is not None and each.dtype != input.dtype and not (input.dtype in SHORT and each.dtype == "float32"):
            told = "expect parameter to have scalar type of Float"
            told = told if input.dtype == "float32" or input.dtype in SHORT else "all inputs must share same datatype."
            raise RuntimeError(f"mixed dtype (CPU): {told}\nConvert one of them: `x.to(weight.dtype)`.")


def _trailing(name, input, normalized_shape, weight, bias):
    """The axes that `normalized_shape` names; RuntimeError where they are not the last ones of `input`."""
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for word, each in (("weight", weight), ("bias", bias)):
        if each is not None and each.shape != shape:
            raise RuntimeError(
                f"Expected {word} to be of same shape as normalized_shape, but got {word} of shape {list(each.shape)} "
                f"and normalized_shape = {list(shape)}"
            )
    if input.shape[input.ndim - len(shape) :] != shape or input.ndim < len(shape):
        shown = ", " * (name == "layer_norm") + ", ".join(map(str, shape))  # torch's spelling
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*{shown}], but "
            f"got input of size{list(input.shape)}"
        )
    return tuple(range(input.ndim - len(shape), input.ndim))


@op(public="", saves="bias, input, weight", in_one_step=True, grad_fn="NativeLayerNormBackward0")
def standardized_layer(input, normalized_shape: Shape, weight=None, bias=None, eps: Real = 1e-5):
    """What `layer_norm` gives, and the means and reciprocal deviations that it used."""
    axes = _trailing("layer_norm", input, normalized_shape, weight, bias)
    _check_types("LayerNormKernelImpl", input, weight, bias)
    result, mean, _, scale = _standardized(input, axes, eps)
    return _affine(result, weight, bias, normalized_shape, input.dtype), mean, scale


@op(public="nn.functional", saves="bias, input, weight", in_one_step=True, grad_fn="NativeLayerNormBackward0")
def layer_norm(input, normalized_shape: Shape, weight=None, bias=None, eps: Real = 1e-5):
    """`input` standardized over its last dimensions, those of `normalized_shape`; times `weight`, plus `bias`."""
    return standardized_layer.function(input, normalized_shape, weight, bias, eps)[0]


@op(public="nn.functional function", saves="input, weight", grad_fn="MulBackward0", out=False)
def rms_norm(input, normalized_shape: Shape, weight=None, eps: Real | None = None):
    """`input` over the root of its mean square over the dimensions of `normalized_shape`; times `weight`."""
    axes = _trailing("rms_norm", input, normalized_shape, weight, None)
    _check_types("rms_norm", input)
    wide = _wide(input)
    if eps is None:
        eps = float(jnp.finfo(wide.dtype).eps)

    def normalized(wide, rows):
        # Complex numbers are squared themselves, not their magnitudes.
        return rows.times(wide, jax.lax.rsqrt(rows.mean(wide * wide) + eps))

    return _affine(_in_rows(normalized, wide, axes), weight, None, normalized_shape, input.dtype)


@op(public="", saves="input, weight", grad_fn="NativeGroupNormBackward0")
def standardized_groups(input, num_groups: Index, weight=None, bias=None, eps: Real = 1e-5):
    """What `group_norm` gives, and the means and reciprocal deviations that it used: (batch, groups)."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    batch, channels, *spatial = input.shape
    if channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for word, each in (("weight", weight), ("bias", bias)):
        if each is not None and each.shape != (channels,):
            raise RuntimeError(
                f"Expected {word} to be a vector of size equal to the number of channels in input, but got {word} of "
                f"shape {list(each.shape)} and input of shape {list(input.shape)}"
            )
    _check_types("GroupNormKernelImpl", input, weight, bias)
    grouped = input.reshape(batch, num_groups, channels // num_groups, *spatial)
    result, mean, _, scale = _standardized(grouped, tuple(range(2, grouped.ndim)), eps)
    result = _affine(result.reshape(input.shape), weight, bias, (channels, *[1] * len(spatial)), input.dtype)
    return result, *[each.reshape(batch, num_groups).astype(input.dtype) for each in (mean, scale)]


@op(public="nn.functional", saves="input, weight", grad_fn="NativeGroupNormBackward0", keeps=CHANNELS)
def group_norm(input, num_groups: Index, weight=None, bias=None, eps: Real = 1e-5):
    """`input` standardized over groups of its channels and all that comes after; times `weight`, plus `bias`."""
    if input.ndim >= 2:
        batch, channels, *spatial = input.shape
        if math.prod([batch * channels // num_groups, *spatial]) == 1:
            shape = [batch * channels // num_groups, num_groups, *spatial]
            told = "Expected more than 1 value per channel when training, got input size"
            raise ValueError(f"{told} torch.Size({shape})")
    return standardized_groups.function(input, num_groups, weight, bias, eps)[0]


def _per_channel(input, **vectors):
    """The shape that aligns a vector with the channels of `input`; RuntimeError if one has another length."""
    for name, each in vectors.items():
        if each is not None and each.size != input.shape[1]:
            raise RuntimeError(f"{name} should contain {input.shape[1]} elements not {each.size}")
    return (-1, *[1] * (input.ndim - 2))


OF_BATCHES = {"public": "", "in_one_step": True, "grad_fn": "NativeBatchNormBackward0", "keeps": BATCHED}


@op(saves="input, weight", **OF_BATCHES)
def standardized_batch(input, weight=None, bias=None, *, eps: Real):
    """`batch_norm` by the statistics of the input itself; and its means and variances, one per channel."""
    shape = _per_channel(input, weight=weight, bias=bias)
    _check_types("batch_norm", input, weight, bias)
    axes = (0, *range(2, input.ndim))
    result, mean, variance, _ = _standardized(input, axes, eps)
    return _affine(result, weight, bias, shape, input.dtype), mean.reshape(-1), variance.reshape(-1)


@op(saves="input, weight, mean, variance", **OF_BATCHES)
def normalized_batch(input, mean, variance, weight=None, bias=None, *, eps: Real):
    """`batch_norm` by given statistics, one per channel."""
    shape = _per_channel(input, running_mean=mean, running_var=variance, weight=weight, bias=bias)
    _check_types("batch_norm", input, mean, variance, weight, bias)
    scale = jax.lax.rsqrt(_wide(variance) + eps).reshape(shape)
    result = (_wide(input) - mean.reshape(shape)) * scale
    return _affine(result, weight, bias, shape, input.dtype)


@op(public="", saves="input, weight", in_one_step=True, grad_fn="ViewBackward0")
def standardized_instances(input, weight=None, bias=None, *, eps: Real):
    """`instance_norm` by the statistics of the input itself; and their means over the batch, one per channel."""
    shape = _per_channel(input, weight=weight, bias=bias)
    _check_types("batch_norm", input, weight, bias)
    result, mean, variance, _ = _standardized(input, tuple(range(2, input.ndim)), eps)
    statistics = [jnp.mean(each, 0).reshape(-1) for each in (mean, variance)]
    return _affine(result, weight, bias, shape, input.dtype), *statistics


@op(public="", differentiable=False, numbers=OPMATH)
def moved_towards(input, statistic, momentum: Scalar, correction: Scalar):
    """A running mean or variance, a step of `momentum` nearer to that of a batch."""
    moved = (1 - momentum) * input + momentum * correction * statistic
    return moved.astype(input.dtype)


def _unless_empty(row, operands, static):
    """An empty input is returned as it is, in its own dtype."""
    return (row, operands, static) if 0 not in operands[0].aval.shape else (clone, operands, ())


@op(public="nn.functional", promotion=FLOAT, saves="input", grad_fn="DivBackward0", rewrite=_unless_empty)
def local_response_norm(input, size: Index, alpha: Real = 1e-4, beta: Real = 0.75, k: Real = 1.0):
    """`input` over a power of the mean square of `size` neighbouring channels."""
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)"
        )
    squares = jnp.moveaxis(input * input, 1, -1)
    window = Sliding(size, 1, size // 2, 1, input.shape[1])
    mean = jnp.moveaxis(window_sum(squares, [window]), -1, 1) / size
    return input / (mean * alpha + k) ** beta

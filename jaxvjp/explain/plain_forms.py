"""Plainer forms of ops, as a person writes them, which differ at an edge: `jnp.abs`, whose derivative at 0 is 1.

Each function here has the parameters of an op's function, or of a function that ops call. Away from such edges it has
the same values and derivatives; it returns NotImplemented where it is no form. A program is printed with plain forms if
it gives what was recorded (`Explanation.program`), and without them otherwise, or if `exact` is asked for.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.explain.recorded_functions import PICKING, PLAIN
from jaxvjp.ops import extremes, pointwise, reduction, sorting
from jaxvjp.ops.arguments import axes, wrap
from jaxvjp.ops.arithmetic import lerp, number_lerp, sign
from jaxvjp.ops.creation import one_hot
from jaxvjp.ops.indexing import gather
from jaxvjp.ops.neural import activation, pooling
from jaxvjp.ops.neural.classification import cross_entropy, nll_loss
from jaxvjp.ops.neural.loss import binary_cross_entropy, reduced
from jaxvjp.ops.neural.normalization import layer_norm, moved_towards, standardized_batch
from jaxvjp.ops.pointwise import abs_, clamp, clamp_max, clamp_min, relu
from jaxvjp.ops.scattering import index_add


def _clamp(input: Any, min: Any = None, max: Any = None) -> Any:  # at a bound half of the gradient
    if min is None or max is None:
        return jnp.maximum(input, min) if max is None else jnp.minimum(input, max)
    return jnp.clip(input, min, max)


def _axis(over: tuple[int, ...], input: Any) -> tuple[int, ...] | int | None:
    """Dimensions as a person writes them: none where it is all, and a number for one."""
    return None if len(over) == input.ndim else over if len(over) > 1 else over[0]


def _prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype is not None or not jnp.issubdtype(input.dtype, jnp.inexact):
        return NotImplemented
    return jnp.prod(input, axis=axes(dim, input.ndim), keepdims=keepdim)


def _vector_norm(input: Any, order: Any, dim: Any, keepdims: bool = False) -> Any:  # of zeros
    reduced = axes(dim, input.ndim)
    if order != 2 or jnp.iscomplexobj(input) or 2 < len(reduced) < input.ndim or not reduced:
        return NotImplemented
    return jnp.linalg.norm(input, axis=_axis(reduced, input), keepdims=keepdims)


def _index_add(input: Any, dim: Any, index: Any, source: Any, *, alpha: Any = 1) -> Any:  # where an index is outside
    if not input.ndim or not index.ndim or input.dtype == bool:
        return NotImplemented
    added = source if isinstance(alpha, int) and alpha == 1 else alpha * source
    before = (slice(None),) * wrap(dim, input.ndim)
    return input.at[(*before, index) if before else index].add(added)


def _shared(input: Any, extreme: Any, reduced: Any, keepdims: bool = False, of_nan: str = "") -> Any:  # beside a NaN
    return getattr(jnp, extreme.__name__)(input, axis=_axis(reduced, input), keepdims=keepdims)


def _extremes(extreme: Any, arg: Any, input: Any, dim: Any, keepdim: bool) -> Any:  # where several are equally large
    if not input.ndim:
        return NotImplemented
    named: dict[str, Any] = {"axis": wrap(dim, input.ndim), "keepdims": keepdim}
    places = getattr(jnp, f"arg{extreme.__name__}")(input, **named)
    return getattr(jnp, extreme.__name__)(input, **named), places


def _variance(name: str, input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:  # beside an infinite number
    named: dict[str, Any] = {"axis": _axis(axes(dim, input.ndim), input), "keepdims": keepdim}
    return jnp.var(input, ddof=correction, **named), jnp.mean(input, **named)


def _gather(input: Any, dim: Any, index: Any, *, sparse_grad: bool = False) -> Any:
    axis = wrap(dim, input.ndim)
    same = [each for each in range(input.ndim) if input.shape[each] == index.shape[each]]
    if not input.ndim or {axis, *same} != {*range(input.ndim)}:
        return NotImplemented
    return jnp.take_along_axis(input, index, axis=axis)


def _nll_loss(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Any:
    if weight is not None or input.ndim < 2:  # with a class that is ignored
        return NotImplemented
    picked = jnp.take_along_axis(input, jnp.expand_dims(target, 1), axis=1)
    if reduction == "none":
        return -jnp.squeeze(picked, 1)
    return -jnp.mean(picked) if reduction == "mean" else -jnp.sum(picked)


def _cross_entropy(input: Any, target: Any, *given: Any, label_smoothing: float = 0.0, **named: Any) -> Any:
    if label_smoothing or input.ndim != target.ndim + 1:
        return NotImplemented
    return _nll_loss(jax.nn.log_softmax(input, axis=1), target, *given, **named)


def _binary_cross_entropy(input: Any, target: Any, weight: Any = None, reduction: str = "mean", **_: Any) -> Any:
    if weight is not None:  # at 0 and 1
        return NotImplemented
    return reduced(-target * jnp.log(input) - (1 - target) * jnp.log1p(-input), reduction)


def _over_windows(input: Any, windows: Any, whole: Any, fold: Any, of_none: float) -> Any:
    """`jnp.max(input, axis=2)` where there is one window for each dimension, else `reduce_window`."""
    axes = tuple(range(input.ndim - len(windows), input.ndim))
    lengths = [input.shape[each] for each in axes]
    if not all(isinstance(each, pooling.Sliding) and each.dilation == 1 for each in windows):
        return NotImplemented
    if all(each.size == length and each.number == 1 for each, length in zip(windows, lengths, strict=True)):
        return whole(input, axis=_axis(axes, input), keepdims=True)
    sizes, steps = ((*[1] * axes[0], *(each[at] for each in windows)) for at in (0, 1))
    if not any(each.padding for each in windows):
        return jax.lax.reduce_window(input, of_none, fold, sizes, steps, "VALID")
    edges = [(each.padding, each.padding) for each in windows]
    for at, (each, length) in enumerate(zip(windows, lengths, strict=True)):
        if (length + 2 * each.padding - each.size) // each.stride + 1 != each.number:
            edges[at] = each.edges(length)[:2]  # with `ceil_mode`
    return jax.lax.reduce_window(input, of_none, fold, sizes, steps, [(0, 0)] * axes[0] + edges)


def _largest(input: Any, windows: Any, with_indices: bool) -> Any:  # where several of one dimension are equally large
    if with_indices or not jnp.issubdtype(input.dtype, jnp.floating):
        return NotImplemented
    values = _over_windows(input, windows, jnp.max, jax.lax.max, -jnp.inf)
    return values if values is NotImplemented else (values, None)


def _window_mean(input: Any, windows: Any, counts: Any) -> Any:
    if any(each.number != 1 or each.padding for each in windows) or len(counts) < len(windows):
        return NotImplemented
    return _over_windows(input, windows, jnp.mean, None, 0.0)


def _standardized_batch(input: Any, weight: Any = None, bias: Any = None, *, eps: float) -> Any:
    if weight is None or bias is None:
        return NotImplemented
    over, shape = (0, *range(2, input.ndim)), (-1, *[1] * (input.ndim - 2))
    mean, variance = jnp.mean(input, axis=over), jnp.var(input, axis=over)
    along = [each if len(shape) == 1 else each.reshape(shape) for each in (mean, variance, weight, bias)]
    return (input - along[0]) * jax.lax.rsqrt(along[1] + eps) * along[2] + along[3], mean, variance


def _layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    if weight is None or bias is None:
        return NotImplemented
    over = -1 if len(normalized_shape) == 1 else tuple(range(-len(normalized_shape), 0))
    mean, variance = jnp.mean(input, axis=over, keepdims=True), jnp.var(input, axis=over, keepdims=True)
    return (input - mean) * jax.lax.rsqrt(variance + eps) * weight + bias


def _softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:  # far above 0
    return jax.nn.softplus(input) if beta == 1 else NotImplemented


def _one_hot(one: Any, *, batch: tuple[int, ...], size: tuple[int, ...], offset: int) -> Any:  # `one` is 1
    if batch != size or offset:
        return NotImplemented
    if not size:
        return jnp.ones((), dtype=one.dtype)
    rows = jnp.eye(math.prod(size), dtype=one.dtype)
    return rows if len(size) == 1 else rows.reshape(*batch, *size)


PLAIN.update(
    {
        relu: jax.nn.relu,  # at NaN the derivative is 0
        abs_: jnp.abs,
        sign: jnp.sign,
        pointwise._power: lambda x, exponent: x**exponent,
        clamp: _clamp,
        clamp_min: lambda x, low: jnp.maximum(x, low),
        clamp_max: lambda x, high: jnp.minimum(x, high),
        index_add: _index_add,
        lerp: (interpolated := lambda x, end, weight: x + weight * (end - x)),
        number_lerp: interpolated,
        # With a factor 0 or infinity; by the name of the fold here, as it is written.
        reduction.product: lambda fold, x, along, **kept: getattr(jnp, fold.__name__)(x, along, **kept),
        reduction.prod: _prod,
        reduction.vector_norm: _vector_norm,
        reduction.shared: _shared,
        extremes._along: _extremes,
        sorting._share: lambda x, value: value,
        reduction._variance: _variance,
        reduction.root: jnp.sqrt,  # at 0
        gather: _gather,
        nll_loss: _nll_loss,
        cross_entropy: _cross_entropy,
        binary_cross_entropy: _binary_cross_entropy,
        pooling._largest: _largest,
        pooling.window_sum: lambda x, windows: _over_windows(x, windows, jnp.sum, jax.lax.add, 0.0),
        pooling._window_mean: _window_mean,
        standardized_batch: _standardized_batch,
        layer_norm: _layer_norm,
        moved_towards: lambda x, other, momentum, correction: x + momentum * (other * correction - x),
        one_hot: _one_hot,
        activation.softplus: _softplus,
        activation.gelu: lambda x, *, approximate="none": jax.nn.gelu(x, approximate=approximate == "tanh"),
        activation.silu: lambda x: jax.nn.silu(x),
        activation.leaky_relu: jax.nn.leaky_relu,  # at 0
        activation.elu: jax.nn.elu,
        activation.logsigmoid: jax.nn.log_sigmoid,
    }
)
PICKING.update(
    {relu, abs_, sign, clamp, clamp_min, clamp_max, reduction.shared, extremes._along, gather, pooling._largest}
)

"""Plainer forms of ops, as a person writes them, which differ at an edge: `jnp.abs`, whose derivative at 0 is 1.

Each function here has the parameters of an op's function, or of a function that ops call. Away from such edges it has
the same values and derivatives; it returns NotImplemented where it is no form. A program is printed with plain forms if
it gives what was recorded (`Explanation.program`), and without them otherwise, or if `exact` is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.explain.recorded_functions import PLAIN
from jaxvjp.ops import pointwise, reduction
from jaxvjp.ops.arguments import axes, wrap
from jaxvjp.ops.arithmetic import lerp, number_lerp, sign
from jaxvjp.ops.indexing import gather
from jaxvjp.ops.neural.classification import cross_entropy
from jaxvjp.ops.neural.normalization import standardized_batch
from jaxvjp.ops.op import REGISTRY
from jaxvjp.ops.pointwise import abs_, clamp, clamp_max, clamp_min, relu


def plainly(*replaced: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers the decorated function as the plain form of ops, or of functions that ops call."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        PLAIN.update(dict.fromkeys(replaced, function))
        return function

    return note


@plainly(relu)
def _relu(input: Any) -> Any:  # at NaN the derivative is 0
    return jax.nn.relu(input)


@plainly(abs_)
def _abs(input: Any) -> Any:
    return jnp.abs(input)


@plainly(sign)
def _sign(input: Any) -> Any:
    return jnp.sign(input)


@plainly(pointwise._power)
def _power(input: Any, exponent: Any) -> Any:
    return input**exponent


@plainly(clamp)
def _clamp(input: Any, min: Any = None, max: Any = None) -> Any:  # at a bound half of the gradient
    if min is None or max is None:
        return jnp.maximum(input, min) if max is None else jnp.minimum(input, max)
    return jnp.clip(input, min, max)


@plainly(clamp_min)
def _clamp_min(input: Any, min: Any) -> Any:
    return jnp.maximum(input, min)


@plainly(clamp_max)
def _clamp_max(input: Any, max: Any) -> Any:
    return jnp.minimum(input, max)


@plainly(lerp, number_lerp)
def _lerp(input: Any, end: Any, weight: Any) -> Any:
    return input + weight * (end - input)


@plainly(reduction.product)
def _product(fold: Callable[..., Any], input: Any, along: Any, **kept: bool) -> Any:  # with a factor 0 or infinity
    return getattr(jnp, fold.__name__)(input, along, **kept)  # by its name here, as it is written


@plainly(reduction.prod)
def _prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype is not None or not jnp.issubdtype(input.dtype, jnp.inexact):
        return NotImplemented
    return jnp.prod(input, axis=axes(dim, input.ndim), keepdims=keepdim)


@plainly(reduction.vector_norm)
def _vector_norm(input: Any, order: Any, dim: Any, keepdims: bool = False) -> Any:  # of zeros
    reduced = axes(dim, input.ndim)
    if order != 2 or jnp.iscomplexobj(input) or 2 < len(reduced) < input.ndim or not reduced:
        return NotImplemented
    along = None if len(reduced) == input.ndim else reduced if len(reduced) > 1 else reduced[0]
    return jnp.linalg.norm(input, axis=along, keepdims=keepdims)


@plainly(gather)
def _gather(input: Any, dim: Any, index: Any, *, sparse_grad: bool = False) -> Any:
    axis = wrap(dim, input.ndim)
    same = [each for each in range(input.ndim) if input.shape[each] == index.shape[each]]
    if not input.ndim or {axis, *same} != {*range(input.ndim)}:
        return NotImplemented
    return jnp.take_along_axis(input, index, axis=axis)


@plainly(cross_entropy)
def _cross_entropy(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", label_smoothing: float = 0.0, **_: Any
) -> Any:  # with a class that is ignored
    if weight is not None or label_smoothing or (input.ndim, target.ndim) != (2, 1) or reduction == "none":
        return NotImplemented
    picked = jnp.take_along_axis(jax.nn.log_softmax(input), target[:, None], axis=1)
    return -jnp.mean(picked) if reduction == "mean" else -jnp.sum(picked)


@plainly(REGISTRY["max_pool2d"])
def _max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = (0,),
    dilation: Any = (1,),
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    if {*padding} != {0} or {*dilation} != {1} or ceil_mode or return_indices or input.ndim != 4:
        return NotImplemented
    window, steps = ((1, 1, *each * (2 // len(each))) for each in (kernel_size, stride or kernel_size))
    return jax.lax.reduce_window(input, -jnp.inf, jax.lax.max, window, steps, "VALID")


@plainly(standardized_batch)
def _standardized_batch(input: Any, weight: Any = None, bias: Any = None, *, eps: float) -> Any:
    if input.ndim != 2 or weight is None or bias is None:
        return NotImplemented
    mean = jnp.mean(input, axis=0)
    variance = jnp.var(input, axis=0)
    return (input - mean) * jax.lax.rsqrt(variance + eps) * weight + bias, mean, variance

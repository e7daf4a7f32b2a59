"""Ops that fold dimensions away. `op` comes before this room."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxvjp.dtypes import BOOL, INTEGRAL, from_numpy, int64
from jaxvjp.ops.arguments import Dims, Flag, Index, Shape, Type, axes, wrap
from jaxvjp.ops.op import op


def _numbered_by_dim(name):
    """torch numbers the backward of a full reduction 0 and that over dimensions 1."""
    return lambda static, avals: f"{name}Backward{0 if static[0] is None else 1}"


@op(grad_fn=_numbered_by_dim("Sum"), arities=((1, 2), (2, 5)))
def sum_(input, dim: Dims = None, keepdim: Flag = False, *, dtype: Type | None = None):
    """The sum over `dim` (all dimensions by default); of integers an int64."""
    if dtype is None and from_numpy(input.dtype).category in (BOOL, INTEGRAL):
        dtype = int64
    return jnp.sum(input, axes(dim, input.ndim), dtype=None if dtype is None else dtype.numpy, keepdims=keepdim)


@op(grad_fn=_numbered_by_dim("Mean"), arities=((1, 2), (2, 5)))
def mean(input, dim: Dims = None, keepdim: Flag = False, *, dtype: Type | None = None):
    """The mean over `dim` (all dimensions by default) of a floating or complex tensor."""
    result = dtype or from_numpy(input.dtype)
    if not result.differentiable:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {result.legacy}\nConvert it first: `x.float().mean()`."
        )
    reduced = axes(dim, input.ndim)
    if input.size:
        return jnp.mean(input, reduced, dtype=result.numpy, keepdims=keepdim)
    # 0 / 0, but with the derivative of a sum of nothing, where the mean's would be divided by 0.
    undefined = jax.lax.stop_gradient(jnp.mean(input, reduced, dtype=result.numpy, keepdims=keepdim))
    return undefined + jnp.sum(input, reduced, dtype=result.numpy, keepdims=keepdim)


@op(grad_fn="LinalgVectorNormBackward0", saves="input, result")
def norm(input, dim: Dims = None, keepdim: Flag = False):
    """The Euclidean norm over `dim` (all dimensions by default).

    Where it is zero so is its gradient, as in torch: the square root is taken of a value that is never zero.
    """
    if not jnp.issubdtype(input.dtype, jnp.inexact):
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{from_numpy(input.dtype).legacy}\nConvert it first: `x.float().norm()`."
        )
    squares = jnp.sum(jnp.abs(input) ** 2, axes(dim, input.ndim), keepdims=keepdim)
    zero = squares == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, squares)))


def expandable(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of `shape` can be expanded to the shape `to`."""
    return len(shape) <= len(to) and all(each in (1, to[-dim]) for dim, each in enumerate(reversed(shape), 1))


@op(public="", grad_fn="SumBackward1")
def sum_to(input, *, size: Shape):
    """`input` summed over what expanding `size` to its shape would repeat: the way back from a broadcast."""
    leading = input.ndim - len(size)
    repeated = tuple(dim + leading for dim, each in enumerate(size) if each == 1)
    return jnp.sum(input, (*range(leading), *repeated), keepdims=True).reshape(size)


def shared(input, extreme, reduced):
    """The extreme over `reduced`, whose gradient the elements that attain it share evenly, as in torch."""
    constant = jax.lax.stop_gradient(input)
    largest = extreme(constant, reduced, keepdims=True)
    attaining = (constant == largest) | (jnp.isnan(constant) & jnp.isnan(largest))
    count = jnp.sum(attaining, reduced, keepdims=True)
    return jnp.sum(jnp.where(attaining, input / count.astype(input.dtype), 0), reduced)


@op(grad_fn="MaxBackward1", saves="input, result")
def max_(input):
    """The largest element; elements that are equally large share the gradient."""
    return shared(input, jnp.max, tuple(range(input.ndim)))


@op(name="max.dim", returns=("values", "indices"), grad_fn="MaxBackward0")
def max_dim(input, dim: Index, keepdim: Flag = False):
    """The largest elements along `dim`, and where they are."""
    position = jnp.argmax(input, wrap(dim, input.ndim), keepdims=True)
    values = jnp.take_along_axis(input, position, wrap(dim, input.ndim))
    return (values, position) if keepdim else (values.squeeze(dim), position.squeeze(dim))

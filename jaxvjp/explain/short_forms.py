"""Shorter forms of ops for printed programs.

Each function here has the parameters, values and derivatives of the op's function, as tests check. It is run on symbols
in its place, and never on arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.explain.writing import WORDED
from jaxvjp.ops.arguments import axes, wrap
from jaxvjp.ops.arithmetic import maximum, minimum
from jaxvjp.ops.contractions import ELLIPSIS, einsum, spelt_out, subscripts
from jaxvjp.ops.indexing import index
from jaxvjp.ops.joining import stack
from jaxvjp.ops.neural.loss import chosen_reduction, mse_loss
from jaxvjp.ops.op import REGISTRY, Op
from jaxvjp.ops.pointwise import assigned, copy, fill, power
from jaxvjp.ops.reduction import sum_
from jaxvjp.ops.scattering import index_put
from jaxvjp.ops.view import (
    permute,
    put,
    reshape_alias,
    reshaped_copy,
    select,
    slice_,
    split_one,
    split_with_sizes_one,
    transpose,
    unbind_one,
    view,
)

Whole = slice(None)


def worded(*operations: Op) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers the decorated function as the way to write `operations`."""

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        for operation in operations:
            WORDED[operation] = function
        return function

    return note


@worded(power)
def _power(input: Any, *, exponent: Any) -> Any:
    _, value = exponent
    roots = {0.5: jnp.sqrt, -0.5: jax.lax.rsqrt}
    return roots[value](input) if value in roots else input ** int(value)


@worded(sum_)
def _sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype is None and input.dtype.kind in "biu":
        return jnp.sum(input, axis=axes(dim, input.ndim), dtype=jnp.int64, keepdims=keepdim)
    return jnp.sum(input, axis=axes(dim, input.ndim), dtype=None if dtype is None else dtype.numpy, keepdims=keepdim)


@worded(stack)
def _stack(tensors: Any, dim: int = 0) -> Any:
    return jnp.stack(tensors, axis=wrap(dim, tensors[0].ndim + 1))


@worded(mse_loss)
def _mse_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Any:
    reduction = chosen_reduction(size_average, reduce, reduction, lambda told: None)
    squares = (input - target) ** 2
    if weight is not None:
        squares = squares * weight
    if reduction == "mean":
        return jnp.mean(squares) if weight is None else jnp.sum(squares) / jnp.sum(weight)
    return jnp.sum(squares) if reduction == "sum" else squares


WORDED[maximum] = lambda x, other: jnp.maximum(x, other)  # differs in the gradient at NaN only
WORDED[minimum] = lambda x, other: jnp.minimum(x, other)
WORDED[REGISTRY["argmax"]] = lambda x, dim=None, keepdim=False: jnp.argmax(x, axis=dim, keepdims=keepdim or None)
WORDED[REGISTRY["argmin"]] = lambda x, dim=None, keepdim=False: jnp.argmin(x, axis=dim, keepdims=keepdim or None)
WORDED[fill] = lambda x, value: jnp.full_like(x, value)


@worded(copy, assigned)
def _copy(input: Any, src: Any, **_: bool) -> Any:
    if jnp.iscomplexobj(src) and not jnp.iscomplexobj(input):
        src = jnp.real(src)
    if src.dtype != input.dtype:
        src = src.astype(input.dtype)
    if src.ndim > input.ndim:  # torch drops leading dimensions of size 1
        src = src.reshape(src.shape[src.ndim - input.ndim :])
    return src if src.shape == input.shape else jnp.broadcast_to(src, input.shape)


def _at(dim: int, part: Any) -> Any:
    return (*[Whole] * dim, part) if dim else part


@worded(select, unbind_one)
def _select(input: Any, index: Any, *, dim: int) -> Any:
    return input[_at(wrap(dim, input.ndim), index)]


def cut(start: Any, length: int, step: int) -> slice:
    """The slice of `length` positions from `start` on; its bounds are numbers."""
    return slice(
        start or None,
        start + length * step if step == 1 else start + (length - 1) * step + 1,
        *([step] if step != 1 else []),
    )


@worded(slice_, split_one, split_with_sizes_one)
def _slice(input: Any, start: Any, *, dim: int, length: int, step: int) -> Any:
    return input[_at(dim, cut(start, length, step))]


def _key(positions: Any, pattern: Any) -> Any:
    given = iter(positions)
    key = [next(given) if each else Whole for each in pattern]
    while key and key[-1] is Whole:
        key.pop()
    return key[0] if len(key) == 1 else tuple(key)


@worded(index)
def _index(input: Any, *positions: Any, pattern: Any) -> Any:
    return input[_key(positions, pattern)]


@worded(index_put)
def _index_put(input: Any, values: Any, *positions: Any, pattern: Any, accumulate: bool) -> Any:
    place = input.at[_key(positions, pattern)]
    return place.add(values) if accumulate else place.set(values)


@worded(put)
def _put(base: Any, new: Any, *operands: Any, operation: Op, static: Any) -> Any:
    named = dict(zip(operation.static_names, static, strict=True))
    if operation in (select, unbind_one):
        return base.at[_at(named["dim"], operands[0])].set(new)
    if operation in (slice_, split_one, split_with_sizes_one):
        return base.at[_at(named["dim"], cut(operands[0], named["length"], named["step"]))].set(new)
    write: Any = operation.write
    return write(base, new, *operands, **named)


@worded(permute)
def _permute(input: Any, dims: Any) -> Any:
    order = [wrap(dim, input.ndim) for dim in dims]
    return input.T if order == [1, 0] else jnp.transpose(input, order)


@worded(transpose)
def _transpose(input: Any, dim0: int, dim1: int) -> Any:
    whole = input.ndim == 2 and (dim0 - dim1) % 2
    return input.T if whole or not input.ndim else input.swapaxes(dim0, dim1)


@worded(view, reshape_alias, reshaped_copy)
def _view(input: Any, size: Any) -> Any:  # for a batch of any size
    free = -1 not in size and 0 not in input.shape and (size[:1] != (1,) or input.shape[:1] == (1,))
    return jnp.reshape(input, (-1, *size[1:]) if free and size else tuple(size))


@worded(einsum)
def _einsum(operands: Any, equation: str = "") -> Any:
    parts, output = subscripts(equation, len(operands))
    labelled, _ = spelt_out(parts, output, [operand.ndim for operand in operands])
    sizes = {pair for each, own in zip(labelled, operands, strict=True) for pair in zip(each, own.shape, strict=True)}
    summed = output is not None and ELLIPSIS not in output and any(ELLIPSIS in part for part in parts)
    if summed or len(sizes) > len(dict(sizes)) or operands[0].dtype.kind in "biu":
        return einsum.function(operands, equation)  # JAX's equations have no sum over `...`, nor sizes 1 beside others
    return jnp.einsum(equation, *operands)

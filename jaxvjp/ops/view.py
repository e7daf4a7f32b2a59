"""Ops that show part of an array, or the whole of it in another shape. `op` comes before this room.

In torch each of these shares its memory with what it shows. Here a view is a pair: how to read it (the op's function)
and how to write it back (`write`: the base with the shown part replaced). `storage` composes the pairs.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Dims, Index, Shape, axes, wrap
from jaxvjp.ops.op import Op, op


@op(public="", grad_fn="CopySlices")
def put(base, new, *operands, operation: Op, static: Any):
    """`base` with what the view `operation` shows of it replaced by `new`."""
    write: Any = operation.write
    return write(base, new, *operands, **dict(zip(operation.static_names, static, strict=True)))


def _put_selected(base, new, index, *, dim):
    return jax.lax.dynamic_update_index_in_dim(base, new, index, dim)


@op(write=_put_selected, public="")
def select(input, index, *, dim: Index):
    """One index of one dimension, which goes away: what `x[3]` reads."""
    return jax.lax.dynamic_index_in_dim(input, index, dim, keepdims=False)


@op(write=_put_selected, public="", grad_fn="UnbindBackward0")
def unbind_one(input, index, *, dim: Index):
    """What `select` reads, as iteration over a tensor hands it out."""
    return jax.lax.dynamic_index_in_dim(input, index, dim, keepdims=False)


def _put_slice(base, new, start, *, dim, length, step):
    if step == 1:
        return jax.lax.dynamic_update_slice_in_dim(base, new, start, dim)
    return base.at[(slice(None),) * dim + (start + step * jnp.arange(length),)].set(new)


@op(write=_put_slice, public="")
def slice_(input, start, *, dim: Index, length: Index, step: Index):
    """`length` indices of one dimension, from `start` on by `step`: what `x[2:8:3]` reads."""
    if step == 1:
        return jax.lax.dynamic_slice_in_dim(input, start, length, dim)
    return jnp.take(input, start + step * jnp.arange(length), dim)


def _put_reshaped(base, new, **_):
    return new.reshape(base.shape)


@op(write=_put_reshaped, public="")
def alias(input):
    """All of it: what `x[...]` reads."""
    return input


@op(write=_put_reshaped)
def unsqueeze(input, *, dim: Index):
    """A dimension of size 1 more, at `dim`."""
    return jnp.expand_dims(input, wrap(dim, input.ndim + 1))


@op(write=_put_reshaped, grad_fn=lambda static, avals: f"SqueezeBackward{0 if static[0] is None else 1}")
def squeeze(input, *, dim: Dims = None):
    """Without the dimensions of size 1, or without those among `dim` that are."""
    return jnp.squeeze(input, tuple(each for each in axes(dim, input.ndim) if input.shape[each] == 1))


def _put_permuted(base, new, *, dims):
    order = [wrap(each, base.ndim) for each in dims]
    return jnp.transpose(new, [order.index(each) for each in range(base.ndim)])


@op(write=_put_permuted)
def permute(input, *, dims: Shape):
    """The dimensions in another order."""
    if len(dims) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap(each, input.ndim) for each in dims]
    if len(set(order)) < len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return jnp.transpose(input, order)


def _swapped(input, dim0, dim1):
    dim0, dim1 = wrap(dim0, input.ndim), wrap(dim1, input.ndim)
    return jnp.swapaxes(input, dim0, dim1) if input.ndim else input


@op(write=lambda base, new, *, dim0, dim1: _swapped(new, dim0, dim1))
def transpose(input, *, dim0: Index, dim1: Index):
    """Two dimensions exchanged."""
    return _swapped(input, dim0, dim1)


@op(write=lambda base, new: new.T)
def t(input):
    """A matrix turned over; a vector stays as it is."""
    if input.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D\n"
            "`x.transpose(-2, -1)` turns the matrices of a batch over."
        )
    return input.T

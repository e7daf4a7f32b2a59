"""Views that reinterpret memory: as sliding windows, by any strides, as another dtype.

At its end are the copying forms of all views.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxvjp.ops.arguments import Index, Shape, Type, wrap
from jaxvjp.ops.complex import view_as_complex, view_as_real
from jaxvjp.ops.op import op
from jaxvjp.ops.view import (
    OVERLAPPING,
    alias,
    diagonal,
    expand,
    permute,
    squeeze,
    t,
    transpose,
    unsqueeze,
    view,
)
from jaxvjp.types.dtypes import bool_, from_numpy


def _windows(shape, dimension, size, step):
    """The dimension that is cut into windows, and the number of windows."""
    dim = wrap(dimension, len(shape))
    length = shape[dim] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return dim, (length - size) // step + 1


def _window_positions(shape, dimension, size, step):
    dim, count = _windows(shape, dimension, size, step)
    return dim, jnp.arange(count)[:, None] * step + jnp.arange(size)


def _put_windows(base, new, *, dimension, size, step):
    dim, positions = _window_positions(base.shape, dimension, size, step)
    if step < size and len(positions) > 1:
        raise RuntimeError(OVERLAPPING)
    if not base.ndim:
        return new.reshape(()) if new.size else base
    return base.at[(slice(None),) * dim + (positions,)].set(jnp.moveaxis(new, -1, dim + 1))


def _windows_layout(array, *, dimension, size, step):
    dim, count = _windows(array.shape, dimension, size, step)
    if not array.ndim:
        return array[None][:size]
    shape = (*array.shape[:dim], count, *array.shape[dim + 1 :], size)
    strides = (*array.strides[:dim], array.strides[dim] * step, *array.strides[dim + 1 :], array.strides[dim])
    return np.lib.stride_tricks.as_strided(array, shape, strides)


@op(write=_put_windows, layout=_windows_layout, public="method")
def unfold(input, dimension: Index, size: Index, step: Index):
    """Windows of `size` indices of one dimension, `step` apart; the elements of a window are a new last dimension."""
    dim, positions = _window_positions(input.shape, dimension, size, step)
    if not input.ndim:
        return input.reshape(1)[:size]
    return jnp.moveaxis(input[(slice(None),) * dim + (positions,)], dim + 1, -1)


def _memory_positions(storage, size, stride, storage_offset):
    """The positions in a storage of a strided tensor's elements; torch's error if the storage is too small."""
    if len(size) != len(stride):
        raise RuntimeError(
            f"mismatch in length of strides and shape\nThere are {len(size)} sizes and {len(stride)} strides."
        )
    if min(stride, default=0) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    last = storage_offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    if math.prod(size) and last >= storage.size:
        itemsize = storage.dtype.itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {storage_offset}, and itemsize "
            f"{itemsize} requiring a storage size of {(last + 1) * itemsize} are out of bounds for storage of size "
            f"{storage.size * itemsize}"
        )
    positions = jnp.full(size, storage_offset)
    for dim, step in enumerate(stride):
        positions += step * lax.broadcasted_iota(positions.dtype, size, dim)
    return positions


def _put_strided(base, new, *, size, stride, storage_offset):
    if any(length > 1 and step == 0 for length, step in zip(size, stride, strict=True)):
        raise RuntimeError(OVERLAPPING)
    positions = _memory_positions(base, size, stride, storage_offset)
    return base.reshape(-1).at[positions].set(new).reshape(base.shape)


def _strided_layout(array, *, size, stride, storage_offset):
    whole = np.lib.stride_tricks.as_strided(array, (storage_offset + 1,), (1,))
    return np.lib.stride_tricks.as_strided(whole[storage_offset:], size, stride)


@op(write=_put_strided, layout=_strided_layout, public="", grad_fn="AsStridedBackward0")
def strided(input, *, size: Shape, stride: Shape, storage_offset: Index):
    """`as_strided` of a tensor that is a whole storage."""
    return input.reshape(-1)[_memory_positions(input, size, stride, storage_offset)]


def _bits(input, own):
    held = input.astype(jnp.uint8) if input.dtype == bool else input
    bits = lax.bitcast_convert_type(held, jnp.uint8 if own is bool_ else own.numpy)
    return bits.astype(bool) if own is bool_ else bits


@op(
    name="view.dtype",
    write=lambda base, new, *, dtype: _bits(new, from_numpy(base.dtype)),
    layout=lambda array, *, dtype: array,
    public="method",
    differentiable=False,
)
def view_dtype(input, dtype: Type):
    """The bits of the elements as numbers of another type of the same size."""
    own = from_numpy(input.dtype)
    if own.itemsize != dtype.itemsize or own.is_complex or dtype.is_complex:
        raise RuntimeError(
            f"view(): {own} as {dtype} is not supported, for the elements have to be real and of one size"
        )
    return _bits(input, dtype)


WHERE_STRIDES_ALLOW = frozenset([view, view_as_complex])
"""Views that torch can take only of tensors with certain strides."""


def _copy_name(row):
    """torch's name of the backward of a copy: `PermuteBackward0_copy`."""
    return lambda static, avals: row.gradient_name(static, avals) + "_copy"


for _row in (
    alias,
    expand,
    permute,
    t,
    transpose,
    unsqueeze,
    squeeze,
    view,
    diagonal,
    unfold,
    view_as_real,
    view_as_complex,
):
    # For example `torch.permute_copy`: a copy of the view.
    op(name=f"{_row.name}_copy", public="function", grad_fn=_copy_name(_row))(_row.function)

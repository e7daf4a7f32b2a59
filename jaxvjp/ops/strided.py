"""Views that reinterpret memory: as sliding windows, by any strides, as another dtype.

At its end are the copying forms of all views.
"""

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxvjp.ops.arguments import Index, Shape, Type, wrap
from jaxvjp.ops.complex import view_as_complex, view_as_real
from jaxvjp.ops.layouts import Layout
from jaxvjp.ops.op import Aval, op
from jaxvjp.ops.view import (
    OVERLAPPING,
    alias,
    diagonal,
    expand,
    permute,
    reshape_alias,
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


def _windows_layout(layout, *, dimension, size, step):
    dim, count = _windows(layout.shape, dimension, size, step)
    if not layout.shape:
        return layout.with_dim(0, size, 1)
    return layout.part(dim, 0, count, step).with_dim(len(layout.shape), size, layout.strides[dim])


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


def _put_strided(base, new, *, size, stride, storage_offset, order):
    if any(length > 1 and step == 0 for length, step in zip(size, stride, strict=True)):
        raise RuntimeError(OVERLAPPING)
    positions = _memory_positions(base, size, stride, storage_offset)
    memory = base.transpose(order) if order else base
    written = memory.reshape(-1).at[positions].set(new).reshape(memory.shape)
    return written.transpose([order.index(dim) for dim in range(len(order))]) if order else written


def _strided_layout(layout, *, size, stride, storage_offset, order):
    return Layout(size, stride, storage_offset, layout.itemsize)


@op(write=_put_strided, layout=_strided_layout, public="", grad_fn="AsStridedBackward0")
def strided(input, *, size: Shape, stride: Shape, storage_offset: Index, order: Shape = ()):
    """What `as_strided` reads of a tensor that is a whole storage, whose dimensions lie in an `order` in memory."""
    positions = _memory_positions(input, size, stride, storage_offset)
    return (input.transpose(order) if order else input).reshape(-1)[positions]


@op(public="", grad_fn="CloneBackward0", layout=lambda layout, *, strides: Layout(layout.shape, strides))
def laid(input, *, strides: Shape):
    """A copy that torch lays out in memory by these strides."""
    return input


def _bytes(input):
    """The bytes of each row of numbers, in a last dimension."""
    parts = jnp.stack([input.real, input.imag], -1) if jnp.iscomplexobj(input) else input
    plain = parts.astype(jnp.uint8) if input.dtype == bool else parts
    return lax.bitcast_convert_type(plain, jnp.uint8).reshape(*input.shape[:-1], input.shape[-1] * input.dtype.itemsize)


def _of_bytes(flat, own):
    """Numbers of a type, of what `_bytes` gives."""
    if own.is_complex:
        pairs = _of_bytes(flat, from_numpy(np.zeros((), own.numpy).real.dtype))
        pairs = pairs.reshape(*pairs.shape[:-1], pairs.shape[-1] // 2, 2)
        return lax.complex(pairs[..., 0], pairs[..., 1])
    if own.itemsize == 1:
        return flat.astype(bool) if own is bool_ else lax.bitcast_convert_type(flat, own.numpy)
    groups = flat.reshape(*flat.shape[:-1], flat.shape[-1] // own.itemsize, own.itemsize)
    return lax.bitcast_convert_type(groups, own.numpy)


def _bits(input, own, shape):
    return _of_bytes(_bytes(input if input.ndim else input[None]), own).reshape(shape)


def _resized(layout, *, dtype):
    """The layout of the same bytes as elements of a type; RuntimeError, in torch's words, where they are none."""
    ratio = dtype.itemsize // layout.itemsize

    def refuse(what, got):
        old = {1: "Byte", 2: "Half", 4: "Float", 8: "Double"}.get(layout.itemsize, "ComplexDouble")
        raise RuntimeError(f"{what} to view {old} as {dtype.legacy} (different element sizes){got}")

    if dtype.itemsize != layout.itemsize:
        if not layout.shape:
            refuse("self.dim() cannot be 0", "")
        for name, number in (("size(-1)", layout.shape[-1]), ("storage_offset()", layout.offset)):
            if ratio and number % ratio:
                refuse(f"self.{name} must be divisible by {ratio}", f", but got {number}")
        if layout.strides[-1] != 1:
            refuse("self.stride(-1) must be 1", f", but got {layout.strides[-1]}")
        for dim, step in enumerate(layout.strides[:-1]):
            if ratio and step % ratio:
                refuse(f"self.stride({dim}) must be divisible by {ratio}", f", but got {step}")
    return layout.resized(dtype.itemsize)


def _put_bits(base, new, *, dtype):
    return _bits(new, from_numpy(base.dtype), base.shape)


@op(name="view.dtype", write=_put_bits, layout=_resized, public="method", differentiable=False)
def view_dtype(input, dtype: Type):
    """The bytes of the elements as numbers of another type; of another size, in a longer or shorter last dimension."""
    own = from_numpy(input.dtype)
    shape = input.shape
    if own.itemsize != dtype.itemsize:
        shape = _resized(Aval(shape, own).layout, dtype=dtype).shape
    return _bits(input, dtype, shape)


WHERE_STRIDES_ALLOW = frozenset([view, reshape_alias, view_as_complex, view_as_real, view_dtype])
"""The views that torch makes of some layouts only."""


def _copy_name(row):
    """torch's name of the backward of a copy: `PermuteBackward0_copy`."""
    return lambda static, avals: row.gradient_name(static, avals) + "_copy"


WITH_COPIES = (alias, expand, permute, t, transpose, unsqueeze, squeeze, view, diagonal, unfold)
for _row in (*WITH_COPIES, view_as_real, view_as_complex):
    # For example `torch.permute_copy`: a copy of the view.
    op(name=f"{_row.name}_copy", public="function", grad_fn=_copy_name(_row), slopes=_row.slopes)(_row.function)
op(name="view_copy.dtype", public="function", differentiable=False)(view_dtype.function)

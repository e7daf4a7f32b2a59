"""Views: part of an array, or all of it in another shape.

In torch each of these shares its memory with what it shows. Here a view is a pair: how to read it (the op's function)
and how to write it back (`write`: the base with the shown part replaced); `tensor` composes the pairs. `layout` is the
same view of a `Layout`, which tells torch's strides, and where torch can make the view at all.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.ops.arguments import Dims, Index, Shape, axes, wrap
from jaxvjp.ops.layouts import SAME
from jaxvjp.ops.op import Op, op
from jaxvjp.types.dtypes import from_numpy


@op(saves="residuals", public="", grad_fn="CopySlices", keeps=SAME)
def put(base, new, *operands, operation: Op, static: Any):
    """`base` with the part that the view `operation` reads replaced by `new`."""
    write: Any = operation.write
    return write(base, new, *operands, **dict(zip(operation.static_names, static, strict=True)))


placed = op(name="placed", public="", grad_fn="AliasBackward0", keeps=SAME)(put.function)
"""`put` to read what lies beside a tensor in its memory: nothing was written, and it may be differentiated again."""


@op(saves="residuals", public="", grad_fn="CopySlices", keeps=SAME)
def put_at(base, new, elements, positions):
    """`base` with some `elements` of `new` at some `positions`, both flat indices; for writes to part of an expanded
    view."""
    return base.reshape(-1).at[positions].set(new.reshape(-1)[elements]).reshape(base.shape)


@op(saves="residuals", public="", grad_fn="CopySlices", keeps=SAME)
def put_changed(base, new, shown):
    """`base` with those elements of `new` that differ from what is at the positions `shown`: of several the last."""
    if not new.size:
        return base
    old, now = base.reshape(-1)[shown], new.reshape(-1)
    written = (now != old) & ((now == now) | (old == old))
    last = jnp.zeros(base.size, shown.dtype).at[shown].max(jnp.where(written, jnp.arange(1, now.size + 1), 0))
    return jnp.where(last > 0, now[last - 1], base.reshape(-1)).reshape(base.shape)


@op(public="", grad_fn="AliasBackward0", keeps=SAME)
def placed_repeated(base, new, elements, positions, places):
    """`placed` where `new` shows elements of `base` several times, each of which takes an equal part of the gradient.

    `places` says of each element of `new` which of the `positions` it is at; `elements` are the first ones there.
    """
    new = new.reshape(-1)
    first = new[elements]
    beyond = jnp.where(jnp.isfinite(new), new - first[places], 0)  # 0, but with a derivative
    mean = first + jnp.zeros_like(first).at[places].add(beyond) / jnp.zeros_like(first).at[places].add(1)
    return base.reshape(-1).at[positions].set(mean).reshape(base.shape)


def _position(index, array):
    """`index`, in 64 bits if a dimension of the array needs them: XLA has all positions in an array in one type."""
    return index if max(array.shape) < 1 << 31 else jnp.asarray(index, jnp.int64)


def _put_selected(base, new, index, *, dim):
    return jax.lax.dynamic_update_index_in_dim(base, new, _position(index, base), dim, allow_negative_indices=False)


def _one_index(layout, index, *, dim):
    return layout.part(dim, index, 1, 1).without((dim,))


SELECTING: dict[str, Any] = {"write": _put_selected, "layout": _one_index, "public": ""}


@op(**SELECTING)
def select(input, index, *, dim: Index):
    """One index of one dimension, which is removed: `x[3]`."""
    place = _position(index, input)
    return jax.lax.dynamic_index_in_dim(input, place, dim, keepdims=False, allow_negative_indices=False)


unbind_one = op(name="unbind_one", grad_fn="UnbindBackward0", one_of_several=True, **SELECTING)(select.function)
"""As `select`, for `unbind` and iteration over a tensor."""


def _put_slice(base, new, start, *, dim, length, step):
    if step == 1:
        return jax.lax.dynamic_update_slice_in_dim(base, new, _position(start, base), dim, allow_negative_indices=False)
    return base.at[(slice(None),) * dim + (start + step * jnp.arange(length),)].set(new)


def _range(layout, start, *, dim, length, step):
    return layout.part(dim, start, length, step)


SLICING: dict[str, Any] = {"write": _put_slice, "layout": _range, "public": ""}


@op(**SLICING)
def slice_(input, start, *, dim: Index, length: Index, step: Index):
    """`length` indices of one dimension, from `start` on by `step`: `x[2:8:3]`."""
    if step == 1:
        return jax.lax.dynamic_slice_in_dim(input, _position(start, input), length, dim, allow_negative_indices=False)
    return jnp.take(input, start + step * jnp.arange(length), dim)


SLICING["one_of_several"] = True
split_one = op(name="split_one", grad_fn="SplitBackward0", **SLICING)(slice_.function)
"""As `slice`, for `split` and `chunk`."""
split_with_sizes_one = op(name="split_with_sizes_one", grad_fn="SplitWithSizesBackward0", **SLICING)(slice_.function)
"""As `slice`, for `split_with_sizes`."""


def _put_reshaped(base, new, **_):
    return new.reshape(base.shape)


@op(write=_put_reshaped, layout=lambda layout: layout, public="")
def alias(input):
    """The whole tensor: `x[...]`."""
    return input


@op(write=_put_reshaped, layout=lambda layout, *, several: layout, public="")
def function_view(input, *, several):
    """The whole tensor: a last view step, which marks a view that a custom Function returned.

    `several` says whether the Function had other outputs.
    """
    return input


def _one_more(layout, *, dim):
    dim = wrap(dim, len(layout.shape) + 1)
    last = dim == len(layout.shape)
    return layout.with_dim(dim, 1, 1 if last else layout.shape[dim] * layout.strides[dim])


@op(write=_put_reshaped, layout=_one_more)
def unsqueeze(input, dim: Index):
    """The tensor with a new dimension of size 1 at `dim`."""
    return jnp.expand_dims(input, wrap(dim, input.ndim + 1))


def _single(shape, dim):
    if dim == ():
        return ()
    return tuple(each for each in axes(dim, len(shape)) if shape[each] == 1)


def _squeeze_name(static, avals):
    return f"SqueezeBackward{0 if static[0] is None else 2 if isinstance(static[0], tuple) else 1}"


def _squeezed(layout, *, dim):
    return layout.without(_single(layout.shape, dim))


@op(write=_put_reshaped, layout=_squeezed, grad_fn=_squeeze_name)
def squeeze(input, dim: Dims = None):
    """Without the dimensions of size 1, or without those among `dim` that are."""
    return jnp.squeeze(input, _single(input.shape, dim))


def _resolved(shape, numel):
    """`shape` with its -1 worked out; RuntimeError in torch's words where it does not hold `numel` elements."""
    unknown = [position for position, each in enumerate(shape) if each == -1]
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    rest = math.prod(each for each in shape if each != -1)
    if unknown and rest == numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if unknown and rest and numel % rest == 0:
        position = unknown[0]
        return (*shape[:position], numel // rest, *shape[position + 1 :])
    if unknown or rest != numel:
        raise RuntimeError(
            f"shape '{list(shape)}' is invalid for input of size {numel}\n"
            f"The sizes must multiply to {numel}; one of them may be -1 to be worked out."
        )
    return shape


def _viewed(layout, *, size):
    return layout.viewed(_resolved(size, math.prod(layout.shape)))


@op(write=_put_reshaped, layout=_viewed, public="method")
def view(input, size: Shape):
    """The same elements, in order, in another shape; one size may be -1. Never a copy."""
    return jnp.reshape(input, _resolved(size, input.size))


_alias = {"write": _put_reshaped, "layout": _viewed, "public": "", "grad_fn": "ReshapeAliasBackward0"}
reshape_alias = op(name="reshape_alias", **_alias)(view.function)
"""`view`, as torch's `reshape` calls it where the elements do not lie in their order."""
reshaped_copy = op(name="reshaped_copy", public="", grad_fn="UnsafeViewBackward0")(view.function)
"""The same elements in another shape, where torch has to copy."""


OVERLAPPING = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
    "clone() the tensor before performing the operation."
)


def _put_expanded(base, new, *, size):
    raise RuntimeError(OVERLAPPING)


def _expanded(shape, size):
    """`size` with each -1 filled in from `shape`; RuntimeError in torch's words where it does not expand to it."""
    leading, filled = len(size) - len(shape), list(size)
    for place in reversed(range(len(size))):
        existing = shape[place - leading] if place >= leading else 1
        if size[place] == -1 and place >= leading:
            filled[place] = existing
        elif size[place] == -1 and shape:  # of a tensor without dimensions torch looks at no size
            raise RuntimeError(
                f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {place}"
            )
        elif existing not in (1, size[place]):
            raise RuntimeError(
                f"The expanded size of the tensor ({size[place]}) must match the existing size ({existing}) at "
                f"non-singleton dimension {place}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
    if min(filled, default=0) < 0:
        raise RuntimeError("numel: integer multiplication overflow\nA size is negative.")
    return tuple(filled)


@op(
    write=_put_expanded,
    layout=lambda layout, *, size: layout.expanded(_expanded(layout.shape, size)),
    public="method",
    aliases="broadcast_to",
)
def expand(input, size: Shape):
    """Dimensions of size 1 repeated, without a copy; -1 leaves a size as it is."""
    if len(size) < input.ndim:
        raise RuntimeError(
            f"expand(torch.{from_numpy(input.dtype).legacy}Tensor{{{list(input.shape)}}}, size={list(size)}): the "
            f"number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({input.ndim})"
        )
    return jnp.broadcast_to(input, _expanded(input.shape, size))


def _diagonal_indices(shape, offset, dim1, dim2):
    rows, columns = max(-offset, 0), max(offset, 0)
    length = max(0, min(shape[dim1] - rows, shape[dim2] - columns))
    key = [slice(None)] * len(shape)
    key[dim1], key[dim2] = np.arange(length) + rows, np.arange(length) + columns
    return tuple(key)


def put_diagonal(base, new, *, offset, dim1, dim2):
    dim1, dim2 = wrap(dim1, base.ndim), wrap(dim2, base.ndim)
    key = _diagonal_indices(base.shape, offset, dim1, dim2)
    # NumPy puts the dimension of two index arrays first if they are apart, in their place if they are adjacent; torch
    # puts the diagonal last.
    place = min(dim1, dim2) if abs(dim1 - dim2) == 1 else 0
    return base.at[key].set(jnp.moveaxis(new, -1, place))


def _diagonal(array, offset, dim1, dim2):
    first, second = wrap(dim1, array.ndim), wrap(dim2, array.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return array.diagonal(offset, first, second)


def _diagonal_layout(layout, *, offset, dim1, dim2):
    first, second = wrap(dim1, len(layout.shape)), wrap(dim2, len(layout.shape))
    length = max(0, min(layout.shape[first] - max(-offset, 0), layout.shape[second] - max(offset, 0)))
    start = layout.part(first, max(-offset, 0), 1, 1).part(second, max(offset, 0), 1, 1) if length else layout
    rest = start.without((first, second))
    return rest.with_dim(len(rest.shape), length, layout.strides[first] + layout.strides[second])


@op(write=put_diagonal, layout=_diagonal_layout, slopes="")
def diagonal(input, offset: Index = 0, dim1: Index = 0, dim2: Index = 1):
    """The diagonal of two dimensions, as the last dimension."""
    return _diagonal(input, offset, dim1, dim2)


@op(write=put_diagonal, layout=_diagonal_layout, slopes="", grad_fn="DiagonalBackward0")
def linalg_diagonal(A, *, offset: Index = 0, dim1: Index = -2, dim2: Index = -1):  # noqa: N803 - torch's name
    """The diagonal of the last two dimensions, as the last dimension."""
    return _diagonal(A, offset, dim1, dim2)


def _put_permuted(base, new, *, dims):
    order = [wrap(dim, base.ndim) for dim in dims]
    return jnp.transpose(new, [order.index(each) for each in range(base.ndim)])


@op(write=_put_permuted, layout=lambda layout, *, dims: layout.permuted(axes(dims, len(layout.shape))))
def permute(input, dims: Shape):
    """The dimensions in another order."""
    if len(dims) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap(dim, input.ndim) for dim in dims]
    if len(set(order)) < len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return jnp.transpose(input, order)


def _swapped(input, dim0, dim1):
    dim0, dim1 = wrap(dim0, input.ndim), wrap(dim1, input.ndim)
    return input.swapaxes(dim0, dim1) if input.ndim else input


def _swapped_layout(layout, *, dim0, dim1):
    order = list(range(len(layout.shape)))
    if order:
        first, second = wrap(dim0, len(order)), wrap(dim1, len(order))
        order[first], order[second] = second, first
    return layout.permuted(order)


@op(write=lambda base, new, *, dim0, dim1: _swapped(new, dim0, dim1), layout=_swapped_layout, aliases="swapdims")
def transpose(input, dim0: Index, dim1: Index):
    """Two dimensions exchanged."""
    return _swapped(input, dim0, dim1)


@op(write=lambda base, new: new.T, layout=lambda layout: layout.permuted(range(len(layout.shape))[::-1]))
def t(input):
    """The transpose of a matrix; a vector unchanged."""
    if input.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D\n"
            "`x.transpose(-2, -1)` turns the matrices of a batch over."
        )
    return input.T

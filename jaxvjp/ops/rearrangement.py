"""Ops that rearrange the elements of an array: flip, roll, repeat, pad, or replace a part.

Unlike those of views (`view`), their results have a storage of their own.
"""

import jax.numpy as jnp
from jax import lax

from jaxvjp.ops.arguments import Index, Scalar, Shape, axes, wrap
from jaxvjp.ops.layouts import CHANNELS, LIKE
from jaxvjp.ops.op import ARITHMETIC, op
from jaxvjp.ops.view import diagonal, put_diagonal

# Flipped and rolled.


@op(out=False, keeps=LIKE)
def flip(input, dims: Shape):
    """The elements in the opposite order along `dims`."""
    return jnp.flip(input, axes(dims, input.ndim)) if dims else input


def _declare_flip(name: str, axis: int, meaning: str) -> None:
    @op(name=name, grad_fn="FlipBackward0", out=False, keeps=LIKE, doc=meaning)
    def row(input):
        if input.ndim <= axis:
            raise RuntimeError(f"Input must be >= {axis + 1}-d.")
        return jnp.flip(input, axis)


_declare_flip("fliplr", 1, "The columns in the opposite order.")
_declare_flip("flipud", 0, "The rows in the opposite order.")


@op(out=False)
def roll(input, shifts: Shape, dims: Shape | None = ()):
    """The elements moved by `shifts` along `dims`, from the end round to the front; without `dims`, of the flattened
    tensor."""
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return jnp.roll(input.reshape(-1), shifts[0]).reshape(input.shape)
    dims = dims or ()
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return jnp.roll(input, shifts, [wrap(dim, input.ndim) for dim in dims])


@op(out=False)
def rot90(input, k: Index = 1, dims: Shape = (0, 1)):
    """`k` quarter turns in the plane of two dimensions, from the first towards the second."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    first, second = wrap(dims[0], input.ndim), wrap(dims[1], input.ndim)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return jnp.rot90(input, k, (first, second))


# Repeated.


def _refuse_negative(shape, repeats):
    ndim = max(len(shape), len(repeats))
    sizes = [1] * (ndim - len(shape)) + list(shape)
    sizes = [size * times for size, times in zip(sizes, [1] * (ndim - len(repeats)) + list(repeats), strict=True)]
    negative = next(each for each in sizes if each < 0)
    raise RuntimeError(f"Trying to create tensor with negative dimension {negative}: {sizes}")


@op(public="method", out=False)
def repeat(input, repeats: Shape):
    """The whole tensor `repeats` times along each dimension; more repeats than dimensions add dimensions in front."""
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if min(repeats, default=0) < 0:
        _refuse_negative(input.shape, repeats)
    return jnp.tile(input, repeats)


@op(grad_fn="RepeatBackward0", out=False)
def tile(input, dims: Shape):
    """The whole tensor `dims` times along each dimension; missing leading numbers are 1."""
    if min(dims, default=0) < 0:
        _refuse_negative(input.shape, dims)
    return jnp.tile(input, dims)


@op(name="repeat_interleave", grad_fn="ViewBackward0", public="")
def repeat_interleave_evenly(input, repeats: Index, dim: Index | None = None, *, output_size: Index | None = None):
    """Each element `repeats` times in a row along `dim`; without `dim`, of the flattened tensor."""
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    if dim is None:
        return jnp.repeat(input.reshape(-1), repeats)
    return jnp.repeat(jnp.atleast_1d(input), repeats, wrap(dim, input.ndim))


@op(promotion=ARITHMETIC, grad_fn="UnsafeViewBackward0", saves="other for input, input for other")
def kron(input, other):
    """The Kronecker product: each element of `input` in turn times the whole of `other`."""
    if input.dtype == bool:
        return jnp.kron(input.astype("uint8"), other.astype("uint8")).astype(bool)
    return jnp.kron(input, other)


# Triangles and diagonals.


def _below(input, diagonal):
    """Which elements of the last two dimensions are on or below a diagonal."""
    rows, columns = input.shape[-2:]
    return jnp.arange(columns) - jnp.arange(rows)[:, None] <= diagonal


def _declare_triangle(name: str, lower: bool, meaning: str) -> None:
    @op(name=name, inplace=True, doc=meaning)
    def row(input, diagonal: Index = 0):
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        zeros, below = jnp.zeros_like(input), _below(input, diagonal if lower else diagonal - 1)
        return jnp.where(below, input, zeros) if lower else jnp.where(below, zeros, input)


_declare_triangle("tril", True, "The lower triangle of each matrix, up to a diagonal; zeros above it.")
_declare_triangle("triu", False, "The upper triangle of each matrix, from a diagonal on; zeros below it.")


@op(out=False)
def diag_embed(input, offset: Index = 0, dim1: Index = -2, dim2: Index = -1):
    """Matrices of zeros whose diagonals are the vectors of the last dimension."""
    first, second = wrap(dim1, input.ndim + 1), wrap(dim2, input.ndim + 1)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = input.shape[-1] + abs(offset)
    rows = jnp.arange(input.shape[-1]) + max(-offset, 0)
    columns = jnp.arange(input.shape[-1]) + max(offset, 0)
    embedded = jnp.zeros((*input.shape[:-1], size, size), input.dtype).at[..., rows, columns].set(input)
    return jnp.moveaxis(embedded, (-2, -1), (first, second))


def _diag_name(static, avals):
    return "DiagEmbedBackward0" if len(avals[0].shape) == 1 else "DiagonalBackward0_copy"


@op(grad_fn=_diag_name, slopes="")
def diag(input, diagonal: Index = 0):
    """The matrix with a vector on a diagonal; of a matrix the diagonal."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return jnp.diag(input, diagonal)


@op(grad_fn="DiagEmbedBackward0", out=False)
def diagflat(input, offset: Index = 0):
    """The matrix with all elements, in order, on a diagonal."""
    return jnp.diag(input.reshape(-1), offset)


# Part of it replaced.


def _replaced(input, src, shape):
    if tuple(src.shape) != tuple(shape):
        told = f"src size = {list(src.shape)}, slice size = {list(shape)}"
        raise RuntimeError(f"expected src to have a size equal to the slice of self. {told}")
    return src.astype(input.dtype)


@op(out=False, keeps=LIKE)
def select_scatter(input, src, dim: Index, index: Index):
    """`input` with one index of one dimension replaced by `src`."""
    dim = wrap(dim, input.ndim)
    size = input.shape[dim]
    if not -size <= index < size:
        told = f"index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        raise IndexError(f"select(): {told}")
    key = (slice(None),) * dim + (index,)
    return input.at[key].set(_replaced(input, src, input.shape[:dim] + input.shape[dim + 1 :]))


@op(keeps=LIKE)
def slice_scatter(input, src, dim: Index = 0, start: Index | None = None, end: Index | None = None, step: Index = 1):
    """`input` with a slice of one dimension replaced by `src`."""
    if not input.ndim:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap(dim, input.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    bounds = slice(start, end, step)
    length = len(range(*bounds.indices(input.shape[dim])))
    shape = (*input.shape[:dim], length, *input.shape[dim + 1 :])
    return input.at[(slice(None),) * dim + (bounds,)].set(_replaced(input, src, shape))


@op(public="function", grad_fn="SliceBackward0_copy")
def slice_copy(input, dim: Index = 0, start: Index | None = None, end: Index | None = None, step: Index = 1):
    """A copy of `x[start:end:step]` of one dimension."""
    return input[(slice(None),) * wrap(dim, input.ndim) + (slice(start, end, step),)]


@op(out=False, keeps=LIKE)
def diagonal_scatter(input, src, offset: Index = 0, dim1: Index = 0, dim2: Index = 1):
    """`input` with a diagonal of two dimensions replaced by `src`."""
    shape = diagonal.function(input, offset, dim1, dim2).shape
    return put_diagonal(input, _replaced(input, src, shape), offset=offset, dim1=dim1, dim2=dim2)


@op(public="function", out=False, keeps=CHANNELS)
def constant_pad_nd(input, pad: Shape, value: Scalar = 0):
    """`input` padded with a number: `pad` has the widths before and after the last dimension, then of the one before,
    and so on.

    A negative width crops.
    """
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)}while the input has {input.ndim}dimensions."  # torch's own spelling
        )
    widths = [(0, 0, 0)] * (input.ndim - len(pad) // 2)
    widths += [(pad[place], pad[place + 1], 0) for place in range(len(pad) - 2, -1, -2)]
    for dim, (before, after, _) in enumerate(widths):
        if input.shape[dim] + before + after < 0:
            raise RuntimeError(
                "narrow(): length must be non-negative.\n"
                f"The widths {before} and {after} cut off more than the {input.shape[dim]} indices of dimension {dim}."
            )
    return lax.pad(input, value.astype(input.dtype), widths)

"""Gathering: reading an array at positions that tensors give.

Positions are checked before the op is recorded, by the functions in the rows' column `check_values`, so JAX is told
`promise_in_bounds`. Writing at positions is in `scattering`.
"""

import math
from collections.abc import Callable
from typing import Annotated, Any

import jax.numpy as jnp

from jaxvjp.ops.arguments import Flag, Index, Kind, wrap
from jaxvjp.ops.matrices import legacy
from jaxvjp.ops.op import op

Pattern = Annotated[tuple[bool, ...], Kind("tuple of bools", tuple)]
"""For each dimension whether it is indexed by positions; the others are taken whole."""


def integral(index):
    """Whether the dtype of an array may be that of positions."""
    return index.dtype in (jnp.int32, jnp.int64)


def wrapped(position, size):
    """Positions counted from the front."""
    return jnp.where(position < 0, position + size, position)


def key_of(shape, positions, pattern):
    """The key, for `array.at`, of positions in those dimensions that `pattern` names."""
    given = iter(positions)
    key: list[Any] = []
    for size, picked in zip(shape, pattern, strict=False):
        key.append(wrapped(next(given), size) if picked else slice(None))
    return tuple(key)


def grid_of(index, dim):
    """The key for `array.at` that `gather` needs: positions along one dimension, own coordinates in all others."""
    key = list(jnp.indices(index.shape, index.dtype, sparse=True))
    key[dim] = index
    return tuple(key)


def strip_of(index, dim):
    """The key for `array.at` that `index_select` needs: a list of positions along one dimension."""
    return (slice(None),) * dim + (index,)


def taken(array, key):
    return array.at[key].get(mode="promise_in_bounds")


@op(saves="positions", public="")
def index(input, *positions, pattern: Pattern):
    """The elements at `positions`, which broadcast together: what `x[tensor]` reads."""
    return taken(input, key_of(input.shape, positions, pattern))


def refuse_outside(
    values: Any, size: int, error: Callable[[int], Exception], lowest: int = 0, allowed: int | None = None
) -> None:
    """Raises `error(position)` for the first position that is out of range for `size` and is not `allowed`."""
    if not values.size or (values.min() >= lowest and values.max() < size):
        return
    outside = (values < lowest) | (values >= size)
    if allowed is not None:
        outside &= values != allowed
    if outside.any():
        raise error(int(values[outside].flat[0]))


def size_along(shapes, dim):
    """The size of dimension `dim` of the first operand, and that dimension counted from the front."""
    dim = wrap(dim, len(shapes[0]))
    return (shapes[0][dim] if shapes[0] else 1), dim


def checking(error: type[Exception], told: str, negative: bool = False) -> Callable[..., None]:
    """The check of an op's positions along `dim`: `told` has the first that is out of range, the dimension, and its
    size. Below 0 they are in range where `negative` ones count from the end."""

    def check(values, shapes, *, dim, **_):
        size, dim = size_along(shapes, dim)
        least = -size if negative else 0
        refuse_outside(values, size, lambda position: error(told.format(position, dim, size)), least)

    return check


inside_dim = checking(RuntimeError, "index {} is out of bounds for dimension {} with size {}")
"""The check of `gather`, `scatter` and, where there are several dimensions, `index_add`."""
inside_self = checking(IndexError, "index out of range in self\nIt is {0}, of a dimension of size {2}.")
"""The check of `index_reduce`, and of `index_select` along the first of several dimensions."""
_inside_rows = checking(RuntimeError, "INDICES element is out of DATA bounds, id={0} axis_dim={2}")


def inside_data(values, shapes, *, dim, **_):
    """The check of `index_select`."""
    _, last = size_along(shapes, dim)
    if len(shapes[0]) < 2 or not (last == len(shapes[0]) - 1 or 0 in shapes[0]):
        inside_self(values, shapes, dim=dim)
    _inside_rows(values, shapes, dim=dim)


def check_index(name, input, index, dim):
    """Raises torch's errors for the index of `gather` and `scatter`; returns the dimension, counted from the front."""
    dim = wrap(dim, input.ndim)
    if index.size and not integral(index):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if index.size and max(index.ndim, 1) != max(input.ndim, 1):
        other = "input" if name == "gather" else "self"
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {other} tensor")
    return dim


@op(saves="input, index", exact_out=True, check_values=("index", inside_dim))
def gather(input, dim: Index, index, *, sparse_grad: Flag = False):
    """Along `dim` the elements at the positions that `index` gives: `input[i][index[i][j]]` for dimension 1."""
    dim = check_index("gather", input, index, dim)
    if not index.size:
        return jnp.zeros(index.shape, input.dtype)
    for each, (own, size) in enumerate(zip(jnp.atleast_1d(index).shape, jnp.atleast_1d(input).shape, strict=True)):
        if each != dim and own > size:
            raise RuntimeError(
                f"Size does not match at dimension {each} expected index {list(index.shape)} to be no larger than "
                f"self {list(input.shape)} apart from dimension {dim}"
            )
    key = grid_of(jnp.atleast_1d(index), dim)
    return taken(jnp.atleast_1d(input), key).reshape(index.shape)


def _inside_flat(values, shapes, *, dim):
    if dim is None:
        inside_dim(values, [(math.prod(shapes[0]),)], dim=0)


@op(grad_fn="GatherBackward0", saves="input", check_values=("indices", _inside_flat))
def take_along_dim(input, indices, dim: Index | None = None):
    """As `gather`, with shapes that broadcast in all dimensions but `dim`; without `dim`, of the flattened tensor.

    Positions count modulo the size, as in torch: -1 and 5 are both the last of three.
    """
    if not indices.dtype == jnp.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {legacy(indices)}")
    if dim is None:
        return taken(input.reshape(-1), indices.reshape(-1))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    dim = wrap(dim, input.ndim)
    if not input.ndim:
        return input
    return jnp.take_along_axis(input, indices % max(input.shape[dim], 1), dim, mode="promise_in_bounds")


@op(saves="index", exact_out=True, check_values=("index", inside_data))
def index_select(input, dim: Index, index):
    """The given indices of one dimension, in their order."""
    dim = wrap(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not integral(index):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if not input.ndim:
        if index.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        return input
    if index.size and input.shape == (0,):
        raise IndexError("index out of range in self")
    if index.size and not input.shape[dim]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    return taken(input, strip_of(index.reshape(-1), dim))


def inside_all(values, shapes, **_):
    """The check of `take` and `put`: positions in the flattened tensor, negative ones from its end."""
    size = math.prod(shapes[0])
    told = "out of range: tried to access index {} on a tensor of {} elements."
    refuse_outside(values, size, lambda position: IndexError(told.format(position, size)), -size)


@op(saves="input, index", exact_out=True, check_values=("index", inside_all))
def take(input, index):
    """The elements at positions in the flattened tensor, in the shape of `index`."""
    if index.dtype != jnp.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {legacy(index)}")
    if not input.size and index.size:
        raise IndexError("take(): tried to take from an empty tensor")
    return taken(input.reshape(-1), wrapped(index, input.size))


@op(public="", saves="input, positions")
def masked_select(input, positions):
    """The elements at positions in the flattened tensor: those that a mask has picked."""
    return taken(input.reshape(-1), positions)

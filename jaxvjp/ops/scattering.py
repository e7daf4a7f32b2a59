"""Scattering: an array with values written, or added, at positions that tensors give.

If several values go to one position and are not added up, one of them is kept, and has the gradient.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.ops.arguments import Either, Flag, Index, Kept, Scalar, Text, wrap
from jaxvjp.ops.identity import rebind
from jaxvjp.ops.indexing import (
    Pattern,
    check_index,
    checking,
    grid_of,
    inside_all,
    inside_dim,
    inside_self,
    integral,
    key_of,
    strip_of,
    taken,
    wrapped,
)
from jaxvjp.ops.layouts import LIKE
from jaxvjp.ops.matrices import legacy
from jaxvjp.ops.op import CHECKED, by_number, op
from jaxvjp.ops.pointwise import masked_fill
from jaxvjp.types.settings import alert_nondeterministic
from jaxvjp.types.user_code import warn_of_call

IN_BOUNDS = "promise_in_bounds"


def _added(place, values):
    """`values` added at `place`, an `array.at[...]`; bool values, which JAX does not add, are combined by "or"."""
    add = place.max if values.dtype == bool else place.add
    return add(values, mode=IN_BOUNDS)


@op(saves="positions", public="", grad_fn="IndexPutBackward0", keeps=LIKE)
def index_put(input, values, *positions, pattern: Pattern, accumulate: Flag):
    """`input` with `values` written, or added, at `positions`: what `x[tensor] = value` makes."""
    place = input.at[key_of(input.shape, positions, pattern)]
    shape = place.get(mode=IN_BOUNDS).shape
    own = values.shape
    if len(own) > len(shape) or any(a not in (1, b) for a, b in zip(own[::-1], shape[::-1], strict=False)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(own)} cannot be broadcast to indexing result of shape "
            f"{list(shape)}"
        )
    _check_type(input, values)
    values = jnp.broadcast_to(values, shape)
    return _added(place, values) if accumulate else place.set(values, mode=IN_BOUNDS)


@op(name="index_put.masked", saves="mask", public="", keeps=LIKE)
def masked_put(input, values: Either, mask, *, dim: Index):
    """`input` with `values` where `mask`, over its dimensions from `dim` on, is true.

    It is `index_put` at those positions, for values whose shape does not depend on their number.
    """
    after = input.ndim - dim - mask.ndim
    mask = mask.reshape(*mask.shape, *[1] * after)
    if values.size == 1:
        return masked_fill.function(input, mask, values.reshape(()))
    _check_type(input, values)
    shape = values.shape
    if values.ndim > after:  # the dimension of the picked elements, of size 1 here, becomes the dimensions of the mask
        place = values.ndim - after
        shape = (*shape[: place - 1], *[1] * (input.ndim - after - dim), *shape[place:])
    return jnp.where(mask.astype(bool), values.reshape(shape), input)


def _check_type(input, values):
    if input.dtype != values.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {legacy(input)} for the destination and "
            f"{legacy(values)} for the source.\nConvert it first: `values.to(x.dtype)`."
        )


# Along one dimension, with a position for each element.


def _part(name, input, dim, index, src):
    """The dimension, and the part of `src` that `index` covers; torch's errors where they do not fit."""
    dim = check_index(name, input, index, dim)
    if src.dtype != input.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return dim, src
    if max(index.ndim, 1) != max(src.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    for each, size in enumerate(index.shape):
        beyond = each != dim and input.ndim and size > input.shape[each]
        if beyond or (src.ndim and size > src.shape[each]):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from "
                f"dimension {dim} and to be no larger size than src {list(src.shape)}"
            )
    return dim, src[tuple(slice(0, size) for size in index.shape)]


def _scattered(input, dim, index, src, add=False):
    """`input` with `src`, of the shape of `index`, written or added."""
    if not index.size:
        return input
    place, src = jnp.atleast_1d(input).at[grid_of(jnp.atleast_1d(index), dim)], jnp.atleast_1d(src)
    return (_added(place, src) if add else place.set(src, mode=IN_BOUNDS)).reshape(input.shape)


REDUCES = {"add": "sum", "multiply": "prod"}
"""From the words of `scatter(..., reduce=...)` to those of `scatter_reduce`."""


def _scattered_by(input, dim, index, src, reduce):
    if reduce is None:
        return _scattered(input, dim, index, src)
    if reduce not in REDUCES:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _reduced(input, dim, index, src, REDUCES[reduce], True)


SCATTERED = {"inplace": True, "saves": "index", "check_values": ("index", inside_dim), "arities": ()}


@op(**SCATTERED)
def scatter(input, dim: Index, index, src, *, reduce: Text | None = None):
    """`input` with each element of `src` written along `dim` at the position that `index` has in its place.

    With `reduce` "add" or "multiply" it is added to, or multiplied with, what is there.
    """
    dim, src = _part("scatter", input, dim, index, src)
    if reduce is not None:
        warn_of_call(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
            "PyTorch release. Use torch.scatter_reduce instead for more reduction options."
        )
    return _scattered_by(input, dim, index, src, reduce)


@op(name="scatter.value", grad_fn="ScatterBackward1", **SCATTERED)
def scatter_value(input, dim: Index, index, value: Scalar, *, reduce: Text | None = None):
    """`input` with one number written along `dim` at the positions that `index` gives."""
    dim = check_index("scatter", input, index, dim)
    return _scattered_by(input, dim, index, jnp.full(index.shape, value, input.dtype), reduce)


@op(inplace=True, saves="index for src", check_values=("index", inside_dim))
def scatter_add(input, dim: Index, index, src):
    """`input` with each element of `src` added along `dim` at the position that `index` has in its place."""
    dim, src = _part("scatter", input, dim, index, src)
    return _scattered(input, dim, index, src, add=True)


def _extreme(method):
    """The largest (or smallest) of the values for a position; those equal to it share the gradient evenly."""

    def reduced(input, key, src, own, dim):
        constant, added = jax.lax.stop_gradient(input), jax.lax.stop_gradient(src)
        start = constant if own is None else jnp.where(own, constant, _limit(input.dtype, method))
        result = getattr(start.at[key], method)(added, mode=IN_BOUNDS)
        if not jnp.issubdtype(input.dtype, jnp.inexact):
            return result
        there = taken(result, key)
        attains = (constant == result) | (jnp.isnan(constant) & jnp.isnan(result))
        attains = attains if own is None else attains & own
        attained = (added == there) | (jnp.isnan(added) & jnp.isnan(there))
        count = attains.astype(input.dtype).at[key].add(attained.astype(input.dtype), mode=IN_BOUNDS)
        share = jnp.where(attains, input / jnp.maximum(count, 1), 0)
        return share.at[key].add(jnp.where(attained, src / jnp.maximum(taken(count, key), 1), 0), mode=IN_BOUNDS)

    return reduced


def _limit(dtype, method):
    """The smallest number of a dtype (for "max"), or the largest."""
    sign = -1 if method == "max" else 1
    if jnp.issubdtype(dtype, jnp.inexact):
        return sign * jnp.inf
    if jnp.issubdtype(dtype, bool):
        return sign > 0
    return jnp.iinfo(dtype).min if method == "max" else jnp.iinfo(dtype).max


def _sum(input, key, src, own, dim):
    start = input if own is None else jnp.where(own, input, jnp.zeros_like(input))
    return _added(start.at[key], src)


def _mean(input, key, src, own, dim):
    count = jnp.ones(input.shape, jnp.int64) if own is None else own.astype(jnp.int64)
    count = jnp.maximum(count.at[key].add(1, mode=IN_BOUNDS), 1)
    total = _sum(input, key, src, own, dim)
    if jnp.issubdtype(input.dtype, jnp.inexact):
        return total / count.astype(input.dtype)
    return total // count.astype(input.dtype)


def _product(input, key, src, own, dim):
    """The product of the values for a position.

    JAX has no derivative of a scattered product. So the values are sorted by position and multiplied by a scan that
    starts anew at each position; its derivative is right at zeros as well.
    """
    order = jnp.argsort(key[dim], dim, stable=True)
    position, factors = (jnp.take_along_axis(each, order, dim) for each in (key[dim], src))
    inner = [slice(None)] * src.ndim
    inner[dim] = slice(1, None)
    changes = jnp.diff(position, axis=dim) != 0
    edge = jnp.ones_like(changes, shape=(*src.shape[:dim], 1, *src.shape[dim + 1 :]))

    def multiplied(left, right):
        return left[0] | right[0], jnp.where(right[0], right[1], left[1] * right[1])

    starts, ends = jnp.concatenate([edge, changes], dim), jnp.concatenate([changes, edge], dim)
    _, products = jax.lax.associative_scan(multiplied, (starts, factors), axis=dim)
    places = [*key]
    places[dim] = jnp.where(ends, position, input.shape[dim])  # write only each position's last
    factor = jnp.ones_like(input).at[tuple(places)].set(products, mode="drop")
    kept = input if own is None else jnp.where(own, input, jnp.ones_like(input))
    if input.dtype == bool:  # which JAX does not multiply
        return factor & kept
    # The value is multiplied one by one, as torch does, and rounds as torch's; the derivative is that of the scan.
    start, factors = jax.lax.stop_gradient((kept, src))
    return rebind.function(factor * kept, start.at[key].multiply(factors, mode=IN_BOUNDS))


REDUCTIONS = {"sum": _sum, "prod": _product, "mean": _mean, "amax": _extreme("max"), "amin": _extreme("min")}


def _of_products(source):
    return lambda static, avals: f"input, {source}" if "prod" in static else None


def _reduced(input, dim, index, src, reduce, include_self):
    """`input` and the elements of `src` that go to its positions along `dim`, reduced together."""
    if not index.size:
        return input
    shape, input = input.shape, jnp.atleast_1d(input)
    key = grid_of(jnp.atleast_1d(index), dim)
    own = None if include_self else jnp.ones(input.shape, bool).at[key].set(False, mode=IN_BOUNDS)
    return REDUCTIONS[reduce](input, key, jnp.atleast_1d(src), own, dim).reshape(shape)


@op(inplace=True, saves="input, index, src, result", slopes=_of_products("src"), check_values=("index", inside_dim))
def scatter_reduce(input, dim: Index, index, src, reduce: Text, *, include_self: Flag = True):
    """The elements of `src` that go to one position along `dim` reduced, with `input`'s unless `include_self=False`.

    `reduce` is "sum", "prod", "mean", "amax" or "amin".
    """
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    dim, src = _part("scatter", input, dim, index, src)
    return _reduced(input, dim, index, src, reduce, include_self)


# Along one dimension, with a position for each slice.


def _inside_added(values, shapes, **named):
    (inside_dim if len(shapes[0]) > 1 else inside_self)(values, shapes, **named)


@op(inplace=True, saves="index for source, source for source", check_values=("index", _inside_added))
def index_add(input, dim: Index, index, source, *, alpha: Scalar = 1):
    """`input` with slice after slice of `source`, times `alpha`, added along `dim` at the positions in `index`."""
    dim = _slices("index_add_", input, dim, index, source)
    key = strip_of(jnp.atleast_1d(index), dim)
    added = jnp.atleast_1d(alpha.astype(input.dtype) * source)
    return _added(jnp.atleast_1d(input).at[key], added).reshape(input.shape)


_inside_copied = checking(IndexError, "index_copy_(): index {} is out of bounds for dimension {} with size {}")


@op(inplace=True, saves="index, source", check_values=("index", _inside_copied))
def index_copy(input, dim: Index, index, source):
    """`input` with slice after slice of `source` written along `dim` at the positions in `index`."""
    dim = _slices("index_copy_", input, dim, index, source)
    key = strip_of(jnp.atleast_1d(index), dim)
    return jnp.atleast_1d(input).at[key].set(jnp.atleast_1d(source), mode=IN_BOUNDS).reshape(input.shape)


def _slices(name, input, dim, index, source):
    """The dimension, counted from the front; the error of op `name` if the slices do not fit."""
    dim = wrap(dim, input.ndim)
    copies = name == "index_copy_"
    own, other, got = map(legacy, (input, source, index))
    if index.ndim > 1:
        raise IndexError(
            f"{name}(): Index should have dimension 1 or 0 (got {index.ndim})"
            if copies
            else f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {got} and size: "
            f"{list(index.shape)}"
        )
    if not integral(index):
        raise RuntimeError(
            f"{name}(): Expected a long tensor for index, but got {got}"
            if copies
            else f"{name}(): Expected dtype int32/int64 for index but got: {got}"
        )
    if input.dtype != source.dtype:
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype, but got (self) {own} and (source) {other}"
            if copies
            else f"{name}(): self ({own}) and source ({other}) must have the same scalar type"
        )
    rest, slices = list(input.shape), list(source.shape)
    del rest[dim : dim + 1], slices[dim : dim + 1]
    if rest != slices and (source.ndim or input.ndim > 1):
        raise RuntimeError(
            f"{name}(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, rest))} at dimension {dim} and source slice shape: {' '.join(map(str, slices))} at "
            f"dimension {dim if source.ndim else 0}"
            if copies
            else f"source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape "
            f"= {list(input.shape)} source.shape = {list(source.shape)}"
        )
    count = source.shape[dim] if source.ndim else 1
    if index.size != count:
        told = f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim)"
        raise IndexError(f"{told} ({count})") if copies else RuntimeError(f"{told}: ({count}), for dim: {dim}")
    return dim


_either_side = checking(IndexError, "index {} is out of bounds for dimension {} with size {}", negative=True)


@op(
    inplace=True,
    saves="index",
    out=False,
    check_values=("index", _either_side),
    grad_fn=by_number("index_fill", 1, 0),
    numbers=CHECKED,
    keeps=LIKE,
)
def index_fill(input, dim: Index, index: Kept, value: Either):
    """`input` with one number written along `dim` at the positions in `index`."""
    dim = wrap(dim, input.ndim)
    if index.dtype != jnp.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if jnp.iscomplexobj(value) and not jnp.iscomplexobj(input):
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    key = strip_of(wrapped(index.reshape(-1), jnp.atleast_1d(input).shape[dim]), dim)
    return jnp.atleast_1d(input).at[key].set(value.astype(input.dtype), mode=IN_BOUNDS).reshape(input.shape)


REDUCED = {"inplace": True, "saves": "input, index, source, result", "slopes": _of_products("source")}


@op(check_values=("index", inside_self), **REDUCED)
def index_reduce(input, dim: Index, index, source, reduce: Text, *, include_self: Flag = True):
    """Slices of `source` that go to one position along `dim` reduced, with `input`'s unless `include_self=False`.

    `reduce` is "prod", "mean", "amax" or "amin".
    """
    if reduce not in REDUCTIONS or reduce == "sum":
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim = _slices("index_reduce_", input, dim, index, source)
    place = [1] * max(source.ndim, 1)
    place[dim] = index.size
    spread = jnp.broadcast_to(index.reshape(place), jnp.atleast_1d(source).shape)
    return _reduced(input, dim, spread, source, reduce, include_self)


# In the flattened tensor.


def _can_be_put(values, shapes, accumulate):
    if not accumulate:
        alert_nondeterministic("put_")
    inside_all(values, shapes)


@op(name="put.flat", inplace=True, saves="index, source", out=False, check_values=("index", _can_be_put))
def put(input, index, source, accumulate: Flag = False):
    """`input` with the elements of `source` written, or added, at positions in the flattened tensor."""
    if index.dtype != jnp.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {legacy(index)}")
    if input.dtype != source.dtype:
        told = "put_(): self and source expected to have the same dtype, but got"
        raise RuntimeError(f"{told} self.dtype = {legacy(input)} and source.dtype = {legacy(source)}")
    if index.size != source.size:
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    place, source = input.reshape(-1).at[wrapped(index.reshape(-1), input.size)], source.reshape(-1)
    return (_added(place, source) if accumulate else place.set(source, mode=IN_BOUNDS)).reshape(input.shape)


def _enough(values, shapes):
    """The check of `masked_scatter`."""
    picked = np.broadcast_to(values, np.broadcast_shapes(shapes[0], shapes[1])).sum()
    if picked > math.prod(shapes[2]):
        raise RuntimeError(
            "Number of elements of source < number of ones in mask\n"
            f"The mask picks {picked} elements, and the source has {math.prod(shapes[2])}."
        )


@op(inplace=True, saves="mask", out=False, check_values=("mask", _enough))
def masked_scatter(input, mask, source):
    """`input` with the elements of `source`, in order, written where `mask` is true."""
    if input.dtype != source.dtype:
        told = f"{legacy(input)} and {legacy(source)}"
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got{told}")
    if mask.dtype != bool:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {legacy(mask)}")
    input, mask = jnp.broadcast_arrays(input, mask)
    if not source.size:
        return input
    number = jnp.clip(jnp.cumsum(mask.reshape(-1)) - 1, 0, source.size - 1).reshape(mask.shape)
    return jnp.where(mask, taken(source.reshape(-1), number), input)

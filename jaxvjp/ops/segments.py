"""Reductions over segments of a dimension, and histograms of points."""

import math

import jax.numpy as jnp

from jaxvjp.ops.arguments import Flag, Index, Kept, Real, Tensors, Text, wrap
from jaxvjp.ops.op import op
from jaxvjp.ops.pointwise import not_implemented
from jaxvjp.ops.reduction import largest, shared, smallest

NEUTRAL = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}


def _fitting(lengths, shapes, *, reduce, axis, unsafe, initial):
    """RuntimeError if a length is negative, or they do not add up to the dimension."""
    if unsafe:
        return
    if lengths.size and lengths.min() < 0:
        raise RuntimeError("lengths contains negative value!")
    if (lengths.sum(-1) != shapes[0][lengths.ndim - 1]).any():
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
            "!unsafe."
        )


@op(
    public="function",
    aliases="function._segment_reduce",
    saves="data, result",
    check_values=("lengths", _fitting),
    out=False,
)
def segment_reduce(
    data,
    reduce: Text,
    *,
    lengths: Kept = None,
    indices: Kept = None,
    offsets: Kept = None,
    axis: Index = 0,
    unsafe: Flag = False,
    initial: Real | None = None,
):
    """The "sum", "mean", "max", "min" or "prod" of each segment of dimension `axis`.

    Consecutive segments have these `lengths`, or begin and end at `offsets`; either may differ along the dimensions
    before `axis`. Each reduction starts from `initial`; without it, that of an empty segment is NaN or infinite.
    """
    kind = reduce.removeprefix("a") if reduce in ("amax", "amin") else reduce
    if kind not in NEUTRAL:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis = wrap(axis, data.ndim)
    bounds = offsets if lengths is None else lengths
    if bounds.ndim > data.ndim or bounds.ndim != axis + 1 or bounds.shape[:-1] != data.shape[:axis]:
        raise RuntimeError("Expected data.dim() >= lengths_value.dim() to be true, but got false.")
    if not jnp.issubdtype(data.dtype, jnp.floating):
        raise not_implemented("_segment_reduce", data)
    if lengths is None:
        starts, ends = offsets[..., :-1], offsets[..., 1:]
    else:
        ends = jnp.cumsum(lengths, -1)
        starts = ends - lengths
    place = jnp.arange(data.shape[axis])
    inside = (place >= starts[..., None]) & (place < ends[..., None])  # (..., stretches, length)
    inside = inside.reshape(*inside.shape, *[1] * (data.ndim - axis - 1))
    neutral = NEUTRAL[kind]
    stretches = jnp.where(inside, jnp.expand_dims(data, axis), jnp.asarray(neutral, data.dtype))
    along = axis + 1
    start = jnp.asarray(neutral if initial is None else initial, data.dtype)
    if kind == "prod":
        return jnp.prod(stretches, along) * start
    if kind in ("max", "min"):
        if not data.shape[axis]:
            return jnp.full(stretches.shape[:along] + stretches.shape[along + 1 :], start)
        found = shared(stretches, largest if kind == "max" else smallest, (along,))
        return found if initial is None else jnp.where((found < start) == (kind == "max"), start, found)
    total = jnp.sum(stretches, along) + start
    if kind == "sum":
        return total
    count = jnp.sum(inside, along).astype(data.dtype)
    return jnp.where(count > 0, total / jnp.maximum(count, 1), jnp.nan if initial is None else start)


def _first_above(edges, values):
    """How many edges are at or below each value, by the binary search of C++, also if the edges are not sorted."""
    first = jnp.zeros(values.shape, jnp.int64)
    left = jnp.full(values.shape, edges.size, jnp.int64)
    for _ in range(edges.size.bit_length()):
        half = left // 2
        above = values < edges[jnp.minimum(first + half, edges.size - 1)]
        more = left > 0
        first = jnp.where(more & ~above, first + half + 1, first)
        left = jnp.where(more, jnp.where(above, half, left - half - 1), left)
    return first


@op(public="", differentiable=False)
def points_in_cells(input, edges: Tensors, weight=None, *, density: Flag = False):
    """The number of points (*, dimensions), or their total weight, in each cell between the edges of each dimension.

    The last edge belongs to the last cell. With `density` it is divided by the total and by the size of the cell.
    """
    shape = tuple(edge.size - 1 for edge in edges)
    points = input.reshape(-1, len(edges))
    inside = jnp.ones(points.shape[0], bool)
    places = []
    for dim, each in enumerate(edges):
        values = points[:, dim]
        inside &= (values >= each[0]) & (values <= each[-1])
        place = _first_above(each, values) - 1
        places.append(jnp.where(values == each[-1], each.size - 2, place))
    weights = jnp.ones(points.shape[0], input.dtype) if weight is None else weight.reshape(-1)
    counts = jnp.zeros(shape, input.dtype)
    if counts.size:
        counts = counts.at[tuple(places)].add(jnp.where(inside, weights, 0), mode="drop")
    if density:
        counts = counts / jnp.sum(counts)
        for dim, each in enumerate(edges):
            widths = jnp.diff(each)
            counts = counts / widths.reshape(*[-1 if axis == dim else 1 for axis in range(len(edges))])
    return counts

"""Embeddings: vectors looked up in a table by row number. The numbers arrive checked."""

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Flag, Index, Kept, Real, Text
from jaxvjp.ops.op import op
from jaxvjp.ops.reduction import vector_norm


def _rows(weight, numbers, padding_idx, scale_grad_by_freq):
    """The rows of `weight` that `numbers` name; none of the gradient goes to `padding_idx`."""
    rows = weight.at[numbers].get(mode="promise_in_bounds")
    constant = jax.lax.stop_gradient(rows)
    if scale_grad_by_freq:
        times = jnp.zeros(weight.shape[0], weight.dtype).at[numbers].add(1)
        rows = constant + (rows - constant) / times[numbers][..., None]
    return rows if padding_idx is None else jnp.where((numbers == padding_idx)[..., None], constant, rows)


@op(public="", saves="input")
def embedding(input: Kept, weight, padding_idx: Index | None = None, scale_grad_by_freq: Flag = False):
    """The rows of `weight` that `input` names; `padding_idx` gets no gradient."""
    return _rows(weight, input, padding_idx, scale_grad_by_freq)


@op(public="", saves="input, offsets", slopes=lambda static, avals: "" if "max" in static else None, rounds_once=True)
def embedding_bag(
    input: Kept,
    weight,
    offsets: Kept,
    per_sample_weights=None,
    mode: Text = "mean",
    scale_grad_by_freq: Flag = False,
    padding_idx: Index | None = None,
):
    """The sum, mean or maximum of the rows in each bag; bag b has the numbers from `offsets[b]` to the next bag's."""
    bags, count = offsets.shape[0], input.shape[0]
    bag = jnp.searchsorted(offsets, jnp.arange(count), side="right") - 1
    counted = jnp.ones(count, bool) if padding_idx is None else input != padding_idx
    bag = jnp.where(counted, bag, bags)  # a bag past the last one, which is dropped
    rows = _rows(weight, input, padding_idx, scale_grad_by_freq)
    if mode == "max":
        largest = jax.ops.segment_max(jax.lax.stop_gradient(rows), bag, bags)
        attains = rows == largest[jnp.minimum(bag, bags - 1)]
        place = jnp.where(attains, jnp.arange(count)[:, None], count)
        first = jax.ops.segment_min(place, bag, bags)
        some = jax.ops.segment_sum(counted.astype(jnp.int32), bag, bags)[:, None] > 0
        return jnp.where(some, jnp.take_along_axis(rows, jnp.clip(first, 0, max(count - 1, 0)), 0), 0)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    total = jax.ops.segment_sum(rows, bag, bags)
    if mode == "sum":
        return total
    sizes = jax.ops.segment_sum(counted.astype(total.dtype), bag, bags)
    return total / jnp.maximum(sizes, 1)[:, None]


@op(public="", differentiable=False)
def renormalized(weight, numbers: Kept, max_norm: Real, norm_type: Real):
    """`weight` with the rows in `numbers` whose norm exceeds `max_norm` scaled down to it."""
    norm = vector_norm(weight, norm_type, (1,), True)
    named = jnp.zeros(weight.shape[0], bool).at[numbers.reshape(-1)].set(True)
    return jnp.where(named[:, None] & (norm > max_norm), weight * (max_norm / (norm + 1e-7)), weight)


@op(public="", differentiable=False)
def one_hot_rows(input, num_classes: Index):
    """Vectors of `num_classes` zeros with a one at the place that `input` says."""
    return (input[..., None] == jnp.arange(num_classes)).astype(jnp.int64)

"""Gathering and scattering at positions that tensors give. `op` comes before this room.

Positions arrive checked, so JAX need not: `promise_in_bounds`. Negative ones count from the end.
"""

from __future__ import annotations

from typing import Annotated, Any

import jax.numpy as jnp

from jaxvjp.ops.arguments import Flag, Kind
from jaxvjp.ops.op import op

Pattern = Annotated[tuple[bool, ...], Kind("tuple of bools", tuple)]
"""For each dimension whether positions are given for it; the others are taken whole."""


def _key(shape, positions, pattern):
    given = iter(positions)
    key: list[Any] = []
    for size, picked in zip(shape, pattern, strict=False):
        if picked:
            position = next(given)
            key.append(jnp.where(position < 0, position + size, position))
        else:
            key.append(slice(None))
    return tuple(key)


@op(saves="positions", public="")
def index(input, *positions, pattern: Pattern):
    """The elements at `positions`, which broadcast together: what `x[tensor]` reads."""
    return input.at[_key(input.shape, positions, pattern)].get(mode="promise_in_bounds")


@op(saves="positions", public="")
def index_put(input, values, *positions, pattern: Pattern, accumulate: Flag):
    """`input` with `values` written, or added, at `positions`: what `x[tensor] = value` makes."""
    place = input.at[_key(input.shape, positions, pattern)]
    shape = place.get(mode="promise_in_bounds").shape
    own = values.shape
    if len(own) > len(shape) or any(a not in (1, b) for a, b in zip(own[::-1], shape[::-1], strict=False)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(own)} cannot be broadcast to indexing result of shape "
            f"{list(shape)}"
        )
    write = place.add if accumulate else place.set
    return write(jnp.broadcast_to(values, shape), mode="promise_in_bounds")

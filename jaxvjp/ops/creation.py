"""Arrays made from nothing but a shape. `op` comes before this room."""

from __future__ import annotations

import jax.numpy as jnp

from jaxvjp.ops.arguments import Shape
from jaxvjp.ops.op import op


@op(public="")
def full(fill_value, *, size: Shape):
    """One number everywhere, in the number's own dtype."""
    return jnp.broadcast_to(fill_value, size)

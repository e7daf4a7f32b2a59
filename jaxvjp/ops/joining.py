"""Ops that make one array of several. `op` comes before this room."""

from __future__ import annotations

import jax.numpy as jnp

from jaxvjp.ops.arguments import Index
from jaxvjp.ops.op import op


@op(public="")
def stack(*tensors, dim: Index = 0):
    """Arrays of one shape, side by side along a new dimension."""
    return jnp.stack(tensors, dim)

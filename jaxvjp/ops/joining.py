"""Ops that make one array of several. `op` comes before this room."""

from __future__ import annotations

import jax.numpy as jnp

from jaxvjp.ops.arguments import Index, Tensors
from jaxvjp.ops.op import op


@op(public="function")
def stack(tensors: Tensors, dim: Index = 0):
    """Arrays of one shape, side by side along a new dimension."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    return jnp.stack(tensors, dim)

"""Arrays made from nothing but a shape."""

import math

import jax.numpy as jnp

from jaxvjp.ops.arguments import Index, Shape
from jaxvjp.ops.op import op


@op(public="")
def full(fill_value, *, size: Shape):
    """One number everywhere, in the number's own dtype."""
    return jnp.broadcast_to(fill_value, size)


@op(public="")
def one_hot(one, *, batch: Shape, size: Shape, offset: Index):
    """A `batch` of arrays of shape `size`, all zeros but for one 1: array `offset + i` has it at flat position i."""
    return one * jnp.eye(math.prod(batch), math.prod(size), -offset, one.dtype).reshape(*batch, *size)

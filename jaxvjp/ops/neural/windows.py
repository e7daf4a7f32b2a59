"""Windows that slide over the spatial dimensions of an array, for convolutions and pooling.

A layer's dimensions are batch, channels, and then the spatial ones; torch also takes them without the batch.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.ops.arguments import Kind, size

Sizes = Annotated[tuple[int, ...], Kind("tuple of ints", size)]
"""One number for all spatial dimensions, or one for each."""

LARGEST = np.iinfo(np.int32).max
"""A flat position in up to so many entries is counted in 32 bits."""


def each_dim(value: tuple[int, ...], dims: int) -> tuple[int, ...]:
    """`value` with one entry per spatial dimension; one entry stands for all."""
    return value * dims if len(value) == 1 else value


def spatially(dims: int) -> str:
    """How many spatial dimensions, for a docstring."""
    return f"{dims} spatial dimension{'s'[dims == 1 :]}"


def shifted(input, axis: int, offset: int, stride: int, count: int) -> Any:
    """Of each window its entry at `offset`: every `stride`-th one of `count` entries along `axis`."""
    return jax.lax.slice_in_dim(input, offset, offset + (count - 1) * stride + 1, stride, axis)


def widened(input, before: Sequence[int], after: Sequence[int], value: Any) -> Any:
    """`input` with its last dimensions padded by `value`; by a negative amount, cut."""
    lead = input.ndim - len(before)
    edges = [(0, 0, 0)] * lead + [(low, high, 0) for low, high in zip(before, after, strict=True)]
    return jax.lax.pad(input, jnp.asarray(value, input.dtype), edges)

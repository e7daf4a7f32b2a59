"""What torch has that is more than one row of `ops`: creation, indexing, random numbers, views, NumPy on either side.

Each room here publishes its functions (`tensor.published`), so importing this one is what makes them known.
"""

from jaxvjp.library import (
    complex_parts,
    creation,
    crossing,
    frequencies,
    generator,
    histograms,
    indexing,
    linear_algebra,
    low_rank,
    masked,
    memory,
    properties,
    random_tensors,
    selection,
    signal_windows,
    splits,
    strides,
    views,
    windows,
)
from jaxvjp.tensor import bindings, conversion

__all__ = [
    "complex_parts",
    "creation",
    "crossing",
    "frequencies",
    "generator",
    "histograms",
    "indexing",
    "linear_algebra",
    "low_rank",
    "masked",
    "memory",
    "properties",
    "random_tensors",
    "selection",
    "signal_windows",
    "splits",
    "strides",
    "views",
    "windows",
]


def attach_methods() -> None:
    """Gives `Tensor` the methods that follow from the registry and from what is published."""
    for each in (bindings, conversion, indexing, memory, crossing, views):
        each.attach_methods()

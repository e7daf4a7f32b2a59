"""Histograms: how many points are in each cell of a grid, `histogram` and `histogramdd`.

If only the number of cells is given, the smallest and largest values are read, and are the outer edges.
"""

import math
from collections.abc import Sequence
from typing import Any

from jaxvjp.library.factories import refuse_type
from jaxvjp.library.ranges import linspace
from jaxvjp.ops.op import return_type
from jaxvjp.ops.segments import points_in_cells
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import FLOATING

UNDERNEATH = "NumPy on the values, which are read; no gradient"

Histogram = return_type("histogram", ("hist", "bin_edges"))
HistogramDD = return_type("histogramdd", ("hist", "bin_edges"))
C_TYPES = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int"}


@public(out=True)
def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many elements are in each bin, and the edges of the bins, as a named tuple.

    Args:
        bins: how many bins there are, or their edges in ascending order.
        range: the lowest and the highest edge; those of the elements by default.
        weight: what each element counts, by default 1.
        density: whether to divide by the sum and by the widths of the bins.

    NotImplementedError for other than floating types. Counterpart of `torch.histogram`.
    """
    if isinstance(bins, Tensor) and range is not None:
        raise TypeError(
            "histogram() received an invalid combination of arguments - got bins as a tensor of edges, and a range\n"
            "The edges say what the range is; leave it out."
        )
    each = bins if isinstance(bins, Tensor) else [bins]
    weight = None if weight is None else weight.reshape(-1) if weight.shape == input.shape else weight
    found, edges = _counted(input.reshape(-1, 1), [each] if isinstance(each, Tensor) else each, range, weight, density)
    return Histogram(found, edges[0])


histogram.__annotations__["return"] = Histogram


@public("function")
def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many points (*, dimensions) are in each cell, and the edges of each dimension, as a named tuple.

    `bins` is how many there are in each dimension, or their edges; `range` has the lowest and the highest edge of the
    first dimension, of the second, and so on. Counterpart of `torch.histogramdd`.
    """
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    dims = input.shape[-1]
    each = [bins] * dims if isinstance(bins, int) else list(bins)
    if len(each) != dims:
        if each and isinstance(each[0], Tensor):
            raise RuntimeError(
                f"torch.histogramdd: expected {dims} sequences of bin edges for a {dims}-dimensional histogram but got "
                f"{len(each)}"
            )
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    return HistogramDD(*_counted(input, each, range, weight, density))


def _counted(
    input: Tensor, bins: Sequence[Any], range: Sequence[float] | None, weight: Tensor | None, density: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    dims = input.shape[-1]
    if range is not None and len(range) != 2 * dims:
        raise RuntimeError(
            f"torch.histogramdd: for a {dims}-dimensional histogram range should have {2 * dims} elements, but got "
            f"{len(range)}"
        )
    if weight is not None and weight.shape != input.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(input.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({_named(input)}), and weight({_named(weight)})"
        )
    if not dims:
        return input.new_full((), math.nan if density else 0.0), ()
    for dim, each in enumerate(bins):
        _check_bins(input, each, dim)
    refuse_type("histogramdd", input.dtype, input.dtype.category != FLOATING or input.dtype.itemsize < 4)
    edges = tuple(
        each.detach() if isinstance(each, Tensor) else _edges(input[..., dim], each, range, dim)
        for dim, each in enumerate(bins)
    )
    found: Tensor = apply(points_in_cells, (input, edges, weight), (density,))
    return found, edges


def _named(tensor: Tensor) -> str:
    return C_TYPES.get(tensor.dtype.name, tensor.dtype.name)


def _check_bins(input: Tensor, bins: Any, dim: int) -> None:
    if not isinstance(bins, Tensor):
        if bins <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension {dim}")
        return
    if bins.dtype is not input.dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{_named(input)} and bins for dimension {dim} with dtype {_named(bins)}"
        )
    if bins.ndim != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {bins.ndim} dimensions in the bins "
            f"tensor for dimension {dim}"
        )
    if not bins.numel():
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
            f"dimension {dim}"
        )


def _edges(values: Any, bins: int, range: Sequence[float] | None, dim: int) -> Tensor:
    """The edges of `bins` equal bins; if all values are equal, from 0.5 below them to 0.5 above."""
    if range is not None:
        low, high = range[2 * dim : 2 * dim + 2]
    elif values.numel():
        low, high = values.min().item(), values.max().item()
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, bins + 1, dtype=values.dtype, device=values.device)

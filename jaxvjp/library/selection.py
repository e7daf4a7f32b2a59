"""torch's functions that select elements; the shape of most results depends on values.

They find elements (`nonzero`, `masked_select`, `quantile`), distinguish them (`unique`) and repeat them
(`repeat_interleave`). NumPy computes the positions from the values; an op, through which gradients flow, gathers the
elements.
"""

from collections.abc import Sequence
from typing import Any, overload

import jax
import numpy as np

from jaxvjp.core.record.record import node_of_value, record
from jaxvjp.library.factories import refuse_type
from jaxvjp.ops.arguments import wrap as wrap_dim
from jaxvjp.ops.identity import refused
from jaxvjp.ops.indexing import index_select
from jaxvjp.ops.indexing import masked_select as select_positions
from jaxvjp.ops.logic import where
from jaxvjp.ops.op import Aval, Op
from jaxvjp.ops.pointwise import check_broadcast
from jaxvjp.ops.rearrangement import repeat_interleave_evenly
from jaxvjp.ops.sorting import nanquantile, quantile
from jaxvjp.tensor.apply import apply, inspect
from jaxvjp.tensor.bindings import function_of
from jaxvjp.tensor.out_argument import written_into
from jaxvjp.tensor.published import public
from jaxvjp.tensor.refusals import unreadable
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.devices import put
from jaxvjp.types.dtypes import bool_, dtype, int32, int64

UNDERNEATH = "positions from the values, which NumPy reads; an op picks at them, and `jax.vjp` of it"

Array = np.ndarray[Any, Any]


def _beside(input: Tensor, array: Array, own: dtype = int64) -> Tensor:
    """A leaf with the numbers of `array` on the device of `input`."""
    place = input.__node__.aval.shaped(array.shape).device
    with jax.enable_x64(True):
        value = put(np.ascontiguousarray(array, own.numpy), place)
        return wrap(node_of_value(value, Aval(array.shape, own, place=place)))


def _values(input: Tensor, name: str = "") -> Array:
    """The numbers; RuntimeError, in torch's words, where the shape of what `name` gives would differ by example."""
    unreadable(
        input.__node__,
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"aten::{name}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature.",
    )
    return np.asarray(input.__value__)


@public()
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """Where the elements are that are not zero: a row of indices each, or a tensor per dimension. As in torch."""
    if out is not None:
        if as_tuple:
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        if out.dtype is not int64:
            raise RuntimeError(
                f"nonzero: Expected out tensor to have scalar type Long but got scalar type{out.dtype.legacy}"
            )
        return written_into("nonzero", lambda: nonzero(input), out, [input], exact=True)
    values = _values(input, "nonzero_numpy" if as_tuple else "nonzero")
    if as_tuple:
        return tuple(_beside(input, each) for each in np.nonzero(np.atleast_1d(values)))
    return _beside(input, np.argwhere(values))


@overload
def where_function(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where_function(
    condition: Tensor, input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None
) -> Tensor: ...
@public("function", "where")
def where_function(*arguments: Any, **named: Any) -> Any:
    """`input` where `condition` is true and `other` elsewhere; of a condition alone, where it is not zero."""
    if len(arguments) + len(named) == 1:
        (condition,) = *arguments, *named.values()
        _values(condition, "where")
        return nonzero(condition, as_tuple=True)
    return _where(*arguments, **named)


_where = function_of([where], "where")


@public()
def argwhere(input: Tensor) -> Tensor:
    """Where the elements are that are not zero, a row of indices each. Counterpart of `torch.argwhere`."""
    return _beside(input, np.argwhere(_values(input, "argwhere")))


@public(out=True)
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """`size` rows of `nonzero`, too few being filled up with `fill_value`. Counterpart of `torch.nonzero_static`."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer\nIt was {size}.")
    rows = np.full((size, input.ndim), fill_value)
    found = np.argwhere(_values(input))[:size]
    rows[: len(found)] = found
    return _beside(input, rows)


@public(out=True)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` is true, in one dimension. Counterpart of `torch.masked_select`."""
    if mask.dtype is not bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    check_broadcast(mask.shape, input.shape)
    shape = np.broadcast_shapes(input.shape, mask.shape)
    unreadable(
        mask.__node__,
        "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for "
        "each batch this would return a differently shaped Tensor. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature.",
    )
    positions = np.flatnonzero(np.broadcast_to(_values(mask), shape))
    return apply(select_positions, (input.expand(shape), _beside(input, positions)))


@overload
def repeat_interleave_method(
    input: Tensor, repeats: Tensor | int, dim: int | None = None, *, output_size: int | None = None
) -> Tensor: ...
@overload
def repeat_interleave_method(repeats: Tensor, *, output_size: int | None = None) -> Tensor: ...
@public("method function", "repeat_interleave")  # type: ignore[misc]  # it takes `repeats` alone by place, too
def repeat_interleave_method(
    input: Tensor | None = None,
    repeats: Tensor | int | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Each element `repeats` times, next to one another along `dim`; flat without it. As `torch.repeat_interleave`.

    `repeats` may be a tensor with a number for each; without it, `input` is that, and positions are repeated.
    """
    if input is None or repeats is None:
        given: Any = repeats if input is None else input
        counts = _counts(given)
        return _beside(given, np.repeat(np.arange(len(counts)), counts), given.dtype)
    if not isinstance(repeats, Tensor):
        return apply(repeat_interleave_evenly, (input,), (repeats, dim, output_size))
    source = input.flatten() if dim is None else input
    along = wrap_dim(dim or 0, source.ndim)
    counts, size = _counts(repeats), source.shape[along] if source.ndim else 1
    if len(counts) not in (1, size):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {len(counts)} and "
            f"input.size({along}) = {size}"
        )
    positions = np.repeat(np.arange(size), counts if len(counts) == size else counts[0])
    return apply(index_select, (source, _beside(input, positions)), (along,))


def _counts(repeats: Tensor) -> Array:
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats.dtype not in (int32, int64):
        raise RuntimeError("repeats has to be Long or Int tensor")
    counts = np.atleast_1d(_values(repeats))
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    return counts


@public()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements in order, or the different slices along `dim`. Counterpart of `torch.unique`.

    With `return_inverse` also which of them each element is, and with `return_counts` how often each occurs. No
    gradient flows through it.
    """
    refuse_type("unique" if dim is None else "unique_dim", input.dtype, input.dtype.is_complex)
    name = "_unique2"
    if dim is not None:
        dim, name = _sliced(input, dim), "unique_dim"
    values = _values(input, name)
    found, inverse, counts = np.unique(values, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    inverse = inverse.reshape(values.shape) if dim is None else inverse
    return _told(name, input, found, (inverse, return_inverse), (counts, return_counts))


def _sliced(input: Tensor, dim: int) -> int:
    """The dimension whose slices are told apart, counted from the front; IndexError or RuntimeError without slices."""
    if not isinstance(dim, int):
        raise TypeError(f"unique_dim(): argument 'dim' (position 2) must be int, not {type(dim).__name__}")
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, input.ndim)
    if 0 in input.shape[:dim] + input.shape[dim + 1 :]:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return dim


def _told(name: str, input: Tensor, found: Array, *further: tuple[Array, bool]) -> Any:
    """The values and, of what further there is, what is asked for."""
    values = _beside(input, found, input.dtype)
    if input.requires_grad:
        error = NotImplementedError, f"the derivative for '{name}' is not implemented."
        values = wrap(record(refused, (input.__node__, values.__node__), (error,)))
    asked = [_beside(input, each) for each, wanted in further if wanted]
    return (values, *asked) if asked else values


@public()
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices along `dim`, without those equal to the one before. As `torch.unique_consecutive`."""
    refuse_type("unique" if dim is None else "unique_dim", input.dtype, input.dtype.is_complex)
    dim = None if dim is None else _sliced(input, dim)
    name = "unique_consecutive" if dim is None else "unique_dim_consecutive"
    values = _values(input, name)
    rows = values.reshape(-1) if dim is None else np.moveaxis(values, dim, 0)
    starts = np.ones(len(rows), bool)
    starts[1:] = (rows[1:] != rows[:-1]).any(tuple(range(1, rows.ndim)))
    number = np.cumsum(starts) - 1
    counts = np.diff(np.append(np.flatnonzero(starts), len(rows)))
    found = rows[starts] if dim is None else np.moveaxis(rows[starts], 0, dim)
    inverse = number.reshape(values.shape) if dim is None else number
    return _told(name, input, found, (inverse, return_inverse), (counts, return_counts))


@public("function")
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The indices in each dimension of positions in a flattened tensor. Counterpart of `torch.unravel_index`."""
    if indices.dtype.differentiable or indices.dtype is bool_:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, int | Sequence):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for each in sizes:
        if not isinstance(each, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(each)}")
    if min(sizes, default=0) < 0:
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    values = _values(indices).astype(np.int64)
    results = []
    for size in reversed(sizes):
        values, rest = np.divmod(values, size)
        results.append(_beside(indices, rest))
    return tuple(reversed(results))


def _quantile(name: str, row: Op) -> None:
    def check(ranks: Any) -> None:
        if not ((ranks >= 0) & (ranks <= 1)).all():
            raise RuntimeError("quantile() q values must be in the range [0, 1]")

    def function(
        input: Tensor,
        q: Tensor | float,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor:
        if isinstance(q, Tensor):
            inspect(q.__node__, check)
            if interpolation != "linear":
                q = q.detach()  # a step function of q: torch gives it no gradient, not one of zeros
        elif not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        return apply(row, (input, q), (dim, keepdim, interpolation))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{row.function.__doc__} Counterpart of `torch.{name}`."
    public(out=True)(function)


_quantile("quantile", quantile)
_quantile("nanquantile", nanquantile)

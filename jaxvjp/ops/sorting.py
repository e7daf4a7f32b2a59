"""Sorting, selection by rank (median, quantile, top k), and searching.

All of them first find positions, through which no gradient flows, and then gather: so an element's gradient goes to
where it came from, as in torch. NaN counts as the largest number.
"""

import jax.numpy as jnp
from jax import lax

from jaxvjp.ops.arguments import Either, Flag, Index, Kept, Text, wrap
from jaxvjp.ops.layouts import LIKE
from jaxvjp.ops.matrices import legacy
from jaxvjp.ops.op import Op, op
from jaxvjp.ops.pointwise import supported


def _order(input, dim, descending=False):
    """The positions along `dim` that sort the elements; stable."""

    def plain(constant):
        if not descending:
            return jnp.argsort(constant, dim, stable=True).astype("int64")
        # Descending: sort the reversed array, so that equal elements keep their order and NaN comes first.
        turned = jnp.argsort(jnp.flip(constant, dim), dim, stable=True).astype("int64")
        return jnp.flip(input.shape[dim] - 1 - turned, dim)

    def packed(constant):
        key = _ranks(constant).astype("int64")
        place = lax.broadcasted_iota("int64", input.shape, dim)
        return lax.sort((~key if descending else key) << 32 | place, dim, is_stable=False) & 0xFFFF_FFFF

    if input.dtype.itemsize > 4:
        return plain(lax.stop_gradient(input))
    # On a CPU integers are sorted in a sixth of the time: pack an element's rank (high bits) and position (low bits).
    return lax.platform_dependent(lax.stop_gradient(input), cpu=packed, default=plain)


def _ranks(constant):
    """Integers of 32 bits in the same order as the elements, of at most 32 bits: NaN is largest, 0.0 equals -0.0."""
    if not jnp.issubdtype(constant.dtype, jnp.floating):
        return constant.astype("int32")
    wide = constant.astype("float32")
    wide = jnp.where(jnp.isnan(wide), jnp.float32(jnp.nan), jnp.where(wide == 0, 0, wide))
    bits = lax.bitcast_convert_type(wide, "int32")
    return bits ^ (bits >> 31 & 0x7FFF_FFFF)  # the bits of negative floats are in descending order


def _first(input, k, dim, largest):
    """The positions of the `k` largest or smallest elements along `dim`, in order."""

    def plain(input):
        return lax.slice_in_dim(_order(input, dim, descending=largest), 0, k, axis=dim)

    def selected(input):
        ranks = jnp.moveaxis(_ranks(lax.stop_gradient(input)), dim, -1)
        ranks = ranks if largest else ~ranks
        # XLA selects among floats only: take the floats in the order of these ranks.
        floats = lax.bitcast_convert_type(ranks ^ (ranks >> 31 & 0x7FFF_FFFF), "float32")
        return jnp.moveaxis(lax.top_k(floats, k)[1], -1, dim).astype("int64")

    if input.dtype.itemsize > 4 or not jnp.issubdtype(input.dtype, jnp.floating) or k > input.shape[dim] // 8:
        return plain(input)
    return lax.platform_dependent(input, cpu=selected, default=plain)


def _at(input, positions, dim):
    return jnp.take_along_axis(input, positions, dim, mode="promise_in_bounds")


def _sorted(input, dim, descending=False):
    """The elements along `dim` in order, and their positions."""
    if not input.ndim:
        return input, jnp.zeros((), jnp.int64)
    positions = _order(input, dim, descending)
    return _at(input, positions, dim), positions


@op(
    returns=("values", "indices"),
    saves="result",
    arities=(),
    keeps=LIKE,
    grad_fn=lambda static, avals: f"SortBackward{int(static[2] is not False)}",
)
def sort(input, dim: Index = -1, descending: Flag = False, *, stable: Flag | None = False):
    """The elements along `dim` in order, and where they were; equal ones keep their order."""
    dim = wrap(dim, input.ndim)
    if jnp.iscomplexobj(input):
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    return _sorted(input, dim, descending)


@op(arities=(), keeps=LIKE)
def argsort(input, dim: Index = -1, descending: Flag = False, *, stable: Flag = False):
    """The positions along `dim` that sort the elements."""
    return sort.function(input, dim, descending)[1]


@op(grad_fn="SortBackward0", saves="residuals", keeps=LIKE)
def msort(input):
    """The elements of the first dimension in order."""
    return sort.function(input, 0)[0]


@op(returns=("values", "indices"), saves="result")
def topk(input, k: Index, dim: Index = -1, largest: Flag = True, sorted: Flag = True):
    """The `k` largest (or smallest) elements along `dim` in order, and where they were."""
    dim = wrap(dim, input.ndim)
    if not 0 <= k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if input.dtype == bool or jnp.iscomplexobj(input):
        kind = " topk does not support complex" if jnp.iscomplexobj(input) else "topk does not support bool"
        raise RuntimeError(f"{kind} dtypes on CPU")
    if not input.ndim:
        return input, jnp.zeros((), jnp.int64)
    positions = _first(input, k, dim, largest)
    return _at(input, positions, dim), positions


def _kept(results, dim, keepdim):
    """Results that have one index along `dim`: without that dimension, or with it."""
    if keepdim or not results[0].ndim:
        return results
    return tuple(jnp.squeeze(result, dim) for result in results)


def _ranked(input, rank, dim, keepdim):
    """The element of the given rank along `dim`, and its position; `rank` is an array if it varies."""
    if not input.ndim:
        return input, jnp.zeros((), jnp.int64)
    order = _order(input, dim)
    rank = jnp.broadcast_to(rank, (*input.shape[:dim], 1, *input.shape[dim + 1 :]))
    position = _at(order, rank, dim)
    return _kept((_at(input, position, dim), position), dim, keepdim)


@op(returns=("values", "indices"), saves="result", exact_out=True)
def kthvalue(input, k: Index, dim: Index = -1, keepdim: Flag = False):
    """The `k`th smallest element along `dim`, and where it was."""
    dim = wrap(dim, input.ndim)
    _nonempty("kthvalue", input, dim)
    if not 1 <= k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(dim))
    supported("kthvalue", input, "bool complex")
    return _ranked(input, k - 1, dim, keepdim)


def _nonempty(name, input, dim):
    if input.ndim and not input.shape[dim]:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


def _share(input, value):
    """An element of the tensor; all elements equal to it share its gradient evenly, as in torch for all dimensions."""
    if not jnp.issubdtype(input.dtype, jnp.inexact):
        return value
    constant, value = lax.stop_gradient(input), lax.stop_gradient(value)
    attaining = (constant == value) | (jnp.isnan(constant) & jnp.isnan(value))
    count = jnp.sum(attaining).astype(input.dtype)
    return jnp.sum(jnp.where(attaining, input / count, 0))


def _middle(input, dim, ignore_nan):
    """The rank of the median along `dim`: the lower of two; that of a NaN, if there is one and it is not ignored."""
    undefined = jnp.sum(jnp.isnan(input), dim, keepdims=True) if jnp.issubdtype(input.dtype, jnp.inexact) else 0
    size = input.shape[dim]
    if ignore_nan:
        return jnp.maximum(size - undefined - 1, 0) // 2
    # The first NaN, which torch returns, comes right after the numbers.
    return jnp.where(undefined > 0, size - undefined, (size - 1) // 2)


def _median(input, ignore_nan):
    if not input.size:
        if input.dtype == bool:
            return jnp.array(True)  # as torch has NaN as a truth value
        inexact = jnp.issubdtype(input.dtype, jnp.inexact)
        return jnp.sum(input) + jnp.array(jnp.nan if inexact else jnp.iinfo(input.dtype).min, input.dtype)
    supported("median", input, "bool complex")
    flat = input.reshape(-1)
    return _share(flat, _ranked(flat, _middle(flat, 0, ignore_nan), 0, False)[0])


def _median_along(name, input, dim, keepdim, ignore_nan):
    dim = wrap(dim, input.ndim)
    _nonempty(name, input, dim)
    supported("median", input, "bool complex", "_out")
    rank = _middle(lax.stop_gradient(input), dim, ignore_nan) if input.ndim else 0
    return _ranked(input, rank, dim, keepdim)


def _medians(name, ignore_nan, told):
    """The two rows of a median: of all elements, and along one dimension."""

    whole = f"The median, the lower one of two; equal elements share the gradient. {told}"
    parts = f"The medians along `dim`, the lower ones of two, and where they were. {told}"
    columns = {"returns": ("values", "indices"), "grad_fn": f"{name.capitalize()}Backward1", "doc": parts}

    @op(name=name, saves="input, result", doc=whole)
    def of_all(input):
        return _median(input, ignore_nan)

    @op(name=f"{name}.dim", saves="result", **columns)
    def along(input, dim: Index, keepdim: Flag = False):
        return _median_along(name, input, dim, keepdim, ignore_nan)


_medians("median", False, "NaN where there is one.")
_medians("nanmedian", True, "NaN is left out.")


@op(returns=("values", "indices"), saves="result", arities=())
def mode(input, dim: Index = -1, keepdim: Flag = False):
    """The most frequent element along `dim`, the smallest of several, and where its last is."""
    dim = wrap(dim, input.ndim)
    _nonempty("mode", input, dim)
    supported("mode", input, "complex")
    if not input.ndim:
        return input, jnp.zeros((), jnp.int64)
    values, order = _sorted(lax.stop_gradient(input), dim)
    values, order = jnp.moveaxis(values, dim, -1), jnp.moveaxis(order, dim, -1)
    size = values.shape[-1]
    first = jnp.vectorize(lambda row: jnp.searchsorted(row, row, side="left"), signature="(n)->(n)")(values)
    # How many equal elements are before each; NaN equals nothing.
    run = jnp.where(values == values, jnp.arange(size) - first, 0)
    ends = jnp.argmax(run, -1, keepdims=True)
    position = jnp.moveaxis(jnp.take_along_axis(order, ends, -1), -1, dim)
    return _kept((_at(input, position, dim), position), dim, keepdim)


INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(name, input, q, dim, keepdim, interpolation, ignore_nan):
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not input.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if input.dtype not in (jnp.float32, jnp.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if q.dtype != input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    ndim = input.ndim
    if dim is None:
        dim, input = 0, input.reshape(-1)
        shape = (1,) * ndim if keepdim else ()
    else:
        dim = wrap(dim, ndim)
        input = jnp.atleast_1d(input)
        left = (1,) if keepdim and ndim else ()
        shape = (*input.shape[:dim], *left, *input.shape[dim + 1 :])
    values = jnp.moveaxis(_sorted(input, dim)[0], dim, -1)
    undefined = jnp.isnan(lax.stop_gradient(values)).sum(-1, keepdims=True)
    size = values.shape[-1]
    if ignore_nan:
        rank = q.reshape(-1) * jnp.maximum(size - undefined - 1, 0).astype(q.dtype)
    else:
        # If there is a NaN, which is last, every quantile is NaN.
        rank = jnp.where(undefined > 0, size - 1, q.reshape(-1) * (size - 1))
    answers = _between(values, rank.astype(q.dtype), interpolation)
    return jnp.moveaxis(answers, -1, 0).reshape((*q.shape, *shape))


def _between(values, rank, interpolation):
    """The elements at fractional ranks of the last dimension."""
    rounding = {"lower": jnp.floor, "higher": jnp.ceil, "nearest": jnp.round}.get(interpolation)
    below = (rounding or jnp.floor)(lax.stop_gradient(rank)).astype(jnp.int64)
    lower = _at(values, below, -1)
    if rounding is not None:
        return lower
    above = jnp.ceil(lax.stop_gradient(rank)).astype(jnp.int64)
    weight = jnp.full_like(rank, 0.5) if interpolation == "midpoint" else rank - below.astype(rank.dtype)
    upper = _at(values, above, -1)
    # From the nearer one, as torch's `lerp`: it matters if the other is infinite.
    return jnp.where(weight < 0.5, lower + weight * (upper - lower), upper - (1 - weight) * (upper - lower))


def _quantiles(name: str, ignore_nan: bool, meaning: str) -> Op:
    @op(name=name, grad_fn="SqueezeBackward4", saves="input", public="", doc=meaning)
    def row(input, q: Either, dim: Index | None = None, keepdim: Flag = False, *, interpolation: Text = "linear"):
        return _quantile(name, input, q, dim, keepdim, interpolation, ignore_nan)

    return row


OF_ALL = "from 0 (the least element) to 1 (the largest), along `dim` or of all elements"
quantile = _quantiles("quantile", False, f"The quantiles `q`, {OF_ALL}.")
nanquantile = _quantiles("nanquantile", True, f"The quantiles `q`, {OF_ALL} that are not NaN.")


# Searching.


def _places(sorted_sequence, input, right, out_int32):
    side = "right" if right else "left"
    found = jnp.vectorize(
        lambda sequence, values: jnp.searchsorted(sequence, values, side=side), signature="(n),(m)->(m)"
    )(sorted_sequence, jnp.atleast_1d(input))
    if jnp.issubdtype(input.dtype, jnp.inexact):
        found = jnp.where(jnp.isnan(jnp.atleast_1d(input)), sorted_sequence.shape[-1], found)  # after all, even NaN
    return found.reshape(input.shape).astype(jnp.int32 if out_int32 else jnp.int64)


def _inside_sequence(sorter, shapes, **_):
    """RuntimeError if a position in the sorter is outside of the sequence."""
    if sorter.size and not 0 <= sorter.min() <= sorter.max() < shapes[0][-1]:
        raise RuntimeError("torch.searchsorted(): sorter index out of range")


@op(public="function", differentiable=False, arities=(), check_values=("sorter", _inside_sequence))
def searchsorted(
    sorted_sequence,
    input: Either,
    *,
    out_int32: Flag = False,
    right: Flag = False,
    side: Text | None = None,
    sorter: Kept = None,
):
    """Where each element would be inserted in a sorted sequence: before equal ones, or after them (`right`)."""
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            f"torch.searchsorted(): side and right can't be set to opposites, got side of {side} while right was True"
        )
    if not sorted_sequence.ndim:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if sorted_sequence.ndim > 1 and sorted_sequence.shape[:-1] != input.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and "
            f"input value tensor {list(input.shape)}"
        )
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(sorted_sequence.shape)}and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.dtype != jnp.int64:
            told = "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype"
            raise RuntimeError(f"{told} {legacy(sorter)}")
        sorted_sequence = jnp.take_along_axis(sorted_sequence, sorter, -1)
    return _places(sorted_sequence, input, right or side == "right", out_int32)


@op(public="function", differentiable=False, arities=())
def bucketize(input: Either, boundaries, *, out_int32: Flag = False, right: Flag = False):
    """The bucket between boundaries of each element; one equal to a boundary is below it, or above (`right`)."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return _places(boundaries, input, right, out_int32)


@op(public="function", differentiable=False, arities=())
def isin(elements: Either, test_elements: Either, *, assume_unique: Flag = False, invert: Flag = False):
    """Whether each element is one of `test_elements`."""
    return jnp.isin(elements, test_elements, invert=invert)

"""torch's `masked`: reductions and normalisations of the elements that a mask keeps.

Each is the ordinary function of a tensor in which masked-out elements are replaced by the neutral element: 0 for a sum,
1 for a product, infinity for a minimum. `mask` is a tensor of truth values that broadcasts to the input's shape, and
True means kept; None keeps everything. If nothing is kept, the result is the neutral element, or NaN if there is none,
as for a mean.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial, wraps
from math import inf, nan
from typing import Any

from jaxvjp.library.properties import iinfo
from jaxvjp.ops.arguments import wrap
from jaxvjp.ops.reduction import linalg_vector_norm
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import BOOL, FLOATING, INTEGRAL, Dtype, float32, int64

UNDERNEATH = "`jnp.where` by the mask, then the op without a mask, and `jax.vjp` of both"

Dims = int | Sequence[int] | None
Reduce = Callable[[Tensor, Any, bool, Dtype | None], Tensor]
Along = Callable[[Tensor, int, Dtype], Tensor]


_limits: Any = iinfo


def _end(own: Dtype, sign: int) -> float | None:
    """The largest number of a dtype or, for a `sign` of -1, the least."""
    if own.category == FLOATING:
        return sign * inf
    return None if own.category == BOOL else _limits(own).max if sign > 0 else _limits(own).min


NEUTRAL: dict[str, Callable[[Dtype], float | None]] = {
    **dict.fromkeys(["sum", "norm"], lambda _: 0),
    "prod": lambda _: 1,
    **dict.fromkeys(["amax", "argmax", "logaddexp"], partial(_end, sign=-1)),
    "logsumexp": lambda own: -inf if own.is_complex else _end(own, -1),
    **dict.fromkeys(["amin", "argmin"], partial(_end, sign=1)),
    "median": lambda _: nan,
}
"""For each function its neutral element for a dtype; None if it has none."""


def _kept(input: Tensor, mask: Tensor) -> Tensor:
    """The mask in the shape of the input."""
    if mask.ndim > input.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)\n"
            f"The mask has shape {list(mask.shape)}, the input {list(input.shape)}."
        )
    return mask.broadcast_to(input.shape).bool()


def _filled(input: Tensor, mask: Tensor | None, name: str, order: float = 2.0) -> Tensor:
    """The input with a function's neutral element where the mask is False."""
    if mask is None:
        return input
    kept = _kept(input, mask)
    number = NEUTRAL[name](input.dtype)
    if name == "norm" and order == -inf:
        if input.dtype.category != FLOATING:
            raise AssertionError(f"input must be floating point, got {input.dtype}")
        number = inf
    if number is None:
        raise NotImplementedError(
            f"identity of {name} on {input.dtype} input\nNo {input.dtype} number leaves {name} as it is; convert the "
            "input first, such as by `input.float()`."
        )
    return input.where(kept, input.new_full((), number))


def _dims(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions that `dim` means, sorted; all of them for None and ()."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    found: list[int] = []
    for each in (dim,) if isinstance(dim, int) else dim:
        if each in found:
            raise RuntimeError(f"dim={each} appears multiple times in the list of dims")
        found.append(wrap(each, ndim))
    return tuple(sorted(found))


def _cast(x: Tensor, own: Dtype | None) -> Tensor:
    return x if own is None else x.to(own)


def _published(function: Callable[..., Tensor], name: str, meaning: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning}. Counterpart of `torch.masked.{name}`."
    public("masked")(function)


def _reduction(name: str, reduce: Reduce, meaning: str, single: bool = False) -> None:
    def function(
        input: Tensor,
        dim: Dims = None,
        *,
        keepdim: bool | None = False,
        dtype: Dtype | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        dims = dim if single else _dims(dim, input.ndim)
        return reduce(_filled(input, mask, name), dims, bool(keepdim), dtype)

    if single:
        function.__annotations__["dim"] = int | None
    _published(function, name, f"{meaning} of what is kept, over all dimensions or those that `dim` names")


def _normalization(name: str, along: Along, neutral: str, meaning: str) -> None:
    def function(input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None) -> Tensor:
        (place,) = _dims(dim, input.ndim) or (0,)
        return along(_filled(input, mask, neutral), place, dtype or input.dtype)

    _published(function, name, f"{meaning} of what is kept along `dim`")


def _product(x: Tensor, dims: tuple[int, ...], keepdim: bool, own: Dtype | None) -> Tensor:
    x = x.to(own or (int64 if x.dtype.category <= INTEGRAL else x.dtype))
    for dim in reversed(dims):
        x = x.prod(dim, keepdim)
    return x


_reduction("sum", lambda x, dims, keepdim, own: x.sum(dims, keepdim, dtype=own), "The sum")
_reduction("prod", _product, "The product")
_reduction("amax", lambda x, dims, keepdim, own: _cast(x.amax(dims, keepdim), own), "The largest")
_reduction("amin", lambda x, dims, keepdim, own: _cast(x.amin(dims, keepdim), own), "The smallest")
_reduction(
    "logsumexp",
    lambda x, dims, keepdim, own: x.logsumexp(dims, keepdim=keepdim).to(own or x.dtype),
    "The logarithm of the sum of the exponentials",
)
_normalization("cumsum", lambda x, dim, own: x.cumsum(dim, dtype=own), "sum", "The running sum")
_normalization("cumprod", lambda x, dim, own: x.cumprod(dim, dtype=own), "prod", "The running product")
_normalization("softmax", lambda x, dim, own: x.softmax(dim, dtype=own), "amax", "The softmax")
_normalization("log_softmax", lambda x, dim, own: x.log_softmax(dim, dtype=own), "amax", "The logarithm of the softmax")
_normalization("softmin", lambda x, dim, own: x.neg().softmax(dim, dtype=own), "amin", "The softmax of the negative")


# Positions have torch's default dtype, that of the input.
_reduction("argmax", lambda x, dim, keep, own: x.argmax(dim, keep).to(own or x.dtype), "Where the largest is", True)
_reduction("argmin", lambda x, dim, keep, own: x.argmin(dim, keep).to(own or x.dtype), "Where the smallest is", True)


def _count_and_total(
    input: Tensor, dim: Dims, keepdim: bool, own: Dtype | None, mask: Tensor | None
) -> tuple[Any, Any]:
    """The number of kept elements (a Python number without a mask), and their sum."""
    dims = _dims(dim, input.ndim)
    whole = math.prod(input.shape[each] for each in dims if input.ndim)
    count = whole if mask is None else _kept(input, mask).sum(dims, keepdim)
    return count, _filled(input, mask, "sum").sum(dims, keepdim, dtype=own)


@public("masked")
def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of what is kept, NaN where that is nothing; ValueError for integers."""
    own = dtype or input.dtype
    if not own.differentiable:
        raise ValueError(
            f"mean(): Could not infer output dtype. {'Input' if dtype is None else 'Optional'} dtype must be either a "
            f"floating point or complex dtype. Got: {own}"
        )
    count, total = _count_and_total(input, dim, bool(keepdim), own, mask)
    return total / count


@public("masked")
def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The median of what is kept along `dim`, of two the lower one, NaN where nothing is.

    ValueError for integers where nothing is kept. Counterpart of `torch.masked.median`.
    """
    (place,) = _dims(dim, input.ndim) or (0,)
    floating = input.dtype.category == FLOATING
    found: Tensor = _filled(input if floating else input.to(float32), mask, "median").nanmedian(place, keepdim).values
    if floating:
        return found
    if found.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype or input.dtype)


@public("masked")
def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """`log(exp(input) + exp(other))` of what either mask keeps. Counterpart of `torch.masked.logaddexp`."""
    first, second = _filled(input, input_mask, "logaddexp"), _filled(other, other_mask, "logaddexp")
    return first.logaddexp(second).to(dtype or input.dtype)


@public("masked")
def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The norm of order `ord` of the vectors that are kept. Counterpart of `torch.masked.norm`."""
    order = 2.0 if ord is None else float(ord)
    static = (order, _dims(dim, input.ndim), bool(keepdim), dtype or input.dtype)
    return apply(linalg_vector_norm, (_filled(input, mask, "norm", order),), static)


@public("masked")
def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of what is kept, divided by its number less `correction` (1, or 0 if not `unbiased`)."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 0.0 if unbiased is False else 1.0
    own = dtype or (input.dtype if input.dtype.differentiable else float32)
    counting = own if own.differentiable else float32
    count, total = _count_and_total(input, dim, True, own, mask)
    away: Tensor = input.sub(total / count)
    _, squares = _count_and_total(away.mul(away.conj()), dim, bool(keepdim), counting, mask)
    if mask is None:
        count = max(count - correction, 0)
    else:
        count = count.reshape(squares.shape)
        count = (count - correction).clamp_min(0) if correction else count
    return (squares / count).to(own)


_published(wraps(var)(lambda *arguments, **named: var(*arguments, **named).sqrt()), "std", "The root of `var`")


@public("masked")
def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """What is kept divided by its norm along `dim`, or by `eps` if that is more."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, "sum").div(length.maximum(length.new_full((), eps)))

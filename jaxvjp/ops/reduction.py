"""Reductions: sums, means, products, variances, norms."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as scipy

from jaxvjp.ops.arguments import Dims, Fixed, Flag, Index, Shape, Type, axes, wrap
from jaxvjp.ops.identity import rebind
from jaxvjp.ops.matrices import inexact, legacy
from jaxvjp.ops.op import ARITHMETIC, FLOAT, op
from jaxvjp.ops.pointwise import abs_, broadcast
from jaxvjp.types.dtypes import BOOL, INTEGRAL, bool_, from_numpy, int64, promote_types, uint8
from jaxvjp.types.user_code import warn_of_call


def _numbered_by_dim(name):
    """torch numbers the backward of a full reduction 0 and that over dimensions 1."""
    return lambda static, avals: f"{name}Backward{0 if static[0] is None else 1}"


@op(grad_fn=_numbered_by_dim("Sum"), arities=((1, 2), (2, 5)))
def sum_(input, dim: Dims = None, keepdim: Flag = False, *, dtype: Type | None = None):
    """The sum over `dim` (all dimensions by default); of integers an int64."""
    if dtype is None and from_numpy(input.dtype).category in (BOOL, INTEGRAL):
        dtype = int64
    return jnp.sum(input, axes(dim, input.ndim), dtype=None if dtype is None else dtype.numpy, keepdims=keepdim)


@op(grad_fn=_numbered_by_dim("Mean"), arities=((1, 2), (2, 5)), rounds_once=True)
def mean(input, dim: Dims = None, keepdim: Flag = False, *, dtype: Type | None = None):
    """The mean over `dim` (all dimensions by default) of a floating or complex tensor."""
    result = dtype or from_numpy(input.dtype)
    if not result.differentiable:
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {result.legacy}\nConvert it first: `x.float().mean()`."
        )
    reduced = axes(dim, input.ndim)
    if input.size:
        return jnp.mean(input, reduced, dtype=result.numpy, keepdims=keepdim)
    # The value is 0 / 0, but the derivative that of an empty sum; the mean's own would be divided by 0.
    undefined = jax.lax.stop_gradient(jnp.mean(input, reduced, dtype=result.numpy, keepdims=keepdim))
    return undefined + jnp.sum(input, reduced, dtype=result.numpy, keepdims=keepdim)


@op(grad_fn=_numbered_by_dim("Prod"), saves="input, result", arities=((1, 2), (2, 5)))
def prod(input, dim: Index | None = None, keepdim: Flag = False, *, dtype: Type | None = None):
    """The product over `dim` (all dimensions by default); of integers an int64."""
    if dtype is None and from_numpy(input.dtype).category in (BOOL, INTEGRAL):
        dtype = int64
    reduced = axes(dim, input.ndim)
    result = product(jnp.prod, input if dtype is None else input.astype(dtype.numpy), reduced, keepdims=True)
    return result if keepdim else result.squeeze(reduced)


def product(fold: Callable[..., Any], input, along, **kept: bool):
    """`fold` of the factors along `along`, `jnp.prod` or `jnp.cumprod`, with torch's derivative.

    Without a 0 among the factors that is product / factor: NaN for an infinite factor, infinite if the product
    overflows. With a 0 it is JAX's, the product of the other factors.
    """
    if not jnp.issubdtype(input.dtype, jnp.inexact):
        return fold(input, along, dtype=input.dtype, **kept)
    result = fold(input, along, **kept)
    if not input.ndim:
        return result
    constant = jax.lax.stop_gradient(input)
    vanishes = jnp.any(constant == 0, along, keepdims=True)
    shown, divisor = (jnp.where(vanishes, 1, each) for each in (input, constant))
    # All are 1. For an infinite factor by a formula with derivative 0: times an infinite product, NaN.
    quotients = jnp.where(jnp.isinf(divisor), 1 + 1 / shown, shown / divisor)
    scaled = jax.lax.stop_gradient(result) * fold(quotients, along, **kept)
    others = fold(jnp.where(vanishes, input, 1), along, **kept)
    return rebind.function(jnp.where(vanishes, others, scaled), result)


@op(saves="input", rounds_once=True)
def nansum(input, dim: Dims = None, keepdim: Flag = False, *, dtype: Type | None = None):
    """The sum of the elements that are not NaN."""
    if jnp.iscomplexobj(input):
        raise RuntimeError("nansum on CPU does not support complex inputs")
    return sum_.function(jnp.where(jnp.isnan(jax.lax.stop_gradient(input)), 0, input), dim, keepdim, dtype=dtype)


@op(grad_fn="DivBackward0", saves="input", rounds_once=True)
def nanmean(input, dim: Dims = None, keepdim: Flag = False, *, dtype: Type | None = None):
    """The mean of the elements that are not NaN."""
    if not jnp.issubdtype(input.dtype, jnp.inexact):
        told = "nanmean(): expected input to have floating point or complex dtype but got"
        raise RuntimeError(f"{told} {legacy(input)}")
    numbers = ~jnp.isnan(jax.lax.stop_gradient(input))
    if jnp.iscomplexobj(input):
        raise RuntimeError("nansum on CPU does not support complex inputs")
    total = sum_.function(jnp.where(numbers, input, 0), dim, keepdim, dtype=dtype)
    return total / jnp.sum(numbers, axes(dim, input.ndim), keepdims=keepdim).astype(total.dtype)


def _truth(name: str, function: Any, meaning: str) -> None:
    def refuse_out(result, out):
        if out not in (bool_, uint8):
            raise RuntimeError(f"{name} only supports bool tensor for result, got: {out.legacy}")

    @op(name=name, differentiable=False, arities=((1, 2), (2, 4)), refuse_out=refuse_out, doc=meaning)
    def row(input, dim: Dims = None, keepdim: Flag = False):
        over = () if dim == () else axes(dim, input.ndim)  # no dimension at all is not every one here
        result = function(input, over, keepdims=keepdim)
        return result.astype(input.dtype) if input.dtype == jnp.uint8 else result


_truth("all", jnp.all, "Whether all elements are true.")
_truth("any", jnp.any, "Whether one of the elements is true.")


@op(differentiable=False, out=False, arities=((1, 2), (2, 2)))
def count_nonzero(input, dim: Dims = None):
    """How many elements are not 0."""
    return jnp.sum(input != 0, axes(dim, input.ndim), dtype="int64")


@op(promotion=FLOAT, saves="input, result", aliases="special.logsumexp")
def logsumexp(input, dim: Dims, keepdim: Flag = False):
    """The logarithm of the sum of `exp(input)` over `dim`."""
    return scipy.logsumexp(input, axes(dim, input.ndim), keepdims=keepdim)


# Variances. torch has three ways to give the correction.


def _variance(name, input, dim, correction, keepdim):
    """The variance, and the mean."""
    if not jnp.issubdtype(input.dtype, jnp.inexact):
        who = name if name.endswith("mean") else "std and var"
        raise RuntimeError(f"{who} only support floating point and complex dtypes")
    reduced = axes(dim, input.ndim)
    mean = jnp.mean(input, reduced, keepdims=True)
    # The distances add up to 0, so the derivative is the same if the mean is a constant, as in torch; otherwise it
    # would be NaN beside an infinite number. `offset`, which is 0, gives the second derivative.
    distance = input - jax.lax.stop_gradient(mean)
    nothing = rebind.function(mean, jnp.zeros_like(mean))
    count = math.prod(input.shape[each] for each in reduced)
    if count <= correction:
        warn_of_call(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel)."
        )
    total = jnp.sum(_squared(distance), reduced, keepdims=True)
    if count != correction:
        total = total - count * _squared(nothing)
    # If there are fewer numbers than `correction`, torch's derivative is that of a division by the negative difference.
    variance = total / (count - correction) if count > correction else total / jnp.zeros_like(total)
    if count < correction:
        variance = rebind.function(total / (count - correction), variance)
    return (variance, mean) if keepdim else (variance.squeeze(reduced), mean.squeeze(reduced))


def _squared(input):
    return input.real**2 + input.imag**2 if jnp.iscomplexobj(input) else input * input


def root(squares):
    """The square root, with the derivative 0 at 0, as torch's norms and deviations have it."""
    zero = squares == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, squares)))


def _declare_spread(name: str, of: Callable[[Any, Any], Any], meaning: str, **columns: Any) -> None:
    def by_correction(input, dim: Dims = None, *, correction: Fixed | None = None, keepdim: Flag = False):
        return of(*_variance(name, input, dim, 1 if correction is None else correction, keepdim))

    def unbiased_only(input, unbiased: Flag):
        return of(*_variance(name, input, None, int(unbiased), False))

    def by_dim(input, dim: Dims, unbiased: Flag = True, keepdim: Flag = False):
        return of(*_variance(name, input, dim, int(unbiased), keepdim))

    columns = {"saves": "input", "rounds_once": True, **columns}
    for suffix, row in (("", by_correction), (".unbiased", unbiased_only), (".dim", by_dim)):
        row.__annotations__["return"] = tuple[Any, Any] if name.endswith("_mean") else Any
        op(name=name + suffix, doc=meaning, **columns)(row)


_declare_spread("var", lambda variance, mean: variance, "The variance over `dim`.")
_declare_spread("std", lambda variance, mean: root(variance), "The deviation over `dim`.", saves="input, result")
BOTH = {"public": "function", "out": False}
_declare_spread("var_mean", lambda variance, mean: (variance, mean), "The variance and the mean.", **BOTH)
_declare_spread("std_mean", lambda variance, mean: (root(variance), mean), "The deviation and the mean.", **BOTH)


# Norms.


def magnitude(input):
    """The magnitude, with the derivative 0 at 0."""
    return root(_squared(input)) if jnp.iscomplexobj(input) else abs_.function(input)


@jax.custom_jvp
def _length(squares):
    """The square root of a sum of squares."""
    return jnp.sqrt(squares)


@_length.defjvp
def _length_jvp(primals, tangents):
    """JAX's own derivative at 0 is 0 * inf, NaN. Selecting another value for the root, as `root` does, makes the
    derivative 0 but the second derivative, too, and torch's is NaN, that of `input / norm`. So the derivative is
    selected here."""
    length = _length(*primals)
    return length, tangents[0] * jnp.where(length == 0, 0, 0.5 / length)


def _refuse_nothing(input, order, dim):
    """RuntimeError for an empty tensor and an order without a norm of it: below 0, and infinity."""
    words = f"linalg.vector_norm cannot compute the {order:g} norm on"
    if dim is None or dim == ():
        raise RuntimeError(f"{words} an empty tensor because the operation does not have an identity")
    for each in (dim,) if isinstance(dim, int) else dim:
        if input.shape[wrap(each, input.ndim)] == 0:
            raise RuntimeError(
                f"{words} the dimension {each}because this dimension is empty and the operation does not have an "
                "identity"
            )


def vector_norm(input, order, dim, keepdims=False):
    """The norm of `order` over `dim` (all dimensions for None); a norm of 0 has the gradient 0, as in torch."""
    reduced = axes(dim, input.ndim)
    if not input.size and (order < 0 or order == math.inf):
        _refuse_nothing(input, order, dim)
    if order == 2:
        return _length(jnp.sum(_squared(input), reduced, keepdims=keepdims))
    size = magnitude(input)
    if order == 0:
        return jnp.sum((input != 0).astype(size.dtype), reduced, keepdims=keepdims)
    if order == 1:
        return jnp.sum(size, reduced, keepdims=keepdims)
    if math.isinf(order):
        return shared(size, largest if order > 0 else smallest, reduced, keepdims, NOWHERE)
    # At 0 the power's derivative may be infinite, so the magnitude stands for it, with derivative 0. Times an infinite
    # derivative of the whole norm that is NaN, as in torch.
    zero = size == 0
    start = size + (0.0 if order > 0 else jnp.inf)
    powers = jnp.where(zero, start, jnp.where(zero, 1, size) ** order)
    total = jnp.sum(powers, reduced, keepdims=keepdims)
    nothing = total == (0 if order > 0 else jnp.inf)
    constant = jax.lax.stop_gradient(total) ** (1 / order)
    return jnp.where(nothing, constant, jnp.where(nothing, 1, total) ** (1 / order))


def _keeping_nan(fold: Callable[..., Any]) -> Callable[..., Any]:
    """`jnp.max` or `jnp.min`, NaN where there is one: XLA's own on a CPU loses it among more than 4,096 elements."""

    def extreme(input, reduced=None, keepdims=False):
        def plain(array):
            return fold(array, reduced, keepdims=keepdims)

        def told(array):
            return jnp.where(jnp.any(array != array, reduced, keepdims=keepdims), jnp.nan, plain(array))

        if not jnp.issubdtype(input.dtype, jnp.floating):
            return plain(input)
        return jax.lax.platform_dependent(input, cpu=told, default=plain)

    extreme.__name__ = fold.__name__
    return extreme


largest, smallest = _keeping_nan(jnp.max), _keeping_nan(jnp.min)

EVERYWHERE, EVENLY, NOWHERE = "everywhere", "evenly", "nowhere"
"""The gradient if the extreme is NaN: NaN for all elements, shared among those that are NaN, or 0 for all."""


def shared(input, extreme, reduced, keepdims=False, of_nan=EVERYWHERE):
    """The extreme over `reduced`; the elements equal to it share its gradient evenly, as in torch."""
    constant = jax.lax.stop_gradient(input)
    if not jnp.issubdtype(input.dtype, jnp.inexact):
        return extreme(input, reduced, keepdims=keepdims)
    found = extreme(constant, reduced, keepdims=True)
    attaining = constant == found
    if of_nan == EVENLY:
        attaining |= jnp.isnan(constant) & jnp.isnan(found)
    count = jnp.sum(attaining, reduced, keepdims=True).astype(input.dtype)
    if of_nan == NOWHERE:
        count = jnp.maximum(count, 1)  # otherwise 0 / 0 makes NaN everywhere
    if of_nan == EVENLY:
        part = jnp.where(attaining, input / count, 0)
    else:
        # If the gradient is infinite or NaN, that of the other elements is NaN; and all are NaN if no element is the
        # extreme.
        part = input / jnp.where(attaining, count, jnp.inf * count)
    result = rebind.function(jnp.sum(part, reduced, keepdims=True), found)
    return result if keepdims else result.squeeze(reduced)


def of_type(name, array, dtype):
    """The numbers of a norm in the type that it is asked for; RuntimeError where they do not fit it."""
    own = from_numpy(inexact(array, name).dtype)
    if dtype is None:
        return array
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dtype.legacy}")
    if own.is_complex != dtype.is_complex:
        kind = "complex" if own.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {dtype.legacy}")
    if promote_types(own, dtype) is not dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({own.legacy}) should be convertible without narrowing to the specified "
            f"dtype ({dtype.legacy})"
        )
    return array.astype(dtype.numpy)


@op(saves="input, result", rounds_once=True)
def linalg_vector_norm(input, ord: Fixed = 2, dim: Dims = None, keepdim: Flag = False, *, dtype: Type | None = None):
    """The norm of order `ord` of what `dim` names (all of it by default), taken as one vector."""
    name = "linalg.vector_norm"
    if not input.size and (ord < 0 or ord == math.inf):
        _refuse_nothing(of_type(name, input, None), ord, dim)
    return vector_norm(of_type(name, input, dtype), ord, dim, keepdim)


@op(promotion=ARITHMETIC, saves="input, other, result", out=False)
def dist(input, other, p: Fixed = 2):
    """The norm of order `p` of the difference."""
    input, other = broadcast(input, other)
    return vector_norm(input - other, p, None)


@op(inplace=True, saves="input", rounds_once=True)
def renorm(input, p: Fixed, dim: Index, maxnorm: Fixed):
    """The slices along `dim`, those with a norm above `maxnorm` scaled down to it."""
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    dim = wrap(dim, input.ndim)
    others = tuple(each for each in range(input.ndim) if each != dim)
    larger = vector_norm(jax.lax.stop_gradient(input), p, others, True) > maxnorm
    size = vector_norm(jnp.where(larger, input, 0), p, others, True)  # no gradient for the rest, which may hold NaN
    return input * jnp.where(larger, maxnorm / (size + 1e-7), 1).astype(input.dtype)


def expandable(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of `shape` can be expanded to the shape `to`."""
    return len(shape) <= len(to) and all(each in (1, to[-dim]) for dim, each in enumerate(reversed(shape), 1))


@op(public="", grad_fn="SumBackward1", rounds_once=True)
def sum_to(input, *, size: Shape):
    """`input` summed over the dimensions that broadcast `size` to its shape: the transpose of a broadcast."""
    leading = input.ndim - len(size)
    repeated = tuple(dim + leading for dim, each in enumerate(size) if each == 1 != input.shape[dim + leading])
    folded = (*range(leading), *repeated)
    if not size:
        return sum_.function(input)
    return sum_.function(input, folded, True).reshape(size) if folded else input.reshape(size)

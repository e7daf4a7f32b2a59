"""Running sums, products and differences along a dimension; softmax."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Index, Scalar, Type, axes, wrap
from jaxvjp.ops.elementary import logaddexp
from jaxvjp.ops.identity import rebind
from jaxvjp.ops.layouts import LIKE
from jaxvjp.ops.op import OPMATH, backward_name, op
from jaxvjp.ops.pointwise import ALL_BUT_FLOATS, supported
from jaxvjp.ops.reduction import product, sum_
from jaxvjp.types.dtypes import BOOL, INTEGRAL, from_numpy, int64
from jaxvjp.types.user_code import warn_of_call


def _declare_running(name: str, function: Any, meaning: str) -> None:
    @op(name=name, inplace=True, saves="" if name == "cumsum" else "input, result", rounds_once=True, doc=meaning)
    def row(input, dim: Index, *, dtype: Type | None = None):
        dim = wrap(dim, input.ndim)
        if dtype is None and from_numpy(input.dtype).category in (BOOL, INTEGRAL):
            dtype = int64
        converted = input if dtype is None else input.astype(dtype.numpy)
        return converted if input.ndim == 0 else function(converted, dim)


_running_product = partial(product, jnp.cumprod)
_declare_running("cumsum", jnp.cumsum, "The sum up to each place along `dim`; of integers an int64.")
_declare_running("cumprod", _running_product, "The product up to each place along `dim`; of integers an int64.")


@op(saves="input, result", rounds_once=True)
def logcumsumexp(input, dim: Index):
    """The logarithm of the sum of `exp(input)` up to each place along `dim`."""
    supported("logcumsumexp_out", input, "bool integers")
    dim = wrap(dim, input.ndim)
    if input.ndim == 0:
        return input
    if jnp.iscomplexobj(input):
        return _running_logarithm(input, dim)
    # torch's derivative is `exp(input - result)`: where the result is infinite it is NaN for infinite elements and 0
    # for others. JAX's derivative is used for the finite results.
    beyond = jax.lax.cummax(jax.lax.stop_gradient(input), dim) == jnp.inf
    finite = jax.lax.cumlogsumexp(jnp.where(beyond, 0, input), dim)
    result = jnp.where(beyond, jnp.inf, finite)
    infinite = jnp.isinf(input) & (input == result)
    undefined = jnp.where(infinite, jnp.nan * jnp.where(infinite, input, 0) ** 2, 0)
    return rebind.function(jnp.where(jnp.isinf(result), undefined, finite), result)


def _running_logarithm(input, dim):
    """A scan, as in torch: the phase of the partial sums may wind around more than once."""

    def step(total, each):
        # One that is infinitely larger than the other is the sum; of two that are exp(-inf) the phase is that of 0.
        gap = each.real - total.real
        nothing = (each.real == -jnp.inf) & (total.real == -jnp.inf)
        defined = ~(jnp.isnan(each) | jnp.isnan(total))
        stays, takes = defined & (nothing | (gap == -jnp.inf)), defined & (gap == jnp.inf)
        added = logaddexp(*[jnp.where(stays | takes, 0, array) for array in (each, total)])
        both = defined & (each.real == jnp.inf) & (total.real == jnp.inf)
        total = jnp.where(both, _infinite(each, total), jnp.where(stays, total, jnp.where(takes, each, added)))
        return total, total

    along = jnp.moveaxis(input, dim, 0)
    start = jnp.full(along.shape[1:], -jnp.inf, input.dtype)
    return jnp.moveaxis(jax.lax.scan(step, start, along)[1], 0, dim)


def _infinite(first, second):
    """The logarithm of the sum of two infinite numbers, of which but the quadrant is known."""
    phases = [jax.lax.stop_gradient(each.imag) for each in (first, second)]
    parts = [sum(jnp.where(part(each) == 0, 0, jnp.inf * part(each)) for each in phases) for part in (jnp.cos, jnp.sin)]
    size = jnp.where(jnp.isnan(parts[0]) & jnp.isnan(parts[1]), jnp.nan, jnp.inf).astype(phases[0].dtype)
    return jax.lax.complex(size, jnp.arctan2(parts[1], parts[0]))


def _neighbours(array, dim):
    """All but the first along `dim`, and all but the last."""
    last = array.shape[dim] - 1
    if last < 0:
        return array, array
    return jax.lax.slice_in_dim(array, 1, None, axis=dim), jax.lax.slice_in_dim(array, 0, last, axis=dim)


def _fitting(row, operands, static):
    """RuntimeError for shapes that do not fit. For n = 0, `prepend` and `append` are dropped: they get no gradient, not
    even zeros."""
    (input, *beside), (n, dim) = operands, static
    shape = input.aval.shape
    if not shape:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = wrap(dim, len(shape))
    for other in [each.aval.shape for each in beside if each is not None]:
        if len(other) != len(shape):
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for axis, (own, its) in enumerate(zip(shape, other, strict=True)):
            if own != its and axis != dim:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the "
                    f"differencing dimension; input.size({axis}) = {own}, but got tensor.size({axis}) = {its}"
                )
    return row, operands if n else (input, None, None), static


@op(rewrite=_fitting, keeps=LIKE)
def diff(input, n: Index = 1, dim: Index = -1, prepend=None, append=None):
    """The differences of neighbours along `dim`, taken `n` times."""
    dim = wrap(dim, input.ndim)
    if n == 0:
        return input
    array = jnp.concatenate([each for each in (prepend, input, append) if each is not None], dim)
    for _ in range(min(n, array.shape[dim])):
        later, earlier = _neighbours(array, dim)
        array = later ^ earlier if array.dtype == bool else later - earlier
    return array


def _strips(y, x, dx, dim):
    """The areas of the strips between neighbours along `dim`."""
    (dim,) = axes(dim, y.ndim)
    if not y.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    later, earlier = _neighbours(y, dim)
    both = later + earlier  # integers are added in their own dtype, as in torch
    if x is None:
        both = _fractional(both)
        return both * (dx.astype(both.dtype) / 2), dim
    if x.ndim == 1 and x.shape[0] != y.shape[dim]:
        raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
    width = jnp.diff(x) if x.ndim == 1 else jnp.diff(x, axis=wrap(dim - y.ndim, x.ndim))
    if x.ndim == 1:
        width = width.reshape([-1 if each == dim else 1 for each in range(y.ndim)])
    return _fractional(both * width) / 2, dim


def _distance(name, y, x, dx):
    """`dx`, by default 1; TypeError where the points are given, too, and RuntimeError for a complex one."""
    if x is not None and dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments - got both x and dx\nLeave one out.")
    dx = jnp.asarray(1) if dx is None else dx
    if jnp.iscomplexobj(dx) and not jnp.iscomplexobj(y):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number")
    return dx


def _fractional(array):
    return array if jnp.issubdtype(array.dtype, jnp.inexact) else array.astype("float32")


def _at_points(row, operands, static):
    """Between points torch multiplies by their distances, which it saves."""
    return (row if operands[1] is None else AT_POINTS[row.name]), operands, static


TRAPEZOIDS = {"public": "function", "out": False, "rounds_once": True, "numbers": OPMATH, "rewrite": _at_points}


@op(aliases="function.trapz", grad_fn="MulBackward1", **TRAPEZOIDS)
def trapezoid(y, x=None, *, dx: Scalar = None, dim: Index = -1):
    """The integral along `dim` by the trapezoidal rule, over points `x` or at a distance of `dx`."""
    dx = _distance("trapezoid", y, x, dx)
    strips, dim = _strips(y, x, dx, dim)
    if x is not None or not y.shape[dim]:
        return jnp.sum(strips, dim)
    # The sum of all less half of the two ends, in torch's order, which shows if integers overflow.
    ends = _fractional(jax.lax.index_in_dim(y, 0, dim, False) + jax.lax.index_in_dim(y, -1, dim, False))
    return (sum_.function(y, dim).astype(ends.dtype) - ends / 2) * dx.astype(ends.dtype)


@op(grad_fn="CumsumBackward0", **TRAPEZOIDS)
def cumulative_trapezoid(y, x=None, *, dx: Scalar = None, dim: Index = -1):
    """The integral up to each place along `dim` by the trapezoidal rule."""
    strips, dim = _strips(y, x, _distance("cumulative_trapezoid", y, x, dx), dim)
    return jnp.cumsum(strips, dim)


AT_COLUMNS = {**TRAPEZOIDS, "public": "", "rewrite": None, "grad_fn": "DivBackward1", "saves": "residuals"}
AT_POINTS = {
    row.name: op(name=f"{row.name}.points", **AT_COLUMNS)(row.function) for row in (trapezoid, cumulative_trapezoid)
}

# Softmax.


def _normalised(function, kernel, input, dim, dtype):
    if dtype is not None:
        input = input.astype(dtype.numpy)
    dim = wrap(dim, input.ndim)
    if not input.size:
        return input
    kernel = f"{kernel}_lastdim" if dim == max(input.ndim - 1, 0) else kernel
    supported(f"{kernel}_kernel_impl", input, ALL_BUT_FLOATS, "")
    return function(input.reshape(1), 0).reshape(()) if input.ndim == 0 else function(input, dim)


def _declare_softmax(name: str, function: Any, kernel: str, meaning: str) -> None:
    columns: dict[str, Any] = {"saves": "result", "rounds_once": True, "doc": meaning}
    columns["grad_fn"] = backward_name("softmax" if name == "softmin" else name)

    def row(input, dim: Index, dtype: Type | None = None):
        return _normalised(function, kernel, input, dim, dtype)

    if name != "softmin":
        op(name=name, aliases=f"special.{name}", arities=((2, 4), (2, 3)), **columns)(row)

    @op(name=f"{name}.functional", public="nn.functional", out=False, **columns)
    def functional(input, dim: Index | None = None, _stacklevel: Index = 3, dtype: Type | None = None):
        if name == "softmin":
            input = -input  # before it is converted, as in torch, even for unsigned integers
        if dim is None:
            told = "has been deprecated. Change the call to include dim=X as an argument."
            warn_of_call(f"Implicit dimension choice for {name} {told}")
            dim = int(input.ndim not in (0, 1, 3))
        return _normalised(function, kernel, input, dim, dtype)


_declare_softmax("softmax", jax.nn.softmax, "softmax", "`exp(input)`, scaled to a sum of 1 over `dim`.")
_declare_softmax("log_softmax", jax.nn.log_softmax, "log_softmax", "The logarithm of softmax over `dim`.")
_declare_softmax("softmin", jax.nn.softmax, "softmax", "`softmax(-input)` over `dim`.")

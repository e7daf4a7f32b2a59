"""Covariances, histograms, slopes of sampled functions."""

import math

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Exact, Fixed, Index, Kept, Tensors, wrap
from jaxvjp.ops.layouts import LIKE
from jaxvjp.ops.op import op
from jaxvjp.ops.pointwise import ALL_BUT_FLOATS, supported
from jaxvjp.ops.reduction import largest, smallest
from jaxvjp.types.dtypes import from_numpy
from jaxvjp.types.user_code import warn_of_call


def _check_dims(name, input):
    if input.ndim > 2:
        told = "expected input to have two or fewer dimensions but got an input with"
        raise RuntimeError(f"{name}(): {told} {input.ndim} dimensions")


@op(saves="input", rounds_once=True)
def cov(input, *, correction: Index = 1, fweights: Kept = None, aweights: Kept = None):
    """The covariances of the rows, each column an observation; counted `fweights` times, weighed by `aweights`."""
    _check_dims("cov", input)
    if input.dtype == bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    if not jnp.issubdtype(rows.dtype, jnp.inexact):
        rows = rows.astype("float32")
    _check_weights(rows, fweights, aweights)
    weights = [each for each in (fweights, aweights) if each is not None]
    count = math.prod(weights, start=jnp.ones(rows.shape[1], jnp.real(rows).dtype))
    if not weights and rows.shape[1] <= correction:
        warn_of_call(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations."
        )
    total = jnp.sum(count)
    mean = jnp.sum(rows * count, 1, keepdims=True) / total
    if aweights is None or correction == 0:
        freedom = total - correction
    else:
        freedom = total - correction * jnp.sum(count * weights[-1]) / total
    distance = rows - mean
    return ((distance * count) @ distance.T.conj() / jnp.maximum(freedom, 0)).squeeze()


def _check_weights(rows, fweights, aweights):
    for name, each, integral in (("fweights", fweights, True), ("aweights", aweights, False)):
        if each is None:
            continue
        if each.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {each.ndim} dimensions"
            )
        if jnp.issubdtype(each.dtype, jnp.integer) != integral:
            kind = "integral" if integral else "floating point"
            raise RuntimeError(
                f"cov(): expected {name} to have {kind} dtype but got {name} with {from_numpy(each.dtype).legacy} dtype"
            )
        if each.size != rows.shape[1]:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                f"{each.size} != {rows.shape[1]}"
            )


@op(saves="input", rounds_once=True)
def corrcoef(input):
    """The correlations of the rows, each column an observation."""
    _check_dims("corrcoef", input)
    covariance = cov.function(input)
    if covariance.ndim == 0:
        return covariance / covariance
    deviation = jnp.sqrt(jnp.diagonal(covariance).real).astype(covariance.dtype)
    scaled = covariance / deviation[:, None] / deviation[None, :]
    if jnp.iscomplexobj(scaled):
        return jax.lax.complex(jnp.clip(scaled.real, -1, 1), jnp.clip(scaled.imag, -1, 1))
    return jnp.clip(scaled, -1, 1)


def _finite(values, shapes, *, bins, min, max):
    """RuntimeError where elements between which the ranges are to lie are not finite."""
    if min == max and values.size:
        min, max = float(values.min()), float(values.max())
    if not (math.isfinite(min) and math.isfinite(max)):
        raise RuntimeError(f"torch.histc: range of [{min:g}, {max:g}] is not finite")


@op(differentiable=False, rounds_once=True, check_values=("input", _finite))
def histc(input, bins: Index = 100, min: Fixed = 0, max: Fixed = 0):
    """How many elements are in each of `bins` equal ranges from `min` to `max`, by default those of the elements."""
    supported("histogram", input, ALL_BUT_FLOATS)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if min > max:
        raise RuntimeError("max must be larger than min")
    low, high = jnp.asarray(min, input.dtype), jnp.asarray(max, input.dtype)
    if min == max and input.size:
        low, high = smallest(input), largest(input)
    alike = low == high
    low, high = jnp.where(alike, low - 1, low), jnp.where(alike, high + 1, high)
    place = ((input - low) * bins / (high - low)).astype("int64")
    place = jnp.where(place == bins, bins - 1, place)
    inside = (input >= low) & (input <= high)
    return jnp.zeros(bins, input.dtype).at[jnp.where(inside, place, bins).reshape(-1)].add(1, mode="drop")


@op(returns=("mantissa", "exponent"), grad_fn="FrexpBackward0", saves="result", keeps=LIKE)
def frexp(input):
    """Each number as a mantissa of at least a half, times a power of two."""
    if not jnp.issubdtype(input.dtype, jnp.floating):
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    _, exponent = jnp.frexp(jax.lax.stop_gradient(input))
    half = exponent // 2  # in two steps, as the power of two itself may overflow
    mantissa = input * jnp.exp2((-half).astype(input.dtype)) * jnp.exp2((half - exponent).astype(input.dtype))
    return jnp.where(jnp.isfinite(jax.lax.stop_gradient(input)), mantissa, input), exponent.astype("int32")


@op(public="", grad_fn="CatBackward0")
def slopes(input, coordinates: Tensors, dims: Exact, spacing: Exact, edge_order: Index):
    """The slope along each of `dims` of a function sampled at `coordinates`, or at distances of `spacing`."""
    return tuple(
        _slope(input, wrap(dim, input.ndim), coordinates[place] if coordinates else spacing[1][place], edge_order)
        for place, dim in enumerate(dims[1])
    )


slopes_at = op(name="slopes.at", public="", grad_fn="CatBackward0", saves="residuals")(slopes.function)
"""`slopes` at coordinates, whose distances torch saves."""


def _slope(values, dim, where, edge_order):
    values = jnp.moveaxis(values, dim, 0)
    even = isinstance(where, float | complex)
    step = jnp.full(values.shape[0] - 1, where, jnp.result_type(values, where)) if even else jnp.diff(where)
    step = step.reshape(-1, *[1] * (values.ndim - 1))
    before, after = step[:-1], step[1:]
    both = before + after
    if even:
        inner = (values[2:] - values[:-2]) / both  # without the middle value, which may be NaN
    else:
        inner = (
            values[:-2] * (-after / (before * both))
            + values[1:-1] * ((after - before) / (before * after))
            + values[2:] * (before / (after * both))
        )

    def edge(first, second, third, near, far):
        if edge_order == 1:
            return (second - first) / near
        return (
            first * (-(2 * near + far) / (near * (near + far)))
            + second * ((near + far) / (near * far))
            - third * (near / (far * (near + far)))
        )

    last = 2 if edge_order == 2 else 1
    start = edge(values[0], values[1], values[last], step[0], step[last - 1])
    end = edge(values[-1], values[-2], values[-1 - last], -step[-1], -step[-last])
    return jnp.moveaxis(jnp.concatenate([start[None], inner, end[None]]), 0, dim)

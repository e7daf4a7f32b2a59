"""Rounded division and its remainder; of integers both are integers."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.ops.arguments import Either, Text
from jaxvjp.ops.identity import rebind, refused
from jaxvjp.ops.op import ARITHMETIC, OPMATH, by_number, op
from jaxvjp.ops.pointwise import OTHER_TENSOR_OR_NUMBER, broadcast, div, supported
from jaxvjp.types.dtypes import BOOL, INTEGRAL, from_numpy, within_64_bits


def integral(array):
    return from_numpy(array.dtype).category <= INTEGRAL


def ordered(name, input, other):
    """Both operands, broadcast; torch's error for complex ones."""
    return broadcast(supported(name, input, "complex"), other)


def _divisible(name, input, other):
    """Both operands in one shape; torch's error for bool and complex ones."""
    return _alike(*broadcast(supported(name, input, "bool complex"), other))


def _alike(input, other):
    """Both in one shape, expanded before the division: XLA divides by a broadcast divisor through its reciprocal, which
    makes 5.125 / 5.125 less than 1."""
    if input.shape == other.shape or integral(input):
        return jnp.broadcast_arrays(input, other)
    return jax.lax.optimization_barrier(jnp.broadcast_arrays(input, other))


def _quotient(down):
    """The function for the quotient rounded down, or to zero; of integers it is an integer."""

    def divide(input, other):
        if integral(input):
            return jnp.floor_divide(input, other) if down else jax.lax.div(input, other)
        if down:
            # By the remainder, as Python does it: 1 // 0.1 is 9, though 1 / 0.1 is 10.
            rest = jnp.fmod(input, other)
            exact = (input - rest) / other
            lower = jnp.where((rest != 0) & ((other < 0) != (rest < 0)), exact - 1, exact)
            nearest = jnp.floor(lower)
            nearest = jnp.where(lower - nearest > 0.5, nearest + 1, nearest)
            return jnp.where(other == 0, input / other, jnp.where(lower == 0, jnp.copysign(0, input / other), nearest))
        return jnp.trunc(input / other)

    return divide


ROUNDED = {"floor": _quotient(True), "trunc": _quotient(False)}


def _refuse_zero(row, operands, static):
    """RuntimeError for integers divided by the number 0. For a tensor of integers as divisor, the row that checks its
    values."""
    dividend, divisor = operands
    tensors = [operand.aval.dtype for operand in operands if not isinstance(operand, int | float | complex)]
    if isinstance(dividend, float) or isinstance(divisor, float) or max(each.category for each in tensors) > INTEGRAL:
        return row, operands, static
    if not isinstance(divisor, int):
        return INSPECTING[row], operands, static
    (own,) = tensors
    _refuse_zeros(
        within_64_bits(divisor) % (1 << 8 * (8 if own.category == BOOL else own.itemsize)), [dividend.aval.shape]
    )
    return row, operands, static


def _refuse_zeros(divisors, shapes, **static):
    """RuntimeError if a divisor is 0, unless the result is empty."""
    if not np.all(divisors) and not any(0 in shape for shape in shapes):
        raise RuntimeError("ZeroDivisionError\nThe divisor is 0, and the tensor one of integers.")


def _true_division(row, operands, static):
    return (div, operands, ()) if static == (None,) else _refuse_zero(row, operands, static)


@op(
    name="div.rounded",
    promotion=ARITHMETIC,
    inplace=True,
    saves="other for input, input for other",
    grad_fn="DivBackward2",
    rewrite=_true_division,
    arities=((3, 4),),
    aliases="divide",
    numbers=OPMATH,
)
def div_rounded(input: Either, other: Either, *, rounding_mode: Text | None):
    """The quotient, rounded to zero ("trunc") or down ("floor"); its derivative is 0."""
    if rounding_mode not in ROUNDED:
        told = "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found"
        raise RuntimeError(f"{told} '{rounding_mode}'")
    input, other = _divisible(f"div_{rounding_mode}", input, other)
    return ROUNDED[rounding_mode](*jax.lax.stop_gradient((input, other)))


@op(promotion=ARITHMETIC, operator="//", inplace=True, grad_fn="NotImplemented", rewrite=_refuse_zero, numbers=OPMATH)
def floor_divide(input: Either, other: Either):
    """The quotient, rounded down."""
    quotient = ROUNDED["floor"](*_divisible("div_floor", *jax.lax.stop_gradient((input, other))))
    error = RuntimeError, "derivative for aten::floor_divide is not implemented"
    return refused.function((input, other), quotient, error=error)


RESTS = {
    "promotion": ARITHMETIC,
    "inplace": True,
    **dict.fromkeys(("saves", "slopes"), "input for other, other for other"),
    "rewrite": _refuse_zero,
}


@op(operator="%", grad_fn=by_number("remainder", 1, 0), arities=(*OTHER_TENSOR_OR_NUMBER, (2, 3)), **RESTS)
def remainder(input: Either, other: Either):
    """What is left of a division rounded down; it has the sign of `other`."""
    return _rest("floor", jnp.remainder, *_divisible("remainder", input, other))


@op(grad_fn=by_number("fmod", 1, 0), arities=OTHER_TENSOR_OR_NUMBER, **RESTS)
def fmod(input, other: Either):
    """What is left of a division rounded to zero; it has the sign of `input`."""
    return _rest("trunc", jnp.fmod, *_divisible("fmod", input, other))


def _rest(rounding, function, input, other):
    """A remainder, with the derivative of `input - quotient * other` for a constant quotient."""
    if integral(input):
        return function(input, other)
    quotient = jnp.floor(ROUNDED[rounding](input, other))  # it is an integer already; `floor` makes its derivative 0
    return rebind.function(input - quotient * other, function(input, other))


def _inspecting(row):
    """A row like `row` that reads the divisors, integers, and raises torch's error if one is 0."""
    name = f"{row.torch_name}.integers"
    return op(name=name, public="", promotion=ARITHMETIC, check_values=("other", _refuse_zeros))(row.function)


INSPECTING = {row: _inspecting(row) for row in (div_rounded, floor_divide, remainder, fmod)}

"""Comparisons, logical and bitwise operations, predicates, `where`.

No gradient flows through their results, except through `where`.
"""

from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Either, Flag, Kept, Real
from jaxvjp.ops.matrices import legacy
from jaxvjp.ops.op import ARITHMETIC, COMPARE, Op, op
from jaxvjp.ops.pointwise import OTHER_TENSOR_OR_NUMBER, broadcast, not_implemented, supported
from jaxvjp.types.dtypes import INTEGRAL, fitted, from_numpy


def _ordered(name, input, other):
    """Both operands; torch's error for complex numbers, which have no order."""
    if jnp.iscomplexobj(input):
        raise NotImplementedError(f"{not_implemented(name, input)}\nComplex numbers have no order; compare `x.abs()`.")
    return broadcast(input, other)


def _comparison(name: str, operator: str, function: Any, meaning: str, aliases: str = "") -> Op:
    arities = {"arities": OTHER_TENSOR_OR_NUMBER}

    @op(name=name, promotion=COMPARE, operator=operator, inplace=True, aliases=aliases, doc=meaning, **arities)
    def row(input, other: Either):
        return function(*(broadcast(input, other) if name in ("eq", "ne") else _ordered(name, input, other)))

    return row


eq = _comparison("eq", "==", jnp.equal, "Whether the elements are equal.")
_comparison("ne", "!=", jnp.not_equal, "Whether the elements differ.", "not_equal")
_comparison("lt", "<", jnp.less, "Whether the elements of `input` are smaller.", "less")
_comparison("le", "<=", jnp.less_equal, "Whether the elements of `input` are smaller or equal.", "less_equal")
_comparison("gt", ">", jnp.greater, "Whether the elements of `input` are larger.", "greater")
_comparison("ge", ">=", jnp.greater_equal, "Whether the elements of `input` are larger or equal.", "greater_equal")


def _logical(name: str, function: Any, meaning: str) -> None:
    """An op of two truth values; a number counts as true if it is not 0."""

    @op(name=name, promotion=COMPARE, inplace=True, doc=meaning)
    def row(input, other):
        return function(*broadcast(input, other))


_logical("logical_and", jnp.logical_and, "Whether both are true.")
_logical("logical_or", jnp.logical_or, "Whether one of the two is true.")
_logical("logical_xor", jnp.logical_xor, "Whether just one of the two is true.")


def _bitwise(name: str, kernel: str, function: Any, meaning: str, symbol: str, refused: str = "floats complex") -> None:
    """An op of the bits of two integers, or of two truth values."""
    columns: dict[str, Any] = {"operator": symbol, "arities": ((2, 3), (2, 3), (2, 3)), "doc": meaning}

    @op(name=name, promotion=ARITHMETIC, inplace=True, differentiable=False, **columns)
    def row(input: Either, other: Either):
        return function(*broadcast(supported(kernel, input, refused), other))


def _left(input, other):
    return _moved(jnp.left_shift, input, other)


def _moved(shift, input, other):
    # A shift by as many bits as there are, or by a negative number, gives 0.
    inside = (other >= 0) & (other < input.dtype.itemsize * 8)
    return jnp.where(inside, shift(input, jnp.where(inside, other, 0)), 0)


def _right(input, other):
    if jnp.issubdtype(input.dtype, jnp.unsignedinteger):
        return _moved(jnp.right_shift, input, other)
    last = input.dtype.itemsize * 8 - 1  # which leaves the sign
    return jnp.right_shift(input, jnp.where((other < 0) | (other > last), last, other).astype(input.dtype))


_bitwise("bitwise_and", "bitwise_and", jnp.bitwise_and, "The bits that both have.", "&")
_bitwise("bitwise_or", "bitwise_or", jnp.bitwise_or, "The bits that one of the two has.", "|")
_bitwise("bitwise_xor", "bitwise_xor", jnp.bitwise_xor, "The bits that just one of the two has.", "^")
NO_MASKS = "bool floats complex"
_bitwise("bitwise_left_shift", "lshift", _left, "The bits, moved up by `other` places.", "<<", NO_MASKS)
_bitwise("bitwise_right_shift", "rshift", _right, "The bits, moved down by `other` places.", ">>", NO_MASKS)


@op(inplace=True, differentiable=False)
def bitwise_not(input):
    """Every bit inverted; the negation of a truth value."""
    return jnp.bitwise_not(supported("bitwise_not", input, "floats complex"))


def _invertible(row, operands, static):
    if operands[0].aval.dtype.category > INTEGRAL:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not, operands, static


op(name="bitwise_not.operator", public="", operator="invert", rewrite=_invertible)(bitwise_not.function)


def _question(name: str, function: Any, meaning: str, **columns: Any) -> None:
    """A predicate of each element."""

    @op(name=name, differentiable=False, doc=meaning, **{"out": False, **columns})
    def row(input):
        return function(input)


def _infinite(name, value):
    def ask(input):
        if jnp.iscomplexobj(input):
            raise RuntimeError(f"{name} does not support complex inputs.")
        return input == value if jnp.issubdtype(input.dtype, jnp.floating) else jnp.zeros_like(input, bool)

    return ask


def _negative(input):
    if jnp.iscomplexobj(input):
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    if input.dtype == bool:
        return jnp.zeros_like(input)
    return jnp.signbit(input) if jnp.issubdtype(input.dtype, jnp.floating) else input < 0


_question("logical_not", jnp.logical_not, "Whether it is 0.", inplace=True, out=True)
_question("isnan", jnp.isnan, "Whether it is no number.")
_question("isinf", jnp.isinf, "Whether it is infinite.")
_question("isfinite", jnp.isfinite, "Whether it is a number, and not infinite.")
_question("isreal", jnp.isreal, "Whether its imaginary part is 0.")
_question("isposinf", _infinite("isposinf", jnp.inf), "Whether it is infinity.", out=True)
_question("isneginf", _infinite("isneginf", -jnp.inf), "Whether it is minus infinity.", out=True)
_question("signbit", _negative, "Whether its sign is minus, be it that of a zero.", out=True)


@op(differentiable=False, out=False)
def isclose(input, other, rtol: Real = 1e-5, atol: Real = 1e-8, equal_nan: Flag = False):
    """Whether `|input - other| <= atol + rtol * |other|`, or the two are equal."""
    if input.dtype != other.dtype:
        raise RuntimeError(f"{legacy(input)} did not match {legacy(other)}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    input, other = broadcast(input, other)
    close = input == other
    if equal_nan:
        close |= jnp.isnan(input) & jnp.isnan(other)
    if rtol == 0 and atol == 0:
        return close
    if from_numpy(input.dtype).category <= INTEGRAL:
        input, other = input.astype("float64"), other.astype("float64")
    distance = jnp.abs(input - other)
    return close | (jnp.isfinite(distance) & (distance <= atol + jnp.abs(rtol * other)))


def _fitting(row, operands, static):
    """RuntimeError for a number that a tensor of integers cannot hold; torch does not wrap it around here."""
    for one, two in (operands[1:], operands[:0:-1]):
        if type(one) is int and not isinstance(two, int | float | complex) and two.aval.dtype.category == INTEGRAL:
            fitted(one, two.aval.dtype)
    return row, operands, static


@op(
    promotion=ARITHMETIC,
    saves="condition",
    arities=((1, 1), (3, 4), (3, 3), (3, 3), (3, 3)),
    rounds_once=False,
    rewrite=_fitting,
)
def where(condition: Kept, input: Either, other: Either):
    """`input` where `condition` is true, `other` elsewhere."""
    if condition.dtype != bool and condition.dtype != jnp.uint8:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {legacy(condition)}"
        )
    input, other = broadcast(input, other)
    condition, _ = broadcast(condition, jax.ShapeDtypeStruct(jnp.broadcast_shapes(input.shape, other.shape), bool))
    return jnp.where(condition.astype(bool), input, other)

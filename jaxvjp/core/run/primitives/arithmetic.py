"""What NumPy computes element by element, where a function of its own does not mean the same."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxvjp.core.run.primitives.kinds import BOOL, Array, Call, Row, kind_of, rounded_once


def divided(equation: Any) -> Call | None:
    kind = kind_of(equation)
    if kind != "i":
        return np.divide if kind == "f" else None

    def divide(x: Array, y: Array) -> Array:
        by = np.where(y == 0, 1, y).astype(y.dtype)
        quotient = x // by
        quotient = quotient + ((x % by != 0) & ((x < 0) != (by < 0))).astype(x.dtype)
        return np.where(y == 0, np.array(-1).astype(x.dtype), quotient)

    return divide


def remainder(equation: Any) -> Call | None:
    kind = kind_of(equation)
    if kind != "i":
        return rounded_once("f", np.fmod)(equation)
    return lambda x, y: np.where(y == 0, x, np.fmod(x, np.where(y == 0, 1, y).astype(y.dtype)))


def sign(equation: Any) -> Call | None:
    kind = kind_of(equation)
    if kind == "f":
        return lambda x: np.where((x == 0) | np.isnan(x), x, np.sign(x))
    return np.sign if kind == "i" else None


def rounded(equation: Any) -> Call | None:
    if equation.params["rounding_method"] == jax.lax.RoundingMethod.TO_NEAREST_EVEN:
        return np.rint

    def away(x: Array) -> Array:
        whole = np.trunc(x)
        return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole).astype(x.dtype)

    return away


def integer_power(equation: Any) -> Call | None:
    y = equation.params["y"]
    kind = kind_of(equation)
    if kind not in "fi" or (kind == "i" and y < 0) or abs(y) > 64:
        return None

    def power(x: Array) -> Array:
        result, square, left = None, x, abs(y)
        while left:
            if left & 1:
                result = square if result is None else np.multiply(result, square)
            left >>= 1
            if left:
                square = np.multiply(square, square)
        if result is None:
            return np.ones_like(x)
        return np.divide(np.ones((), x.dtype), result) if y < 0 else result

    return power


def powered(equation: Any) -> Call | None:
    if kind_of(equation) != "f" or kind_of(equation, 1) not in "fi":
        return None

    def power(x: Array, y: Array) -> Array:
        # Of one exponent for all NumPy would take the square root, which is another power of -inf and of -0.
        shape = np.broadcast_shapes(x.shape, y.shape)
        return np.power(x, np.array(np.broadcast_to(y, shape or (1,)), x.dtype)).reshape(shape)

    return power


def cast(equation: Any) -> Call | None:
    before, after = equation.invars[0].aval.dtype, np.dtype(equation.outvars[0].aval.dtype)
    kind = kind_of(equation)
    if kind == "k" or (kind == "c" and after.kind != "c"):
        return None
    if after == BOOL:
        return lambda x: np.not_equal(x, np.zeros((), before))
    if kind != "f" or not jax.numpy.issubdtype(after, np.integer):
        return lambda x: x.astype(after)
    least, most = np.iinfo(after).min, np.iinfo(after).max

    def whole(x: Array) -> Array:
        """What is too large becomes the largest, as XLA has it, and what is no number 0."""
        x = x.astype(np.float64)
        inside = (x > least) & (x < most)
        result = np.where(inside, x, 0).astype(after)
        return np.where(x >= most, np.array(most, after), np.where(x <= least, np.array(least, after), result))

    return whole


def same_bits(equation: Any) -> Call | None:
    before, after = np.dtype(equation.invars[0].aval.dtype), np.dtype(equation.outvars[0].aval.dtype)
    return (lambda x: np.asarray(x).view(after)) if before.itemsize == after.itemsize else None


def shifted(logical: bool, left: bool) -> Row:
    def row(equation: Any) -> Call | None:
        dtype = np.dtype(equation.invars[0].aval.dtype)
        if dtype.kind == "u" and not left and not logical:
            return None
        bits = dtype.itemsize * 8
        unsigned = np.dtype(f"u{dtype.itemsize}")

        def shift(x: Array, by: Array) -> Array:
            far = (by < 0) | (by >= bits)
            by = np.where(far, 0 if left or logical else bits - 1, by).astype(dtype)
            if left:
                return np.where(far, np.zeros((), dtype), np.left_shift(x, by))
            if logical:
                moved = np.right_shift(np.asarray(x).view(unsigned), by.view(unsigned)).view(dtype)
                return np.where(far, np.zeros((), dtype), moved)
            return np.right_shift(x, by)

        return shift

    return row


def reciprocal_root(x: Array) -> Array:
    return np.divide(np.ones((), x.dtype), np.sqrt(x))


def logistic(x: Array) -> Array:
    one = np.ones((), x.dtype)
    return np.divide(one, np.add(one, np.exp(np.negative(x))))


def one_minus_square(x: Array) -> Array:
    return np.subtract(np.ones((), x.dtype), np.square(x))


def clamp(least: Array, x: Array, most: Array) -> Array:
    return np.minimum(np.maximum(x, least), most)


def itself(x: Array) -> Array:
    return x

"""What NumPy computes of primitives that give elements other places: broadcast, pad, sort, select."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from jaxvjp.core.run.primitives.kinds import Array, Call, is_numpys, kind_of


def reshaped(equation: Any) -> Call:
    shape, order = equation.params["new_sizes"], equation.params["dimensions"]
    return (lambda x: x.reshape(shape)) if order is None else lambda x: x.transpose(order).reshape(shape)


def broadcast(equation: Any) -> Call:
    shape, axes = equation.params["shape"], equation.params["broadcast_dimensions"]
    given = equation.invars[0].aval.shape
    between = [1] * len(shape)
    for axis, size in zip(axes, given, strict=True):
        between[axis] = size
    if tuple(between) == tuple(shape):
        return lambda x: x.reshape(shape)
    return lambda x: np.broadcast_to(x.reshape(between), shape)


Padding = Sequence[tuple[int, int, int]]
"""For each dimension what comes before, after, and between each two: negative before and after take away."""


def padding(shape: Sequence[int], config: Padding) -> Call | None:
    """What pads an array of that shape with a value; None where more is taken away than there is."""
    spread = [max(0, size + (size - 1) * inner) for size, (_, _, inner) in zip(shape, config, strict=True)]
    if any(low + size + high < 0 for size, (low, high, _) in zip(spread, config, strict=True)):
        return None
    room = [max(low, 0) + size + max(high, 0) for size, (low, high, _) in zip(spread, config, strict=True)]
    inside = tuple(
        slice(max(low, 0), max(low, 0) + size, inner + 1) for size, (low, _, inner) in zip(spread, config, strict=True)
    )
    kept = tuple(slice(max(-low, 0), size - max(-high, 0)) for size, (low, high, _) in zip(room, config, strict=True))

    def pad(x: Array, value: Array) -> Array:
        result = np.full(room, value, x.dtype)
        result[inside] = x
        return result[kept]

    return pad


def padded(equation: Any) -> Call | None:
    return padding(equation.invars[0].aval.shape, equation.params["padding_config"])


def stacked(equation: Any) -> Call:
    return lambda *each: np.stack(each, axis=equation.params["axis"])


def unstacked(equation: Any) -> Call:
    return lambda x: [*np.moveaxis(x, equation.params["axis"], 0)]


def separated(equation: Any) -> Call:
    axis = equation.params["axis"]
    cuts = [*accumulate(equation.params["sizes"])][:-1]
    return lambda x: np.split(x, cuts, axis=axis)


def in_order(equation: Any) -> Call | None:
    axis, keys = equation.params["dimension"], equation.params["num_keys"]
    if any(not is_numpys(each.aval.dtype) or each.aval.dtype.kind == "c" for each in equation.invars[:keys]):
        return None

    def sort(*operands: Array) -> list[Array]:
        if len(operands) == 1:
            return [np.sort(operands[0], axis=axis, kind="stable")]
        order = np.lexsort(operands[:keys][::-1], axis=axis)
        return [np.take_along_axis(operand, order, axis) for operand in operands]

    return sort


def selected(equation: Any) -> Call:
    if kind_of(equation) == "b":
        return lambda which, no, yes: np.where(which, yes, no)

    def select(which: Array, *cases: Array) -> Array:
        result = cases[0]
        for number, case in enumerate(cases[1:], 1):
            result = np.where(which == number, case, result)
        return result

    return select


def counted(equation: Any) -> Call:
    dtype, shape, axis = (equation.params[each] for each in ("dtype", "shape", "dimension"))

    def iota() -> Array:
        numbers = np.arange(shape[axis]).astype(dtype)
        return np.broadcast_to(numbers.reshape([-1 if each == axis else 1 for each in range(len(shape))]), shape)

    return iota

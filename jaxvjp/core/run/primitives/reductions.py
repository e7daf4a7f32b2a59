"""What NumPy computes of sums, extremes and their running forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxvjp.core.run.primitives.kinds import BOOL, Array, Call, Row, computed_in, kind_of


def reduced(function: Any, initial: Callable[[Any], Any]) -> Row:
    def row(equation: Any) -> Call | None:
        dtype, axes = equation.invars[0].aval.dtype, tuple(equation.params["axes"])
        start = initial(np.dtype(dtype))
        if start is None:
            return None
        wide = computed_in(dtype)
        start = start.astype(wide)
        return lambda x: function.reduce(x.astype(wide, copy=False), axis=axes, dtype=wide, initial=start).astype(dtype)

    return row


def number(value: Any) -> Callable[[Any], Any]:
    """That number, in the type asked for; None for types that are no numbers."""
    return lambda dtype: None if dtype == BOOL else np.array(value).astype(dtype)


def extreme(sign: int) -> Callable[[Any], Any]:
    """The least number of a type for -1, the largest for 1."""

    def initial(dtype: Any) -> Any:
        if dtype == BOOL or dtype.kind == "c":
            return None
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            return np.array(info.max if sign > 0 else info.min, dtype)
        return np.array(sign * np.inf).astype(dtype)

    return initial


def bitwise(function: Any, all_ones: bool) -> Row:
    def row(equation: Any) -> Call | None:
        dtype, axes = np.dtype(equation.invars[0].aval.dtype), tuple(equation.params["axes"])
        start = np.array(all_ones) if dtype == BOOL else np.array(-1 if all_ones else 0).astype(dtype)
        return lambda x: function.reduce(x, axis=axes, initial=start)

    return row


def place_of(function: Any) -> Row:
    """`argmax` and its kin: where the first of the extreme elements is; a NaN is one."""

    def row(equation: Any) -> Call | None:
        (axis,), dtype = equation.params["axes"], equation.params["index_dtype"]
        if kind_of(equation) not in "fi" or not equation.invars[0].aval.shape[axis]:
            return None
        wide = computed_in(equation.invars[0].aval.dtype)
        return lambda x: np.asarray(function(x.astype(wide, copy=False), axis=axis)).astype(dtype)

    return row


def running(function: Any) -> Row:
    def row(equation: Any) -> Call | None:
        axis, reverse, dtype = equation.params["axis"], equation.params["reverse"], equation.invars[0].aval.dtype
        if kind_of(equation) not in "fi":
            return None
        turned = (slice(None),) * axis + (slice(None, None, -1),)
        wide = computed_in(dtype)

        def run(x: Array) -> Array:
            x = x[turned] if reverse else x
            x = function.accumulate(x.astype(wide), axis=axis, dtype=wide).astype(dtype)
            return x[turned] if reverse else x

        return run

    return row

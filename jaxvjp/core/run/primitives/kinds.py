"""Of which kind the elements of an equation are, and in which type NumPy computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

Array = Any
"""NumPy's array, or its scalar: what NumPy's functions make of arrays without dimensions."""
Call = Callable[..., Any]
Row = Callable[[Any], Call | None]
"""From an equation the function that computes it; None where NumPy has none that means the same."""
BOOL = np.dtype(bool)


def kind_of(equation: Any, place: int = 0) -> str:
    """ "f" for real floating point, "c" for complex, "i" for integers, "b" for booleans, "k" for keys and the like."""
    dtype = equation.invars[place].aval.dtype
    if dtype == BOOL:
        return "b"
    for kind, of in (("f", np.floating), ("c", np.complexfloating), ("i", np.integer)):
        if jax.numpy.issubdtype(dtype, of):
            return kind
    return "k"


def is_numpys(dtype: Any) -> bool:
    """Whether a type is NumPy's own, and not one such as bfloat16 of which it knows arithmetic only."""
    return np.dtype(dtype).kind in "biufc"


def computed_in(dtype: Any) -> Any:
    """The type to compute in: 32 bits for real numbers of 16, which are then rounded once; else their own."""
    narrow = jax.numpy.issubdtype(dtype, np.floating) and dtype.itemsize <= 2
    return np.dtype(np.float32 if narrow else dtype)


def of_kinds(kinds: str, function: Call) -> Row:
    """A function of arrays alone, where their elements are of those kinds."""
    return lambda equation: function if kind_of(equation) in kinds else None


def rounded_once(kinds: str, function: Call) -> Row:
    """The same; 16 bits are computed in 32, and rounded once."""

    def row(equation: Any) -> Call | None:
        if kind_of(equation) not in kinds:
            return None
        dtype = equation.outvars[0].aval.dtype
        wide = computed_in(equation.invars[0].aval.dtype)
        if wide == equation.invars[0].aval.dtype:
            return function
        return lambda *operands: function(*[operand.astype(wide) for operand in operands]).astype(dtype)

    return row

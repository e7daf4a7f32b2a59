"""Orthogonal polynomials, by their recurrences.

The order may be a tensor: the recurrence runs up to the largest order, and each element keeps the value at its own. As
in torch, they have no gradient.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Either
from jaxvjp.ops.op import FLOAT, op
from jaxvjp.ops.pointwise import broadcast, supported


class Family(NamedTuple):
    """A family of orthogonal polynomials; that of order 0 is 1.

    Attributes:
        second: the polynomial of order 1.
        step: gives the polynomial of order k + 1 from k, x, and those of order k and k - 1.
        shifted: whether they are evaluated at `2x - 1` in place of x.
        bounded: whether torch gives NaN for orders whose values overflow the dtype.
    """

    meaning: str
    second: Callable[[Any], Any]
    step: Callable[..., Any]
    shifted: bool = False
    bounded: bool = False


def _chebyshev(kind: str, second: Callable[[Any], Any], shifted: bool = False) -> Family:
    named = f"{'shifted ' * shifted}Chebyshev polynomial of the {kind} kind"
    return Family(named, second, lambda k, x, current, last: 2 * x * current - last, shifted)


CHEBYSHEV: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "t": ("first", lambda x: x),
    "u": ("second", lambda x: 2 * x),
    "v": ("third", lambda x: 2 * x - 1),
    "w": ("fourth", lambda x: 2 * x + 1),
}
FAMILIES = {
    **{f"chebyshev_polynomial_{letter}": _chebyshev(*each) for letter, each in CHEBYSHEV.items()},
    **{f"shifted_chebyshev_polynomial_{letter}": _chebyshev(*each, shifted=True) for letter, each in CHEBYSHEV.items()},
    "hermite_polynomial_h": Family(
        "physicist's Hermite polynomial",
        lambda x: 2 * x,
        lambda k, x, current, last: 2 * x * current - 2 * k * last,
        bounded=True,
    ),
    "hermite_polynomial_he": Family(
        "probabilist's Hermite polynomial",
        lambda x: x,
        lambda k, x, current, last: x * current - k * last,
        bounded=True,
    ),
    "laguerre_polynomial_l": Family(
        "Laguerre polynomial",
        lambda x: 1 - x,
        lambda k, x, current, last: ((2 * k + 1 - x) * current - k * last) / (k + 1),
    ),
    "legendre_polynomial_p": Family(
        "Legendre polynomial", lambda x: x, lambda k, x, current, last: ((2 * k + 1) * x * current - k * last) / (k + 1)
    ),
}


def _declare(name: str, family: Family) -> None:
    meaning = f"The {family.meaning} of order `n`, cut to a whole number; 0 where that is negative."

    @op(name=f"special_{name}", promotion=FLOAT, differentiable=False, doc=meaning)
    def row(x: Either, n: Either):
        x, n = jnp.broadcast_arrays(*broadcast(supported(name, x, "short complex"), n))
        order = jnp.trunc(n).astype("int64")
        place = 2 * x - 1 if family.shifted else x
        first, second = jnp.ones_like(place), family.second(place)

        def advance(k, state):
            last, current, found = state
            following = family.step(k.astype(place.dtype), place, current, last).astype(place.dtype)
            return current, following, jnp.where(order == k + 1, following, found)

        found = jnp.where(order < 0, 0, jnp.where(order == 0, first, second)).astype(place.dtype)
        largest = jnp.max(order, initial=1)
        *_, found = jax.lax.fori_loop(jnp.int64(1), largest, advance, (first, second.astype(place.dtype), found))
        if family.bounded:
            found = jnp.where(order > (128 if place.dtype == jnp.float32 else 512), jnp.nan, found)
        return found


for _name, _family in FAMILIES.items():
    _declare(_name, _family)

"""A registry of torch's functions that are more than one op, by the places where torch has them.

A row of `ops` says in its columns where torch has it; a function of tensors (`split`, which returns many views;
`nonzero`, whose shape depends on values) says the same with `@public`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from jaxvjp.tensor.docstrings import complete

F = TypeVar("F", bound=Callable[..., Any])

PUBLISHED: dict[tuple[str, str], Callable[..., Any]] = {}
"""By place ("method", "function", "linalg", "nn.functional", ...) and name."""


def published_at(place: str, name: str) -> Callable[..., Any]:
    """The function there. A staged step compares every entry of a table that its code names, but not what we call."""
    return PUBLISHED[place, name]


WRITING_OUT: set[Callable[..., Any]] = set()
"""Functions that also take `out=`."""


def public(
    places: str = "method function", name: str | None = None, aliases: str = "", out: bool = False
) -> Callable[[F], F]:
    """Puts the decorated function at torch's `places`, under its own or another `name`, and under `aliases` as well.

    `aliases` is text as in a row: `"moveaxis special.foo"`. As a method its first parameter is the tensor.
    With `out` the function takes `out=`, a tensor of the result's dtype that shares no memory with the arguments.
    """

    def put(function: F) -> F:
        function.__name__ = name or function.__name__
        for place in names(places.split(), function.__name__, aliases.split()):
            if place in PUBLISHED:
                raise ValueError(f"two functions for {place}")
            PUBLISHED[place] = function
        complete(function, *next(names(places.split(), function.__name__, aliases.split())), out=out)
        if out:
            WRITING_OUT.add(function)
        return function

    return put


def names(places: Iterable[str], own: str, aliases: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of a place and a name there: its own name in all its places, an alias in the place that it begins with.

    A bare alias is both a method and a function.
    """
    for place in places:
        yield place, own
    for alias in aliases:
        place, _, name = alias.rpartition(".")
        for each in [place] if place else ["method", "function"]:
            yield each, name

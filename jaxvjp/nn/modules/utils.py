"""torch's helpers that make a tuple of one number for all dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def _ntuple(count: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(given: Any) -> tuple[Any, ...]:
        return tuple(given) if isinstance(given, Iterable) else (given,) * count

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")

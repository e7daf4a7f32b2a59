"""The named tuples that functions with several results return, as `torch.return_types`: `isinstance(x.max(0), max)`."""

from __future__ import annotations

from functools import cache
from typing import Any

from jaxvjp.library.histograms import Histogram, HistogramDD
from jaxvjp.ops.op import REGISTRY


@cache
def _types() -> dict[str, Any]:
    found = [each.returns for each in REGISTRY.values() if each.returns is not None]
    return {each.__name__.replace(".", "_"): each for each in (*found, Histogram, HistogramDD)}


def __dir__() -> list[str]:
    return sorted(_types())


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name not in _types():
        raise AttributeError(f"module 'jaxvjp.return_types' has no attribute {name!r}")
    return _types()[name]

"""What was found at a place, and whether it still is so: `Place`, `Seen`, and `checks`, the same as text.

Numbers and texts are compared by their value, anything else by identity, and what is in a container by what it holds.
No code of the user's runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.staging.purity import MISSING, PLAIN
from jaxvjp.tensor.tensor import Tensor


class Place(NamedTuple):
    """Where a value is found: an `item` of a container, an `attribute` of an object, the function of a `method`, or the
    `contents` that a function (`key`) tells."""

    kind: str
    container: Any
    key: Any

    def read(self) -> Any:
        """What is there now; MISSING if nothing is."""
        try:
            if self.kind == "contents":
                return self.key(self.container)
            if self.kind == "item":
                return self.container[self.key]
            found = getattr(self.container, self.key)
            return found.__func__ if self.kind == "method" else found
        except (LookupError, AttributeError, ValueError):  # ValueError for an empty cell
            return MISSING

    def text(self, container: str, key: str) -> str:
        """The expression that reads it, where `container` and `key` are called that."""
        if self.kind == "contents":
            return f"{key}({container})"
        if self.kind == "item":
            return f"{container}[{key}]"
        return f"{container}.{self.key}" + (".__func__" if self.kind == "method" else "")


class Seen(NamedTuple):
    """What was found at a place, and of a tensor what a step may ask it without reading its values."""

    place: Place
    value: Any
    asked: Any = None

    def same(self) -> bool:
        """Whether it still is as it was; for a tensor, whether there still is one like it."""
        now = self.place.read()
        return asked(now) == self.asked if issubclass(type(self.value), Tensor) else same(now, self.value)


def asked(tensor: Any) -> Any:
    return (type(tensor), tensor.node.aval, tensor.requires_grad) if issubclass(type(tensor), Tensor) else None


def same(now: Any, before: Any) -> bool:
    """Whether two values mean the same to a step. No `__eq__` of the user's is called."""
    if now is before:
        return True
    if type(now) is not type(before):
        return False
    if type(now) is list:  # of what is in a container
        return len(now) == len(before) and (all(map(is_, now, before)) or all(map(same, now, before)))
    return (type(now) in PLAIN or type(now) is Bytes) and bits(now) == bits(before)


def bits(value: Any) -> Any:
    """What is equal for equal numbers only: zeros of either sign are not, and what is no number is itself."""
    return repr(value) if type(value) in (float, complex) else value


class Same:
    """Stands for an object where it is compared: equal for the same one only."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


class Bytes(NamedTuple):
    """What is in memory, and how it is meant."""

    shape: tuple[int, ...]
    dtype: str
    bytes: bytes


def bytes_of(memory: Any) -> Bytes:
    if isinstance(memory, np.ndarray):
        return Bytes(memory.shape, str(memory.dtype), memory.tobytes())
    view = memoryview(memory)
    return Bytes(tuple(view.shape or ()), view.format, view.tobytes())


def checks(seen: list[Seen], names: dict[str, Any]) -> Iterator[str]:
    """Expressions that are true where something is not as it is now; what they name goes into `names`."""
    for number, (place, _, asks) in enumerate(seen):
        now = place.read()
        names[f"container{number}"], names[f"key{number}"], names[f"seen{number}"] = *place[1:], now
        read = place.text(f"container{number}", f"key{number}")
        if type(now) in (int, str) or (type(now) is float and now != 0):
            same_ = f"type({read}) is {type(now).__name__} and {read} == seen{number}"
            yield f"({read} is not seen{number} and not ({same_}))"
        elif type(now) in (list, Bytes) and place.kind == "contents":
            names["alike"] = same
            yield f"not alike({read}, seen{number})"
        else:
            yield f"{read} is not seen{number}"
        if asks is not None:
            names["asked"], names[f"asked{number}"] = asked, asked(now)
            yield f"asked(seen{number}) != asked{number}"

"""What a step found around it, and whether that has changed: `Place`, `Seen`, and `checks`, the comparison as code.

Numbers and texts are compared by value, other objects by identity, containers by their contents as well. No code of the
user's runs.
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
    `contents` that the function `key` returns for an object."""

    kind: str
    container: Any
    key: Any

    def read(self) -> Any:
        """The value there now, or MISSING."""
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
        """The Python expression that reads it, given the names of the container and of the key."""
        if self.kind == "contents":
            return f"{key}({container})"
        if self.kind == "item":
            return f"{container}[{key}]"
        return f"{container}.{self.key}" + (".__func__" if self.kind == "method" else "")


class Seen(NamedTuple):
    """What was found at a place; for a tensor, what a step may ask it without reading its values, such as its shape."""

    place: Place
    value: Any
    asked: Any = None

    def same(self) -> bool:
        """Whether the same is there now; for a tensor, whether one with the same properties is."""
        now = self.place.read()
        return asked(now) == self.asked if issubclass(type(self.value), Tensor) else same(now, self.value)


def asked(tensor: Any) -> Any:
    return (type(tensor), tensor.__node__.aval, tensor.requires_grad) if issubclass(type(tensor), Tensor) else None


def same(now: Any, before: Any) -> bool:
    """Whether a step may be replayed with `now` in place of `before`. No `__eq__` of the user's is called."""
    if now is before:
        return True
    if type(now) is not type(before):
        return False
    if type(now) is list:  # the contents of a container
        return len(now) == len(before) and (all(map(is_, now, before)) or all(map(same, now, before)))
    return (type(now) in PLAIN or type(now) is Bytes) and bits(now) == bits(before)


def bits(value: Any) -> Any:
    """A key that is equal for identical floats only: 0.0 and -0.0 differ, and nan equals itself."""
    return repr(value) if type(value) in (float, complex) else value


class Identity:
    """Wraps an object so that `==` and `hash` go by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.value is other.value


class Bytes(NamedTuple):
    """The bytes of an array or a buffer, with its dtype and shape."""

    shape: tuple[int, ...]
    dtype: str
    bytes: bytes


def bytes_of(memory: Any) -> Bytes:
    if isinstance(memory, np.ndarray):
        return Bytes(memory.shape, str(memory.dtype), memory.tobytes())
    view = memoryview(memory)
    return Bytes(tuple(view.shape or ()), view.format, view.tobytes())


def checks(seen: list[Seen], names: dict[str, Any]) -> Iterator[str]:
    """Expressions, each true if something in `seen` has changed; the objects that they name are put into `names`."""
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

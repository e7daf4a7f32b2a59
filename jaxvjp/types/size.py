"""Shapes, as `torch.Size`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


class Size(tuple[int, ...]):
    """A shape, as `torch.Size`: a tuple with torch's name and `numel()`, whose slices and sums are shapes again."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        """TypeError where an entry is no integer."""
        shape = tuple.__new__(cls, sizes)
        for position, each in enumerate(shape):
            if type(each) is not int:
                if not hasattr(each, "__index__"):
                    raise TypeError(
                        f"torch.Size() takes an iterable of 'int' (item {position} is '{type(each).__name__}')"
                    )
                return tuple.__new__(cls, [int(each.__index__()) for each in shape])
        return shape

    def numel(self) -> int:
        """How many elements a tensor of this shape has."""
        return math.prod(self)

    def __getitem__(self, key: Any) -> Any:
        found: Any = tuple.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            if hasattr(type(other), "__radd__"):
                return NotImplemented
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size([*self, *other])

    def __radd__(self, other: Any) -> Any:
        return Size([*other, *self]) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

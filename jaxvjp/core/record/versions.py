"""Counts what happens: nodes that are recorded (`next_serial`) and in-place writes (`Versions`, torch's `_version`)."""

from __future__ import annotations

from itertools import count
from typing import Any
from weakref import WeakSet

from jaxvjp.core.record.user_lines import UserLine

next_serial = count().__next__
"""The next number in the order of recording: 0 for the first node, 1 for the second."""


class Versions:
    """How often some memory was written in place, as torch counts it. A tensor, its views and its `detach()` share one.

    A node that shows this memory notes the count (`Node.version`). When a backward pass reads the node later and the
    count has grown, torch would have lost the value that it saved, and the old node's must not be used: torch's error
    "modified by an inplace operation".

    Attributes:
        count: the number of writes so far; it is `Tensor._version`.
        where: the user's line of the last write.
        last: the number of the last write, by `next_serial`.
        left: storages that a tensor showed before `.data =` gave it another, and that others may show still.
    """

    __slots__ = ("count", "last", "left", "where")
    last_write = -1
    """The number, by `next_serial`, of the last write to any memory. A graph recorded after it needs no check."""
    last_detach = -1
    """Likewise that of the last `detach_()`."""

    def __init__(self) -> None:
        self.count = 0
        self.last = -1
        self.where: UserLine = None
        self.left: WeakSet[Any] | None = None

    def leave(self, storage: Any) -> None:
        """Notes that one of the tensors no longer shows `storage`."""
        if self.left is None:
            self.left = WeakSet()
        self.left.add(storage)

    def written(self, where: UserLine) -> None:
        """Counts a write by the user's line `where`."""
        self.where = where
        self.count += 1
        Versions.last_write = self.last = next_serial()
        for storage in self.left or ():
            storage.version += 1  # in torch the tensors that share a count count each other's writes


class OwnVersions(Versions):
    """The count of an alias that was taken of an inference tensor outside of inference mode: the alias may be written.

    In torch an inference tensor has no count, and so refuses a write; `x.detach()` and `x.data` have one of their own.
    """

    __slots__ = ()

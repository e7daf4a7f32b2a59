"""Counts what happens: nodes that are recorded (`next_serial`) and in-place writes (`Versions`, torch's `_version`)."""

from __future__ import annotations

from itertools import count
from typing import Any
from weakref import WeakSet

from jaxvjp.core.record.user_lines import UserLine

serials = count()
next_serial = serials.__next__
"""The next number in the order of recording: 0 for the first node, 1 for the second."""


class Latest:
    """When memory was last changed, by `next_serial`. A graph recorded after that needs no check.

    Attributes:
        write: of any memory in place.
        detach: of any tensor, by `detach_()`.
    """

    def __init__(self) -> None:
        self.write = self.detach = -1


latest = Latest()


class Versions:
    """How often some memory was written in place, as torch counts it. A tensor, its views and its `detach()` share one.

    A node that shows this memory notes the count (`Node.version`). When a backward pass reads the node later and the
    count has grown, torch would have lost the value that it saved, and the old node's must not be used: torch's error
    "modified by an inplace operation".

    Attributes:
        count: the number of writes so far; it is `Tensor._version`.
        where: the user's line of the last write.
        last: the number of the last write, by `next_serial`.
        spread_over: the storages that these tensors show, where `.data =` gave one of them another; else None.
    """

    __slots__ = ("count", "last", "spread_over", "where")

    def __init__(self) -> None:
        self.count = 0
        self.last = -1
        self.where: UserLine = None
        self.spread_over: WeakSet[Any] | None = None

    def spread(self, *storages: Any) -> None:
        """Notes that the tensors show all of `storages`."""
        if self.spread_over is None:
            self.spread_over = WeakSet()
        self.spread_over.update(storages)

    def written(self, where: UserLine) -> None:
        """Counts a write by the user's line `where`."""
        self.where = where
        self.count += 1
        latest.write = self.last = next_serial()
        for storage in self.spread_over or ():
            storage.version += 1  # in torch the tensors that share a count count each other's writes


class OwnVersions(Versions):
    """The count of an alias that was taken of an inference tensor outside of inference mode: the alias may be written.

    In torch an inference tensor has no count, and so refuses a write; `x.detach()` and `x.data` have one of their own.
    """

    __slots__ = ()

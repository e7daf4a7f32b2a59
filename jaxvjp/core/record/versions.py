"""The order in which things are recorded and written.

In this room one can count a storage's writes as torch does (`Versions`).
"""

from __future__ import annotations

from itertools import count
from typing import Any
from weakref import WeakSet

from jaxvjp.core.record.user_lines import Where

next_serial = count().__next__
"""The next place in the order of recording."""


class Versions:
    """How often a storage was written in place, as torch counts: shared by a tensor, its views and `detach()`.

    A node that shows the contents notes the count of then (`Node.versions`, `Node.version`), so that anybody who saved
    it can see that the contents were written since.

    Attributes:
        count: the number of writes so far.
        where: the line of the last write.
        left: storages that one of the tensors has left for another, by `.data =`; the others may show them still.
    """

    __slots__ = ("count", "left", "where")
    last_write = -1
    """When, in the order of recording, any storage was last written: graphs recorded later need no check."""

    def __init__(self) -> None:
        self.count = 0
        self.where: Where = None
        self.left: WeakSet[Any] | None = None

    def leave(self, storage: Any) -> None:
        """Notes that one of the tensors is about to show another storage than this one."""
        if self.left is None:
            self.left = WeakSet()
        self.left.add(storage)

    def written(self, where: Where) -> None:
        """Counts a write by the line `where`: what showed the contents until now has been overwritten."""
        self.where = where
        self.count += 1
        Versions.last_write = next_serial()
        for storage in self.left or ():
            storage.version += 1  # for torch, who shares the count has been written, too

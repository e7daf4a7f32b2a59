"""The order in which things are recorded and written, and what was written in place since.

In this room one can count a storage's writes as torch does (`Versions`), and learn of a node that its contents were
overwritten, and where. `modes` and `places` come before it; what a node is, `graph` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any, NamedTuple
from weakref import ref

from jaxvjp.core.places import Where

next_serial = count().__next__
"""The next place in the order of recording."""


class Versions:
    """How often a storage was written in place, as torch counts: shared by a tensor, its views and `detach()`.

    Attributes:
        count: the number of writes so far.
        where: the line of the last write.
        shown: the nodes that show the contents as they are now, weakly.
    """

    __slots__ = ("count", "shown", "where")
    last_write = -1
    """When, in the order of recording, any storage was last written: graphs recorded later need no check."""

    def __init__(self) -> None:
        self.count = 0
        self.where: Where = None
        self.shown: list[ref[Any]] = []

    def show(self, node: Any) -> None:
        """Notes that `node` shows the contents as they are now."""
        self.shown.append(ref(node))

    def return_to(self, count: int, nodes: Iterable[Any]) -> None:
        """Takes back the writes since there were `count`: what of `nodes` they replaced is the contents again."""
        self.count = count
        for node in nodes:
            if node.overwritten is not None and node.overwritten.versions is self and node.overwritten.version >= count:
                node.overwritten = None
                self.show(node)

    def current(self) -> list[Any]:
        """The nodes that show the contents as they are now."""
        return [node for reference in self.shown if (node := reference()) is not None]

    def written(self, where: Where) -> None:
        """Counts a write by the line `where`: what showed the contents until now has been overwritten."""
        self.where = where
        for node in self.current():
            node.overwritten = Overwritten(self, self.count, self.where)
        self.count += 1
        self.shown = []
        Versions.last_write = next_serial()


class Overwritten(NamedTuple):
    """That the storage which showed a node was written in place: whose count, what it was then, and by which line."""

    versions: Versions
    version: int
    where: Where

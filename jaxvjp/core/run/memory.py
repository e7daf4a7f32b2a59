"""`Memory`: a bounded dict from the structure of a graph to what was made for it."""

from __future__ import annotations

import threading
from typing import Any, Generic, TypeVar

MEMORY = 1 << 21
"""The most elements that all keys of a `Memory` may have together. A key has about five for each operation."""
ENTRIES = 1024
"""The most keys of a `Memory`. Each may stand for a compiled program, and a process can map a limited number."""
Remembered = TypeVar("Remembered")


class Memory(Generic[Remembered]):
    """A bounded dict from the key of a `Survey` to what was made for that structure, such as a `Plan`.

    When it is full, the oldest entry is forgotten. docs/architecture.md lists all that is remembered, here and
    elsewhere.

    Args:
        remembers: False has it remember nothing (`types.accelerators`).
    """

    def __init__(self, remembers: bool = True, bound: int = MEMORY) -> None:
        self.remembers = remembers
        self.bound = bound
        self.size = 0
        self.known: dict[tuple[Any, ...], Remembered] = {}
        self.changing = threading.Lock()
        self.get = self.known.get

    def learn(self, key: tuple[Any, ...], value: Remembered) -> Remembered:
        """Remembers `value` and returns it. If another thread has learned the same key, its value is returned."""
        if not self.remembers:
            return value
        with self.changing:
            if key in self.known:
                return self.known[key]
            self.known[key] = value
            self.size += len(key)
            while len(self.known) > 1 and (self.size > self.bound or len(self.known) > ENTRIES):
                oldest = next(iter(self.known))
                del self.known[oldest]
                self.size -= len(oldest)
        return value

    def forget(self, key: tuple[Any, ...]) -> None:
        """Forgets what was learned for that key, if it still is known."""
        with self.changing:
            if self.known.pop(key, None) is not None:
                self.size -= len(key)

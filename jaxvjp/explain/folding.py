"""A long run of operations, folded by loop and by function: `folded`."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import NamedTuple

from jaxvjp.core.record.graph import Node
from jaxvjp.explain.names import statement

PERIOD = 64
"""The longest round of a loop, in operations."""
FEW = 3
"""At least this many rounds, or operations of a function, are folded."""


class Fold(NamedTuple):
    """Operations in the order of recording, and what is said of them: "50 rounds", "net()", or "" for a single one."""

    said: str
    nodes: list[Node]

    @property
    def lines(self) -> str:
        """The user's lines."""
        found = sorted({source.line for node in self.nodes if (source := statement(node.where)) is not None})
        if not found:
            return ""
        return f"line {found[0]}" if len(found) == 1 else f"lines {found[0]} to {found[-1]}"


def folded(nodes: Sequence[Node]) -> list[Fold]:
    """The operations, with those of a loop's rounds as one fold, else those of one call of a function."""
    keys = [(node.where, node.operation) for node in nodes]
    folds = []
    place = 0
    while place < len(nodes):
        period, rounds = _rounds(keys, place)
        size, said = period * rounds, f"{rounds} rounds"
        if rounds < FEW:
            code = _function(nodes[place])
            size = next((k for k, node in enumerate(nodes[place:]) if _function(node) is not code), len(nodes) - place)
            size, said = (size, f"{code.co_name}()") if code is not None and size >= FEW else (1, "")
        folds.append(Fold(said, list(nodes[place : place + size])))
        place += size
    return folds


def _rounds(keys: Sequence[object], place: int) -> tuple[int, int]:
    """The length of a round that begins here, and how often it follows itself; of all the one that folds most."""
    best = (1, 1)
    for period in range(1, min(PERIOD, (len(keys) - place) // FEW) + 1):
        first, rounds = keys[place : place + period], 1
        while keys[place + rounds * period : place + (rounds + 1) * period] == first:
            rounds += 1
        if rounds >= FEW and period * rounds > best[0] * best[1]:
            best = period, rounds
    return best


def _function(node: Node) -> CodeType | None:
    """The code of the function that an operation was recorded in; None at the level of a module."""
    code = None if node.where is None else node.where[0]
    return None if code is None or code.co_name.startswith("<") else code

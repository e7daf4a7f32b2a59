"""How a graph is computed, found out once per structure and remembered.

In this room one can look a graph over (`discover`, `survey`), which gives a key that is equal for equal structures,
and plan its computation (`Plan`): which programs to dispatch, on what, in which order. `compilation` comes before it.
From the second time on a structure costs one walk over its nodes and one look-up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from jaxvjp.core.compilation import Executable, executable
from jaxvjp.core.graph import Node, Number, recording_order
from jaxvjp.core.program import freeze, read_across, runs
from jaxvjp.ops.identity import variable

MEMORY = 1 << 21
"""How long the keys of one `Memory` may be together: a structure takes about five places per operation."""
KEPT, TRACKED = 1, 2
"""What a key says of an operation: that its value is to be kept, that it requires a gradient."""
Remembered = TypeVar("Remembered")


class Memory(Generic[Remembered]):
    """What was found out per structure. Bounded: what was learned first is forgotten first."""

    def __init__(self, bound: int = MEMORY) -> None:
        self.bound = bound
        self.size = 0
        self.known: dict[tuple[Any, ...], Remembered] = {}
        self.changing = threading.Lock()
        self.get = self.known.get

    def learn(self, key: tuple[Any, ...], value: Remembered) -> Remembered:
        """Remembers `value`; of two threads that learn the same, both get what the first one put there."""
        with self.changing:
            if key in self.known:
                return self.known[key]
            self.known[key] = value
            self.size += len(key)
            while self.size > self.bound and len(self.known) > 1:
                oldest = next(iter(self.known))
                del self.known[oldest]
                self.size -= len(oldest)
        return value


class Survey(NamedTuple):
    """A graph looked over: what has to be computed is numbered 0, 1, …, in the order of recording; what that reads
    and is there already, its leaves, -1, -2, …

    Attributes:
        operations: the nodes numbered from 0 on.
        leaves: those numbered from -1 downwards, Python numbers among them.
        number: the number of each.
        kept: the numbers of the operations whose values are to be kept.
        key: equal for graphs of equal structure of which the same is kept.
        regular: whether the key tells all: no hook, no Python step, nothing freed.
    """

    operations: list[Node]
    leaves: list[Node | Number]
    number: dict[Node | Number, int]
    kept: list[int]
    key: list[Any]
    regular: bool

    def nodes(self, constants: Sequence[Number] = ()) -> list[Any]:
        """What is numbered, so that its number is its index here; `constants` are numbered after the operations."""
        return [*self.operations, *constants, *reversed(self.leaves)]


def discover(start: Iterable[Node], seen: set[Any], differentiated: bool = False) -> tuple[list[Node], list[Node]]:
    """The operations to be done for `start`, and the leaves on the way that require a gradient, in no order.

    Those are the operations whose value is not known; where the graph is `differentiated`, also those that a gradient
    goes through. Passes over what is in `seen`, and adds to it what was found.
    """
    operations: list[Node] = []
    ends: list[Node] = []
    pending = [each for each in start if each not in seen]
    seen.update(pending)
    while pending:
        node = pending.pop()
        operation = node.operation
        if node.requires_grad and (operation is None or operation is variable):
            ends.append(node)
            if node.value is not None:
                continue
        elif node.value is not None and not (differentiated and node.requires_grad):
            continue
        operations.append(node)
        for each in node.inputs:
            if each not in seen:
                seen.add(each)
                if type(each) is Node:
                    pending.append(each)
    return operations, ends


def survey(operations: list[Node], wanted: Iterable[Node] = (), differentiated: bool = False) -> Survey:
    """Numbers the `operations` that were discovered. Kept are the values of `wanted` and of what the user holds."""
    operations.sort(key=recording_order)
    wanted = set(wanted)
    kept: list[int] = []
    regular = True
    number: dict[Node | Number, int] = {}
    leaves: list[Node | Number] = []
    key: list[Any] = []
    for position, node in enumerate(operations):
        if node.special or node.freed:
            regular = False
        key.append(node.operation)
        key.append(node.static)
        for each in node.inputs:
            read = number.get(each)
            if read is None:
                leaves.append(each)
                read = number[each] = -len(leaves)
            key.append(read)
        number[node] = position
        flags = TRACKED if differentiated and node.requires_grad else 0
        if node.value is None and (node in wanted or node.held):
            kept.append(position)
            flags |= KEPT
        key.append(flags)
    for each in leaves:
        key.append(each.aval)
        if differentiated:
            key.append(each.requires_grad)
            if type(each) is Node and each.special:
                regular = False
    return Survey(operations, leaves, number, kept, key, regular)


class Dispatch(NamedTuple):
    """One call of a compiled program: the numbers of what it reads and of what it gives, and of what dies with it."""

    executable: Executable
    reads: tuple[int, ...]
    gives: tuple[int, ...]
    last_reads: tuple[int, ...]


class Plan:
    """How to compute what is to be kept of a surveyed graph: one dispatch, or of a long graph one per piece.

    Attributes:
        dispatches: in the order in which they are made.
        outputs: the numbers of the nodes whose values `run` returns.
    """

    def __init__(self, surveyed: Survey) -> None:
        number = surveyed.number
        self.outputs = tuple(surveyed.kept)
        kept = {surveyed.operations[each] for each in surveyed.kept}
        pieces = runs(surveyed.operations)
        needed = read_across(pieces) | kept
        self.dispatches: list[Dispatch] = []
        dying = {number[node] for node in needed - kept}
        for piece in reversed(pieces):
            outputs = [node for node in piece if node in needed]
            program, leaves = freeze(piece, outputs)
            reads = tuple([number[each] for each in leaves])
            last = dying.intersection(reads)
            dying -= last
            gives = tuple([number[each] for each in outputs])
            self.dispatches.append(Dispatch(executable(program), reads, gives, tuple(last)))
        self.dispatches.reverse()

    def run(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """The values of `outputs`, given those of the leaves."""
        if len(self.dispatches) == 1:
            return self.dispatches[0].executable(leaves)
        values: dict[int, Any] = {}
        for call, reads, gives, last_reads in self.dispatches:
            results = call([values[each] if each >= 0 else leaves[-1 - each] for each in reads])
            values.update(zip(gives, results, strict=True))
            for each in last_reads:
                del values[each]
        return [values[each] for each in self.outputs]

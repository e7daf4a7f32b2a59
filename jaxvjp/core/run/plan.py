"""How a graph is computed, found out once per structure and remembered.

In this room one can look a graph over (`survey`), which gives a key that is equal for equal structures, and plan its
computation (`Plan`): which programs to dispatch, on what, in which order. From the second time on a structure costs one
walk over its nodes and one look-up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import jax

from jaxvjp.core.record.graph import Node, Number, is_held, recording_order
from jaxvjp.core.run.compilation import Executable, counters, executable
from jaxvjp.core.run.program import freeze, read_across, runs, weight_of
from jaxvjp.ops.identity import variable

MEMORY = 1 << 21
"""How long the keys of one `Memory` may be together: a structure takes about five places per operation."""
ENTRIES = 1024
"""How many structures a `Memory` may know: each may be a compiled program, and a process can map but so many."""
LONG = 24
"""Operations that are compiled as a whole at first sight, and no more."""
KEPT, KEPT_AND_TRACKED, HELD = 2, 3, 4
"""What a key says of an operation whose value is to be kept, or held; of others, whether they require a gradient."""
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
            while len(self.known) > 1 and (self.size > self.bound or len(self.known) > ENTRIES):
                oldest = next(iter(self.known))
                del self.known[oldest]
                self.size -= len(oldest)
        return value


class Survey:
    """A graph looked over, from its results back to what is there already.

    Attributes:
        nodes: all of it, each once, in the order in which it was met; a node's place here is its number.
        number: the number of each.
        operations: those of the nodes that have to be computed or differentiated; the others are leaves.
        kept: the numbers of the operations whose values are to be kept.
        key: equal for graphs of equal structure of which the same is kept.
        regular: whether the key tells all: no Python step, nothing freed, no gradient of a leaf that was written since,
            no hooks but those of leaves, which can be called with what comes of it.
    """

    def __init__(
        self,
        nodes: list[Any],
        number: dict[Node | Number, int],
        operations: list[Node],
        kept: list[int],
        key: tuple[Any, ...],
        regular: bool,
    ) -> None:
        self.nodes = nodes
        self.number = number
        self.operations = operations
        self.kept = kept
        self.key = key
        self.regular = regular


def survey(
    start: Iterable[Node],
    wanted: Iterable[Node],
    question: Iterable[Any] = (),
    added_to: Callable[[Node], Node | str] | None = None,
    differentiated: bool = False,
    create_graph: bool = False,
) -> Survey:
    """Looks over what `start` is computed from, as far as its value is not known; where the graph is `differentiated`,
    also as far as a gradient goes.

    Kept are the values of `wanted` and of what the user holds. `question` is whatever else tells two keys apart.
    `added_to` is asked for each leaf that requires a gradient, and what it answers belongs to the graph: a node, or a
    word. For a graph that is created in turn (`create_graph`) the key also tells what the user holds.
    """
    sought = set(wanted)
    nodes: list[Any] = list(dict.fromkeys(start))
    number: dict[Any, int] = {node: place for place, node in enumerate(nodes)}
    operations: list[Node] = []
    kept: list[int] = []
    key: list[Any] = [*question]
    regular = True
    stale: set[Node] = set()
    for place, found in enumerate(nodes):  # which grows meanwhile
        if type(found) is Number:
            key.append(found.aval)
            continue
        node: Node = found
        operation = node.operation
        tracked = differentiated and node.requires_grad
        if operation is not None and (node.value is None or (tracked and operation is not variable)):
            operations.append(node)
            key.append(operation)
            key.append(node.static)
            for each in node.inputs:
                read = number.get(each)
                if read is None:
                    read = number[each] = len(nodes)
                    nodes.append(each)
                key.append(read)
            if node.special:
                regular = regular and (operation is variable or not node.hooks) and _tells_all(node)
                key.append(None if node.edges is None else tuple([number.get(each) for each in node.edges]))
            if node.value is None and (is_held(node) or node in sought):
                kept.append(place)
                key.append(KEPT_AND_TRACKED if tracked else KEPT)
            elif create_graph and tracked and is_held(node):
                key.append(HELD)  # a graph that is created is cut there
            else:
                key.append(tracked)
            if operation is not variable:
                continue
        else:
            key.append(node.aval)
        if tracked:
            hooked = node.special and node.hooks
            if node.special:
                regular = regular and _tells_all(node) and not (hooked and added_to is None)
                key.append(bool(hooked))
            if node.stale:
                stale.add(node)
            into = "" if added_to is None or hooked else added_to(node)
            if type(into) is Node:
                if into not in number:
                    number[into] = len(nodes)
                    nodes.append(into)
                key.append(number[into])
            else:
                key.append(into)
    if stale and regular:  # only where its gradient is asked for: an update has the old value as an operand, too
        regular = not _read_for_a_gradient(operations, stale)
    return Survey(nodes, number, operations, kept, tuple(key), regular)


def _tells_all(node: Node) -> bool:
    """Whether nothing about a special node escapes a key: it just has edges of its own, or is a leaf with hooks."""
    if node.python or node.packed or node.step_hooks or node.retains or node.freed or node.original:
        return False
    return all(each in node.inputs for each in node.edges or ())


def _read_for_a_gradient(operations: list[Node], stale: set[Node]) -> bool:
    """Whether one of `operations` that passes a gradient on has one of `stale` as an operand."""
    return any(each in stale for node in operations if node.requires_grad for each in node.inputs)


sighted: Memory[bool] = Memory()


def first_sight(found: Survey) -> bool:
    """Whether a graph is long and was never looked over before: it may not come again, so compiling it whole waits."""
    if sum(map(weight_of, found.operations)) <= LONG or sighted.get(found.key):
        return False
    return sighted.learn(found.key, True)


class Dispatch:
    """One call of a compiled program. Places are those in a table of values, which it reads and adds to.

    Attributes:
        executable: what is called.
        arrays, packs: the places of its operands: of each array, and of the numbers of each pack with their dtype.
        gives: the places where its results go.
        last_reads: the places that nothing reads any more.
        turns: of a loop, how often it goes round, and where it begins to read each stack; else None.
    """

    def __init__(
        self,
        executable: Executable,
        arrays: tuple[int, ...],
        packs: tuple[tuple[Any, tuple[int, ...]], ...],
        gives: tuple[int, ...],
        last_reads: tuple[int, ...],
        turns: Any = None,
    ) -> None:
        self.executable = executable
        self.arrays = arrays
        self.packs = packs
        self.gives = gives
        self.last_reads = last_reads
        self.turns = turns

    def moved(self, to: Callable[[int], int]) -> Dispatch:
        """The same on another table, in which `to` tells where each place is."""

        def all_of(places: Iterable[int]) -> tuple[int, ...]:
            return tuple([to(each) for each in places])

        packs = tuple([(dtype, all_of(places)) for dtype, places in self.packs])
        arrays, gives, last_reads = all_of(self.arrays), all_of(self.gives), all_of(self.last_reads)
        return Dispatch(self.executable, arrays, packs, gives, last_reads, self.turns)


class Plan:
    """How to compute what is to be kept of a surveyed graph: one dispatch, or of a long graph one per piece.

    Attributes:
        dispatches: in the order in which they are made.
        outputs: the numbers of the nodes whose values they are for.
    """

    def __init__(self, dispatches: tuple[Dispatch, ...], outputs: tuple[int, ...]) -> None:
        self.dispatches = dispatches
        self.outputs = outputs

    def moved(self, to: Callable[[int], int]) -> Plan:
        """The same on another table, in which `to` tells where each place is."""
        return Plan(tuple([each.moved(to) for each in self.dispatches]), tuple([to(each) for each in self.outputs]))

    def run(self, values: list[Any], deferring: bool = False) -> None:
        """Fills a table, which has at each leaf's number its value, with the values of `outputs`.

        If `deferring`, it leaves out, as None, what is only shown and costs a program of its own.
        """
        dispatch: Dispatch
        for dispatch in self.dispatches:
            executable = dispatch.executable
            operands = [values[each] for each in dispatch.arrays]
            for pack, (dtype, places) in enumerate(dispatch.packs):
                operands.append(executable.packed(pack, [values[each] for each in places], dtype))
            if dispatch.turns is not None:
                operands.append(dispatch.turns)
            counters.dispatches += 1
            with jax.enable_x64(True):
                results = ((deferring and executable.deferring) or executable.compiled)(*operands)
            for result, place in enumerate(dispatch.gives):
                values[place] = results[result]
            for place in dispatch.last_reads:
                values[place] = None


def plan_of(found: Survey, unseen: bool = False) -> Plan:
    """The plan for a graph that was looked over without a derivative in mind; one that was `unseen` in short pieces."""
    number = found.number
    kept = {found.nodes[each] for each in found.kept}
    pieces = runs(sorted(found.operations, key=recording_order), unseen=unseen)
    needed = read_across(pieces) | kept
    dispatches: list[Dispatch] = []
    dying = {number[node] for node in needed - kept}
    for piece in reversed(pieces):
        outputs = [node for node in piece if node in needed]
        program, leaves = freeze(piece, outputs)
        compiled = executable(program)
        if unseen:
            compiled.may_run_eagerly()
        elif compiled.where is None:
            compiled.where = max(piece, key=recording_order).where
        reads = [number[each] for each in leaves]
        last = dying.intersection(reads)
        dying -= last
        arrays = tuple([reads[each] for each in compiled.arrays])
        packs = tuple([(dtype.numpy, tuple([reads[each] for each in of])) for dtype, of in compiled.packs.items()])
        dispatches.append(Dispatch(compiled, arrays, packs, tuple([number[each] for each in outputs]), tuple(last)))
    return Plan(tuple(reversed(dispatches)), tuple(found.kept))

"""Plans how to compute a graph: which compiled programs to call, on which values, in which order.

`survey` walks over the graph and makes a key, which is equal for graphs of equal structure. `plan_of` makes the `Plan`.
Callers keep it in a `Memory` under that key: the second step of a training loop costs the walk and a look-up.

Nodes have **places**: a survey numbers the nodes that it meets 0, 1, 2 and so on, and a plan reads and writes a list of
values in that order. As it names no nodes, the same plan runs on the next graph of the same structure.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import jax

from jaxvjp.core.record.graph import Node, Number, is_held, recording_order
from jaxvjp.core.run.compilation import Executable, counters, executable
from jaxvjp.core.run.program import freeze, in_pieces, read_across, weight_of
from jaxvjp.core.run.tiers import Compiling
from jaxvjp.ops.identity import variable

MEMORY = 1 << 21
"""The most elements that all keys of a `Memory` may have together. A key has about five for each operation."""
ENTRIES = 1024
"""The most keys of a `Memory`. Each may stand for a compiled program, and a process can map a limited number."""
LONG = 24
"""A graph of more operations than this is not compiled as a whole when it comes for the first time."""
KEPT, KEPT_AND_TRACKED, HELD = 2, 3, 4
"""Marks of an operation in a key. KEPT: its value is kept. KEPT_AND_TRACKED: so it is, and a cotangent may flow to it.
HELD: the user holds it, in a backward pass with `create_graph`. Others have False or True: whether a cotangent may flow
to them."""
Remembered = TypeVar("Remembered")


class Memory(Generic[Remembered]):
    """A bounded dict from the key of a `Survey` to what was made for that structure, such as a `Plan`.

    What was learned first is forgotten first. docs/architecture.md lists all that is remembered, here and elsewhere.
    """

    def __init__(self, bound: int = MEMORY) -> None:
        self.bound = bound
        self.size = 0
        self.known: dict[tuple[Any, ...], Remembered] = {}
        self.changing = threading.Lock()
        self.get = self.known.get

    def learn(self, key: tuple[Any, ...], value: Remembered) -> Remembered:
        """Remembers `value` and returns it. If another thread has learned the same key, its value is returned."""
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
    """The result of `survey`: a graph, from the nodes that are wanted back to nodes that have values.

    Attributes:
        nodes: its nodes and numbers, in the order in which they were met. The index here is the place of a node.
        number: the place of each node.
        operations: the nodes that have to be computed or differentiated. The others are leaves.
        kept: the places of the operations whose values are to be kept.
        key: equal for graphs of equal structure of which the same values are kept.
        regular: whether graphs with equal keys can be computed by one plan. Not so, if a node has a Python step or
            hooks (of other nodes than leaves), is freed, or is a leaf that was written since it was read.
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
    """Surveys the nodes that `start` is computed from, back to nodes that have values.

    Args:
        start: the nodes to begin at.
        wanted: those whose values are to be kept, besides those of nodes that the user holds.
        question: more to put into the key.
        added_to: called for each leaf that requires a gradient. It returns the node that its gradient will be added to,
            which then belongs to the graph, or a word that goes into the key.
        differentiated: whether to walk on, also behind nodes that have values, as far as a gradient flows.
        create_graph: whether the key also tells which nodes the user holds: a pullback is cut there (`engine`).
    """
    sought = set(wanted)
    nodes: list[Any] = list(dict.fromkeys(start))
    number: dict[Any, int] = {node: place for place, node in enumerate(nodes)}
    operations: list[Node] = []
    kept: list[int] = []
    key: list[Any] = [*question]
    regular = True
    stale: set[Node] = set()
    for place, found in enumerate(nodes):  # `nodes` grows while the loop runs
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
                key.append(HELD)  # the pullback is cut there
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
    if stale and regular:  # `w -= 0.1 * g` reads the old w as well, and passes no gradient to it
        regular = not _read_for_a_gradient(operations, stale)
    return Survey(nodes, number, operations, kept, tuple(key), regular)


def _tells_all(node: Node) -> bool:
    """Whether a key says all that matters of a special node: it only has `edges`, or is a leaf with hooks."""
    if node.python or node.packed or node.step_hooks or node.retains or node.freed or node.original or node.mutation:
        return False
    return all(each in node.inputs for each in node.edges or ())


def _read_for_a_gradient(operations: list[Node], stale: set[Node]) -> bool:
    """Whether one of `operations` passes a gradient to one of `stale`."""
    return any(each in stale for node in operations if node.requires_grad for each in node.inputs)


short_runs: Memory[list[int]] = Memory()
PATIENCE = 16
"""How often a structure runs in short pieces at the most. A run takes a twentieth of what tracing the whole takes."""


def runs_in_short_pieces(found: Survey) -> bool:
    """Whether a graph is long, and came too seldom to be run as a whole: it runs in short pieces, which graphs of other
    structures have as well, such as a recurrence over a sequence of another length.

    It counts the runs. If programs are compiled at once, a structure runs in short pieces once. If they run in NumPy
    first, it does so up to n / 2 times, at most `PATIENCE`, where n is the number of long structures seen so far: where
    there are many, a program of a whole graph would rarely be used again.
    """
    if sum(map(weight_of, found.operations)) <= LONG:
        return False
    seen = short_runs.get(found.key)
    if seen is None:
        short_runs.learn(found.key, [1])
        return True
    if seen[0] >= (min(len(short_runs.known) // 2, PATIENCE) if Compiling.waits() else 1):
        return False
    seen[0] += 1
    return True


class Dispatch:
    """One call of a compiled program, which reads values at some places and writes its results to others.

    Attributes:
        executable: the compiled program.
        arrays: the places of its operands that are arrays.
        packs: for each pack of Python numbers, its dtype and the places of the numbers.
        gives: the places of its results.
        last_reads: the places that no later dispatch reads: their values are dropped after the call.
        turns: of a loop (`loops.Loop`), its last operand: how many rounds, and at which entry it begins to read each
            stack. Else None.
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

    def renumbered(self, to: Callable[[int], int]) -> Dispatch:
        """The same with other places: `to(place)` instead of each place."""

        def all_of(places: Iterable[int]) -> tuple[int, ...]:
            return tuple([to(each) for each in places])

        packs = tuple([(dtype, all_of(places)) for dtype, places in self.packs])
        arrays, gives, last_reads = all_of(self.arrays), all_of(self.gives), all_of(self.last_reads)
        return Dispatch(self.executable, arrays, packs, gives, last_reads, self.turns)


class Plan:
    """How to compute the values of a surveyed graph that are kept: one dispatch, or one for each piece of a long graph.

    Attributes:
        dispatches: the calls, in their order.
        outputs: the places of the values that are kept.
    """

    def __init__(self, dispatches: tuple[Dispatch, ...], outputs: tuple[int, ...]) -> None:
        self.dispatches = dispatches
        self.outputs = outputs

    def renumbered(self, to: Callable[[int], int]) -> Plan:
        """The same with other places: `to(place)` instead of each place."""
        return Plan(
            tuple([each.renumbered(to) for each in self.dispatches]), tuple([to(each) for each in self.outputs])
        )

    def run(self, values: list[Any], deferring: bool = False) -> None:
        """Adds the values of `outputs` to `values`, which has the value of each leaf at its place.

        If `deferring`, primal outputs of a pullback that take a program of their own are left None (see
        `compilation.Apart`).
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


def plan_of(found: Survey, short_pieces: bool = False) -> Plan:
    """The plan for a survey that is not `differentiated`: pullbacks are nodes in it. See `runs_in_short_pieces`."""
    number = found.number
    kept = {found.nodes[each] for each in found.kept}
    pieces = in_pieces(sorted(found.operations, key=recording_order), short_pieces=short_pieces)
    needed = read_across(pieces) | kept
    dispatches: list[Dispatch] = []
    dying = {number[node] for node in needed - kept}
    for piece in reversed(pieces):
        outputs = [node for node in piece if node in needed]
        program, leaves = freeze(piece, outputs)
        compiled = executable(program)
        if short_pieces:
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

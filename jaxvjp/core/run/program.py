"""A recorded graph as plain data: `Program`.

In this room one can freeze nodes into a program (`freeze`) and read a program as a pure function of its leaves
(`replay`). It is what everything that runs, differentiates, shows or compares a program starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.ops.identity import item
from jaxvjp.ops.op import Aval, Op

PROGRAM_CACHE = 4096
PIECE = 256
"""Operations compiled together at the most. XLA's time and memory grow faster than a program: 512 chained adds of
different numbers were seen to take 20 GB to compile. Equal pieces of a long program share one compile."""
SHORT = 32
"""Operations compiled together where it is not known whether the program will ever be seen again."""


Equation = tuple[Op, tuple[Any, ...], tuple[int, ...]]
"""One operation of a program, its statics, and the numbers of what it reads: equation k is k, leaf k is -1 - k."""


class Program:
    """A pure function as data: equal structure makes an equal program, whatever the values of its leaves.

    Attributes:
        leaves: the abstract value of each argument; those of Python numbers are marked `number`.
        equations: the operations, each after what it reads.
        outputs: which results the function returns, numbered as an equation's inputs are.
        weight: how many operations it amounts to, those of programs inside it included.
    """

    __slots__ = ("_hash", "equations", "leaves", "outputs", "weight")

    def __init__(
        self, leaves: tuple[Aval, ...], equations: tuple[Equation, ...], outputs: tuple[int, ...], weight: int
    ) -> None:
        self.leaves = leaves
        self.equations = equations
        self.outputs = outputs
        self.weight = weight
        self._hash = hash((leaves, equations, outputs))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Program)
            and self._hash == other._hash
            and self.outputs == other.outputs
            and self.leaves == other.leaves
            and self.equations == other.equations
        )

    def __repr__(self) -> str:
        lines = [f"leaf {number}: {aval}" for number, aval in enumerate(self.leaves)]
        for number, (operation, static, inputs) in enumerate(self.equations):
            reads = ", ".join(f"e{each}" if each >= 0 else f"leaf {-1 - each}" for each in inputs)
            lines.append(f"e{number} = {operation.name}({reads}) {static or ''}".rstrip())
        return "\n".join([*lines, f"return {self.outputs}"])


intern = lru_cache(maxsize=PROGRAM_CACHE)(Program)
"""The one Program of a structure, while it is remembered: later comparisons are then of identity."""


def freeze(nodes: Iterable[Node], outputs: Sequence[Node]) -> tuple[Program, list[Node | Number]]:
    """The program that computes `outputs` by the operations of `nodes`, and the leaves to call it with.

    `nodes` come in the order of recording. Whatever they read that is not among them becomes a leaf.
    """
    number: dict[Node | Number, int] = {}
    leaves: list[Node | Number] = []
    equations: list[Equation] = []
    weight = 0
    node: Node
    for node in nodes:
        reads = []
        for each in node.inputs:
            position = number.get(each)
            if position is None:
                leaves.append(each)
                position = number[each] = -len(leaves)
            reads.append(position)
        number[node] = len(equations)
        operation: Any = node.operation
        equations.append((operation, node.static, tuple(reads)))
        weight += weight_of(node) if operation.carries_program else 1
    for each in outputs:
        if each not in number:  # an output that is itself a leaf, and that nothing reads
            leaves.append(each)
            number[each] = -len(leaves)
    returned = tuple([number[each] for each in outputs])
    return intern(tuple([each.aval for each in leaves]), tuple(equations), returned, weight), leaves


def weight_of(node: Node) -> int:
    """How many operations computing `node` amounts to: more than one where its op carries a program, none where it
    only takes an array out of a tuple."""
    operation = node.operation
    if operation is None or not operation.carries_program:
        return 0 if operation is item else 1
    return 1 + sum(each.weight for each in node.static if type(each) is Program)


def runs(
    nodes: Iterable[Node], ends_run: Callable[[Node], bool] = lambda node: False, unseen: bool = False
) -> list[list[Node]]:
    """`nodes` cut into runs of at most PIECE operations, and after each that `ends_run` picks.

    A node without weight stays with the one before it: what returns a tuple is never cut off from its items. A run
    within a loop of the user's has whole rounds of it, and so is like the next. Of a graph that is `unseen` the runs
    are short and follow the user's loops, so that a longer one has runs of the same kinds.
    """
    if unseen:
        return [[node for each in group for node in each] for group in _together(rounds(nodes, ends_run))]
    result: list[list[Node]] = []
    total, ended = 0, True
    for node in nodes:
        weight = weight_of(node)
        if not result or (weight and (ended or total + weight > PIECE)):
            rest = [] if ended else result[-1][_whole_rounds(result[-1]) :]
            total = sum(map(weight_of, rest))
            if total + weight > PIECE:
                rest, total = [], 0
            if rest:
                del result[-1][-len(rest) :]
            result.append(rest)
        result[-1].append(node)
        total += weight
        ended = ends_run(node) or (ended and not weight)
    return result


def _whole_rounds(run: list[Node]) -> int:
    """How much of a run are whole rounds of the loop that it was recorded by; all of it, if that is not seen."""
    lines = [(node.operation, node.where) for node in run]
    for length in range(1, len(run)):
        if lines[length] == lines[0] and lines[length:] == lines[:-length]:
            return len(run) - len(run) % length
    return len(run)


def rounds(nodes: Iterable[Node], ends_run: Callable[[Node], bool]) -> list[list[Node]]:
    """`nodes` cut where a line of the user's comes round again, which is what a loop looks like from here."""
    result: list[list[Node]] = []
    places: dict[Any, int] = {}  # where each node of the last round was recorded
    total = 0
    ended = True
    for node in nodes:
        weight = weight_of(node)
        if weight:
            before = places.get(node.where)
            if ended or total + weight > SHORT:
                result.append([])
                places, total = {}, 0
            elif before is not None:
                if before:  # what came before the loop is a round of its own
                    result[-1:] = [result[-1][:before], result[-1][before:]]
                result.append([])
                places, total = {}, 0
            places[node.where] = len(result[-1])
        result[-1].append(node)
        total += weight
        ended = ends_run(node)
    return result


def _together(found: list[list[Node]]) -> Iterator[list[list[Node]]]:
    """Rounds put together: of those alike 1, 2, 4, 8, as many as are short; of the others as many as come along.

    A program that is one operation, such as a pullback, stays alone: it has its size from here already.
    """
    place = 0
    while place < len(found):
        alike = _alike(found, place)
        weight = sum(map(weight_of, found[place]))
        taken = 1
        if _alone(found[place]):
            pass
        elif alike > 1:
            while 2 * taken <= alike and 2 * taken * weight <= SHORT:
                taken *= 2
        else:
            for other in range(place + 1, len(found)):
                weight += sum(map(weight_of, found[other]))
                if weight > SHORT or _alone(found[other]) or _alike(found, other) > 1:
                    break
                taken += 1
        yield found[place : place + taken]
        place += taken


def _alone(round_: list[Node]) -> bool:
    return any(node.operation is not None and node.operation.carries_program for node in round_)


def _alike(found: list[list[Node]], place: int) -> int:
    """How many rounds from `place` on were recorded by the same lines."""
    lines = [node.where for node in found[place]]
    count = 1
    while place + count < len(found) and count < SHORT and [node.where for node in found[place + count]] == lines:
        count += 1
    return count


def read_across(pieces: list[list[Node]]) -> set[Node]:
    """The nodes that a piece other than their own reads."""
    if len(pieces) == 1:
        return set()
    piece_of = {node: number for number, piece in enumerate(pieces) for node in piece}
    return {
        each
        for node, number in piece_of.items()
        for each in node.inputs
        if type(each) is Node and piece_of.get(each, number) != number
    }


def replay(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of `program` for one array per leaf; traceable, so `jax.vjp` and `jax.jit` apply to it."""
    results: list[Any] = []
    for operation, static, inputs in program.equations:
        operands = [results[each] if each >= 0 else arguments[-1 - each] for each in inputs]
        results.append(operation.call(static, operands))
    return tuple(results[each] if each >= 0 else arguments[-1 - each] for each in program.outputs)

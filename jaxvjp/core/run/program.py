"""A recorded graph as plain data, without values: `Program`. It is to a graph of nodes what a jaxpr is to a function.

`freeze(nodes, outputs)` makes a program of nodes. `replay(program, arrays)` computes its outputs: that is the pure
function that `jax.jit`, `jax.vjp`, `jax.jvp` and `jax.vmap` are applied to. `in_pieces` cuts the nodes of a long graph
into several lists, for a program each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.ops.identity import item
from jaxvjp.ops.op import Aval, Op

PROGRAM_CACHE = 4096
PIECE = 256
"""The most operations that are compiled as one program. XLA's time and memory grow faster than the program: to compile
512 adds of different numbers, one after the other, took 20 GB."""
SHORT = 32
"""The same for a graph that is seen for the first time, and may never come again."""


Equation = tuple[Op, tuple[Any, ...], tuple[int, ...]]
"""(op, its static arguments, its operands). An operand is a number: k is the result of equation k, -1 - k is leaf k.
`sin(x) * x` has the equations (sin, (), (-1,)) and (mul, (), (0, -1))."""


class Program:
    """A pure function as data. Graphs of equal structure make equal programs, whatever the values of their leaves.

    Attributes:
        leaves: the aval of each argument; `aval.number` marks a Python number.
        equations: the operations, each after those whose results it reads.
        outputs: the results that the function returns, numbered like the operands of an `Equation`.
        weight: the number of operations, counting also those in programs that an operation carries, as `pullback` does.
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
"""`Program(...)`, giving the same object for equal arguments, so that comparing programs is quick."""


def freeze(nodes: Iterable[Node], outputs: Sequence[Node]) -> tuple[Program, list[Node | Number]]:
    """The program that computes `outputs` with the operations of `nodes`, and the leaves to call it with.

    `nodes` are in the order of recording. An input of theirs that is not among them becomes a leaf.
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
        if each not in number:  # an output that is not among `nodes`, and that none of them reads
            leaves.append(each)
            number[each] = -len(leaves)
    returned = tuple([number[each] for each in outputs])
    return intern(tuple([each.aval.plain for each in leaves]), tuple(equations), returned, weight), leaves


def weight_of(node: Node) -> int:
    """How many operations `node` counts as: several, if its op carries a program; none, if it is an item of a tuple."""
    operation = node.operation
    if operation is None or not operation.carries_program:
        return 0 if operation is item else 1
    return 1 + sum(each.weight for each in node.static if type(each) is Program)


def in_pieces(
    nodes: Iterable[Node], ends_piece: Callable[[Node], bool] = lambda node: False, short_pieces: bool = False
) -> list[list[Node]]:
    """`nodes` cut into pieces of at most `PIECE` operations, and after each node for which `ends_piece` is true.

    A node without weight stays with the node before it: an op that returns a tuple is never cut off from its items.
    Where the user's code has a loop, a piece holds whole rounds of it. So the pieces of a long loop are equal programs,
    and are compiled once. `short_pieces` have 1, 2, 4 or 8 rounds of a loop in each: a loop that is longer the next
    time has pieces of the same kinds.
    """
    if short_pieces:
        return [
            list(chain.from_iterable(group))
            for stretch in _stretches(nodes, ends_piece)
            for group in _together(rounds(stretch))
        ]
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
        ended = ends_piece(node) or (ended and not weight)
    return result


def _whole_rounds(piece: list[Node]) -> int:
    """The number of nodes of `piece` that are whole rounds of a loop; all, if no loop shows in the nodes' lines."""
    lines = [(node.operation, node.where) for node in piece]
    for length in range(1, len(piece)):
        if lines[length] == lines[0] and lines[length:] == lines[:-length]:
            return len(piece) - len(piece) % length
    return len(piece)


def _stretches(nodes: Iterable[Node], ends_piece: Callable[[Node], bool]) -> list[list[Node]]:
    """`nodes` cut after each node for which `ends_piece` is true, and after the nodes without weight behind it."""
    result: list[list[Node]] = []
    ended = True
    for node in nodes:
        weight = weight_of(node)
        if not result or (ended and weight):
            result.append([])
            ended = False
        result[-1].append(node)
        ended = ended or ends_piece(node)
    return result


def rounds(nodes: Iterable[Node]) -> list[list[Node]]:
    """`nodes` cut before each node whose line has come already: there the next round of the user's loop begins."""
    result: list[list[Node]] = []
    places: dict[Any, int] = {}  # where each node of the last round was recorded
    total = 0
    for node in nodes:
        weight = weight_of(node)
        if weight or not result:
            before = places.get(node.where)
            if not result or total + weight > SHORT:
                result.append([])
                places, total = {}, 0
            elif before is not None:
                if before:  # the nodes before the loop become a round of their own
                    result[-1:] = [result[-1][:before], result[-1][before:]]
                result.append([])
                places, total = {}, 0
            places[node.where] = len(result[-1])
        result[-1].append(node)
        total += weight
    return result


def _together(found: list[list[Node]]) -> Iterator[list[list[Node]]]:
    """Groups of rounds for one piece each, of at most `SHORT` operations: 8, 4, 2 or 1 rounds of the same lines, or any
    number of other rounds.

    An op that carries a program, such as a pullback, is a piece of its own: its program was a piece of the graph.
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
    """How many rounds, from that at `place` on, were recorded by the same lines."""
    lines = [node.where for node in found[place]]
    count = 1
    while place + count < len(found) and count < SHORT and [node.where for node in found[place + count]] == lines:
        count += 1
    return count


def read_across(cut: list[list[Node]]) -> set[Node]:
    """The nodes that are read in another piece than their own."""
    if len(cut) == 1:
        return set()
    piece_of = {node: number for number, piece in enumerate(cut) for node in piece}
    return {
        each
        for node, number in piece_of.items()
        for each in node.inputs
        if type(each) is Node and piece_of.get(each, number) != number
    }


def replay(program: Program, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of `program`, given an array for each leaf. JAX can trace it."""
    results: list[Any] = []
    for operation, static, inputs in program.equations:
        operands = [results[each] if each >= 0 else arguments[-1 - each] for each in inputs]
        results.append(operation.call(static, operands))
    return tuple(results[each] if each >= 0 else arguments[-1 - each] for each in program.outputs)

"""Cuts the nodes of a long graph into pieces, each of which becomes a program of its own.

Pieces are cut at the user's lines only so that equal rounds of a loop become equal programs. In pieces of the usual
length rounds show by op and line (`_whole_rounds`), in short ones by the line (`_rounds`). `user_lines.loop_around`
finds the loop in the user's source, for the texts of errors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import groupby
from typing import Any

from jaxvjp.core.record.graph import Node
from jaxvjp.core.run.program import Frozen, weight_of
from jaxvjp.core.run.tiers import Compiling

PIECE = 256
"""The most operations that are compiled as one program. XLA's time and memory grow faster than the program: to compile
512 adds of different numbers, one after the other, took 20 GB."""
SHORT_PIECE = 32
"""The same for a graph that is seen for the first time, and may never come again, where programs run in NumPy first:
twice that where they do not, as each is a dispatch then. A loop of a length never seen takes 0.9 of the time."""
STAGED_PIECE = 1024
"""The same for a staged step without loops: what is staged is called often. As one program, a step of the small GPT of
`tools.bench_models` takes 0.7 of what it takes as four, and compiles as fast."""


def in_pieces(
    nodes: Iterable[Node],
    ends: Collection[Node] = (),
    short_pieces: bool = False,
    most: int | None = None,
) -> list[list[Node]]:
    """`nodes` cut into pieces of at most `most` (`PIECE`) operations, and after each that is among `ends`.

    A node without weight stays with the node before it: an op that returns a tuple is never cut off from its items.
    Where the user's code has a loop, a piece holds whole rounds of it. So the pieces of a long loop are equal programs,
    and are compiled once. `short_pieces` have 1, 2, 4, 8 or 16 rounds of a loop in each: a loop that is longer the next
    time has pieces of the same kinds.
    """
    if short_pieces:
        return [piece for stretch in _stretches(nodes, ends) for piece in _short_pieces(stretch)]
    most = most or PIECE
    result: list[list[Node]] = []
    total, ended = 0, True
    for node in nodes:
        weight = weight_of(node)
        if not result or (weight and (ended or total + weight > most)):
            rest = [] if ended else result[-1][_whole_rounds(result[-1]) :]
            total = sum(map(weight_of, rest))
            if total + weight > most:
                rest, total = [], 0
            if rest:
                del result[-1][-len(rest) :]
            result.append(rest)
        result[-1].append(node)
        total += weight
        ended = node in ends or (ended and not weight)
    return result


def _whole_rounds(piece: list[Node]) -> int:
    """The number of nodes of `piece` that are whole rounds of a loop; all, if no loop shows in the nodes' lines."""
    lines = [(node.operation, node.where) for node in piece]
    for length in range(1, len(piece)):
        if lines[length] == lines[0] and lines[length:] == lines[:-length]:
            return len(piece) - len(piece) % length
    return len(piece)


def in_same_pieces(nodes: list[Node], frozen: Iterable[Frozen]) -> list[list[Node]]:
    """`nodes` in short pieces: those that were frozen in short pieces before, for a walk back, as they were cut there,
    and those recorded after them, such as the pullbacks, now. All are cut now if there are others in between.
    """
    piece_of = {node: number for number, piece in enumerate(frozen) for node in piece.nodes}
    known = len([node for node in nodes if node in piece_of])
    if not all(node in piece_of for node in nodes[:known]):
        return _short_pieces(nodes)
    same = [list(piece) for _, piece in groupby(nodes[:known], piece_of.get)]
    return same + _short_pieces(nodes[known:])


def _stretches(nodes: Iterable[Node], ends: Collection[Node]) -> list[list[Node]]:
    """`nodes` cut after each that is among `ends`, and after the nodes without weight behind it."""
    if not ends:
        return [list(nodes)]
    result: list[list[Node]] = []
    ended = True
    for node in nodes:
        if not result or (ended and weight_of(node)):
            result.append([])
            ended = False
        result[-1].append(node)
        ended = ended or node in ends
    return result


class Part:
    """Some nodes in a row.

    Attributes:
        start, end: the first of them, and the one after the last.
        weight: how many operations they are.
        label: a number, equal for parts that were recorded by the same lines.
        alone: whether one carries a program, such as a pullback: that was a piece of the graph, and stays one.
    """

    def __init__(self, start: int, end: int, weight: int, label: int, alone: bool) -> None:
        self.start = start
        self.end = end
        self.weight = weight
        self.label = label
        self.alone = alone


def _short_pieces(nodes: list[Node]) -> list[list[Node]]:
    """`nodes` in pieces of at most `SHORT_PIECE` operations (or twice as many): of a loop 16, 8, 4, 2 or 1 rounds; of a
    loop around others a whole round, as long as it is that short."""
    most = SHORT_PIECE if Compiling.waits() else 2 * SHORT_PIECE
    labels: dict[Any, int] = {}
    parts = []
    node: Node
    for at, node in enumerate(nodes):
        where = node.where
        # Not `where` itself: Python's hash of a code object reads all of the code.
        line = None if where is None else (id(where[0]), where[1])
        alone = node.operation is not None and node.operation.carries_program
        parts.append(Part(at, at + 1, weight_of(node), labels.setdefault(line, len(labels)), alone))
    for _ in range(2):  # rounds, and then rounds of the loop around them
        parts = _in_twos(_rounds(parts, most, labels), most, labels)
    return [nodes[part.start : part.end] for part in parts]


def _joined(parts: list[Part], labels: dict[Any, int]) -> Part:
    if len(parts) == 1:
        return parts[0]
    part: Part
    weight = 0
    of_each = []
    for part in parts:
        weight += part.weight
        of_each.append(part.label)
    label = labels.setdefault(tuple(of_each), len(labels))
    return Part(parts[0].start, part.end, weight, label, parts[0].alone)


def _rounds(parts: list[Part], most: int, labels: dict[Any, int]) -> list[Part]:
    """The rounds of the user's loop: one begins at each part whose label has come already, or with which a round would
    have more than `most` operations. What carries a program, such as a pullback, is in no round with others but with
    what its line recorded next: the sums of cotangents."""
    rounds: list[Part] = []
    current: list[Part] = []
    first: dict[int, int] = {}  # for each label of the current round where it came first
    total = 0  # without what carries a program
    alone = False
    part: Part
    for part in parts:
        if part.weight or not current:
            before = first.get(part.label, -1)
            ends = part.alone or (alone and before != 0) or total + part.weight > most
            if current and (ends or (before >= 0 and not alone)):
                if before > 0 and not ends:  # what is before the loop becomes a round of its own
                    rounds.append(_joined(current[:before], labels))
                    del current[:before]
                rounds.append(_joined(current, labels))
                current, first, total = [], {}, 0
            alone = part.alone or (alone and bool(current))
            first.setdefault(part.label, len(current))
        current.append(part)
        total += 0 if part.alone else part.weight
    if current:
        rounds.append(_joined(current, labels))
    return rounds


def _in_twos(rounds: list[Part], most: int, labels: dict[Any, int]) -> list[Part]:
    """The same with 2, 4, 8 or 16 equal ones in a row as one."""
    result = []
    at = 0
    part: Part
    while at < len(rounds):
        part = rounds[at]
        size = 1
        while not part.alone and 2 * size * part.weight <= most and _repeats(rounds, at + size, size, part.label):
            size *= 2
        result.append(_joined(rounds[at : at + size], labels))
        at += size
    return result


def _repeats(rounds: list[Part], start: int, count: int, label: int) -> bool:
    """Whether `count` rounds from `start` on have that label."""
    part: Part
    for part in rounds[start : start + count]:
        if part.label != label:
            return False
    return start + count <= len(rounds)


def read_across(cut: list[list[Node]]) -> set[Node]:
    """The nodes that are read in another piece than their own."""
    if len(cut) == 1:
        return set()
    piece_of = {node: at for at, piece in enumerate(cut) for node in piece}
    return {
        operand
        for node, at in piece_of.items()
        for operand in node.inputs
        if type(operand) is Node and piece_of.get(operand, at) != at
    }

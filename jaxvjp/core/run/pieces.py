"""Cuts the nodes of a long graph into pieces, each of which becomes a program of its own.

Pieces are cut at the user's lines only so that equal rounds of a loop become equal programs. In pieces of the usual
length rounds show by op and line (`_whole_rounds`), in short ones by the line (`_cut_into_rounds`). Which of their
calls then run as one loop is decided in `loop_search`, by what they read. `user_lines.loop_around` finds the loop in
the user's source, for the texts of errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from jaxvjp.core.record.graph import Node
from jaxvjp.core.run.program import weight_of

PIECE = 256
"""The most operations that are compiled as one program. XLA's time and memory grow faster than the program: to compile
512 adds of different numbers, one after the other, took 20 GB."""
SHORT_PIECE = 32
"""The same for a graph that is seen for the first time, and may never come again."""


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
            for group in _grouped(_cut_into_rounds(stretch))
        ]
    result: list[list[Node]] = []
    total, ended = 0, True
    node: Node
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
    node: Node
    for node in nodes:
        weight = weight_of(node)
        if not result or (ended and weight):
            result.append([])
            ended = False
        result[-1].append(node)
        ended = ended or ends_piece(node)
    return result


def _cut_into_rounds(nodes: Iterable[Node]) -> list[list[Node]]:
    """`nodes` cut before each node whose line has come already: there the next round of the user's loop begins."""
    result: list[list[Node]] = []
    starts: dict[Any, int] = {}  # where each node of the last round was recorded
    total = 0
    node: Node
    for node in nodes:
        weight = weight_of(node)
        if weight or not result:
            # Not `where` itself: Python's hash of a code object reads all of the code.
            line = None if node.where is None else (id(node.where[0]), node.where[1])
            before = starts.get(line)
            if not result or total + weight > SHORT_PIECE:
                result.append([])
                starts, total = {}, 0
            elif before is not None:
                if before:  # the nodes before the loop become a round of their own
                    result[-1:] = [result[-1][:before], result[-1][before:]]
                result.append([])
                starts, total = {}, 0
            starts[line] = len(result[-1])
        result[-1].append(node)
        total += weight
    return result


def _grouped(found: list[list[Node]]) -> Iterator[list[list[Node]]]:
    """Groups of rounds for one piece each, of at most `SHORT_PIECE` operations.

    A group has 8, 4, 2 or 1 rounds of the same lines, or any number of other rounds.

    An op that carries a program, such as a pullback, is a piece of its own: its program was a piece of the graph.
    """
    start = 0
    lines = [[node.where for node in each] for each in found]
    weights = [sum([weight_of(node) for node in each]) for each in found]
    while start < len(found):
        alike = _alike(lines, start)
        weight = weights[start]
        taken = 1
        if _carries_program(found[start]):
            pass
        elif alike > 1:
            while 2 * taken <= alike and 2 * taken * weight <= SHORT_PIECE:
                taken *= 2
        else:
            for other in range(start + 1, len(found)):
                weight += weights[other]
                if weight > SHORT_PIECE or _carries_program(found[other]) or _alike(lines, other) > 1:
                    break
                taken += 1
        yield found[start : start + taken]
        start += taken


def _carries_program(round_: list[Node]) -> bool:
    return any(node.operation is not None and node.operation.carries_program for node in round_)


def _alike(lines: list[list[Any]], start: int) -> int:
    """How many rounds, from that at `start` on, were recorded by the same lines."""
    count = 1
    while start + count < len(lines) and count < SHORT_PIECE and lines[start + count] == lines[start]:
        count += 1
    return count


def read_across(cut: list[list[Node]]) -> set[Node]:
    """The nodes that are read in another piece than their own."""
    if len(cut) == 1:
        return set()
    piece_of = {node: at for at, piece in enumerate(cut) for node in piece}
    return {
        each
        for node, at in piece_of.items()
        for each in node.inputs
        if type(each) is Node and piece_of.get(each, at) != at
    }

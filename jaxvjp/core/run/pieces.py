"""Cuts the nodes of a long graph into pieces, each of which becomes a program of its own.

Pieces are cut at the user's lines only so that equal rounds of a loop become equal programs. In pieces of the usual
length rounds show by op and line (`_whole_rounds`), in short ones by the line (`_round_starts`). Which of their
calls then run as one loop is decided in `loop_search`, by what they read. `user_lines.loop_around` finds the loop in
the user's source, for the texts of errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.core.run.program import weight_of
from jaxvjp.core.run.tiers import Compiling

PIECE = 256
"""The most operations that are compiled as one program. XLA's time and memory grow faster than the program: to compile
512 adds of different numbers, one after the other, took 20 GB."""
SHORT_PIECE = 32
"""The same for a graph that is seen for the first time, and may never come again, where programs run in NumPy first:
twice that where they do not, as each is a dispatch then. A loop of a length never seen takes 0.9 of the time."""
STAGED_PIECE = 1024
"""The same for a staged step without loops: what is staged is called often. As one program, a step of the small GPT of
`bench --models` takes 0.7 of what it takes as four, and compiles as fast."""


def in_pieces(
    nodes: Iterable[Node],
    ends_piece: Callable[[Node], bool] | None = None,
    short_pieces: bool = False,
    most: int | None = None,
) -> list[list[Node]]:
    """`nodes` cut into pieces of at most `most` (`PIECE`) operations, and after each for which `ends_piece` is true.

    A node without weight stays with the node before it: an op that returns a tuple is never cut off from its items.
    Where the user's code has a loop, a piece holds whole rounds of it. So the pieces of a long loop are equal programs,
    and are compiled once. `short_pieces` have 1, 2, 4, 8 or 16 rounds of a loop in each: a loop that is longer the next
    time has pieces of the same kinds.
    """
    if short_pieces:
        return [piece for stretch in _stretches(nodes, ends_piece) for piece in _short_pieces(stretch)]
    most = most or PIECE
    result: list[list[Node]] = []
    total, ended = 0, True
    node: Node
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
        ended = (ends_piece is not None and ends_piece(node)) or (ended and not weight)
    return result


def _whole_rounds(piece: list[Node]) -> int:
    """The number of nodes of `piece` that are whole rounds of a loop; all, if no loop shows in the nodes' lines."""
    lines = [(node.operation, node.where) for node in piece]
    for length in range(1, len(piece)):
        if lines[length] == lines[0] and lines[length:] == lines[:-length]:
            return len(piece) - len(piece) % length
    return len(piece)


def _stretches(nodes: Iterable[Node], ends_piece: Callable[[Node], bool] | None) -> list[list[Node]]:
    """`nodes` cut after each node for which `ends_piece` is true, and after the nodes without weight behind it."""
    if ends_piece is None:
        return [list(nodes)]
    result: list[list[Node]] = []
    ended = True
    node: Node
    for node in nodes:
        if not result or (ended and weight_of(node)):
            result.append([])
            ended = False
        result[-1].append(node)
        ended = ended or ends_piece(node)
    return result


def _short_pieces(nodes: list[Node]) -> list[list[Node]]:
    """`nodes` in pieces of at most `SHORT_PIECE` operations (or twice as many): 16, 8, 4, 2 or 1 rounds of the same
    lines, or any number of other rounds.

    An op that carries a program, such as a pullback, is a piece of its own: its program was a piece of the graph.
    """
    lines = [node.where for node in nodes]
    weights = [weight_of(node) for node in nodes]
    most = SHORT_PIECE if Compiling.waits() else 2 * SHORT_PIECE
    starts = _round_starts(lines, weights, most)
    rounds = list(pairwise([*starts, len(nodes)]))  # (first node, node after the last) of each
    alike = _alike(lines, rounds)
    carries_program = [node.operation is not None and node.operation.carries_program for node in nodes]
    alone = [True in carries_program[start:end] for start, end in rounds]
    weight_of_round = [sum(weights[start:end]) for start, end in rounds]
    result = []
    at = 0
    while at < len(rounds):
        weight = weight_of_round[at]
        after = at + 1
        if alone[at]:
            pass
        elif alike[at] > 1:
            while 2 * (after - at) <= alike[at] and 2 * (after - at) * weight <= most:
                after += after - at
        else:
            while after < len(rounds) and not alone[after] and alike[after] == 1:
                weight += weight_of_round[after]
                if weight > most:
                    break
                after += 1
        result.append(nodes[rounds[at][0] : rounds[after - 1][1]])
        at = after
    return result


def _round_starts(lines: list[UserLine], weights: list[int], most: int) -> list[int]:
    """Where the rounds of the user's loop begin: at each node whose line has come already, or with which a round would
    have more than `most` operations."""
    starts: list[int] = []
    first: dict[Any, int] = {}  # for each line of the last round its first node
    total = 0
    for at, where in enumerate(lines):
        weight = weights[at]
        if weight or not starts:
            # Not `where` itself: Python's hash of a code object reads all of the code.
            line = None if where is None else (id(where[0]), where[1])
            before = first.get(line)
            if before is not None or not starts or total + weight > most:
                if before is not None and before > starts[-1] and total + weight <= most:
                    starts.append(before)  # the nodes before the loop become a round of their own
                starts.append(at)
                first, total = {}, 0
            first[line] = at
        total += weight
    return starts


def _alike(lines: list[UserLine], rounds: list[tuple[int, int]]) -> list[int]:
    """For each round, how many rounds, from that one on, were recorded by the same lines."""
    counts = [1] * len(rounds)
    for at in range(len(rounds) - 2, -1, -1):
        start, end = rounds[at]
        next_start, next_end = rounds[at + 1]
        if lines[start:end] == lines[next_start:next_end]:
            counts[at] = counts[at + 1] + 1
    return counts


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

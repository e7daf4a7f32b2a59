"""Values for nodes: programs compiled by `jax.jit` and dispatched.

In this room one can make nodes known (`evaluate`) and see what that took (`counters`). `program` comes before it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from jaxvjp.core.graph import Node, Number, reachable
from jaxvjp.core.program import PROGRAM_CACHE, Program, freeze, replay, runs
from jaxvjp.devices import Placed, device, jax_device
from jaxvjp.dtypes import dtype


class Counters:
    """What has been done since the start: programs compiled, and calls of compiled programs."""

    def __init__(self) -> None:
        self.compiles = 0
        self.dispatches = 0

    def __repr__(self) -> str:
        return f"{self.compiles} compiles, {self.dispatches} dispatches"


counters = Counters()


class Executable:
    """A program compiled for calling: its arrays as they are, its Python numbers packed into one array per dtype.

    Packed, 20 numbers cost a call 2 µs; as operands of their own they cost 32.
    """

    def __init__(self, program: Program) -> None:
        self.arrays = [position for position, aval in enumerate(program.leaves) if not aval.number]
        self.packs: dict[dtype, list[int]] = {}
        for position, aval in enumerate(program.leaves):
            if aval.number:
                self.packs.setdefault(aval.dtype, []).append(position)

        def run(*operands: Any) -> tuple[Any, ...]:
            counters.compiles += 1
            leaves: list[Any] = [None] * len(program.leaves)
            for position, array in zip(self.arrays, operands, strict=False):
                leaves[position] = array
            for positions, pack in zip(self.packs.values(), operands[len(self.arrays) :], strict=True):
                for index, position in enumerate(positions):
                    leaves[position] = pack[index]
            return replay(program, leaves)

        self.compiled = jax.jit(run)

    def __call__(self, leaves: list[Node | Number]) -> tuple[Any, ...]:
        operands = [leaves[position].value for position in self.arrays]
        for number_dtype, positions in self.packs.items():
            operands.append(np.array([leaves[position].value for position in positions], number_dtype.numpy))
        counters.dispatches += 1
        with jax.enable_x64(True):
            results: tuple[Any, ...] = self.compiled(*operands)
            return results


executable: Callable[[Program], Executable] = lru_cache(maxsize=PROGRAM_CACHE)(Executable)


def evaluate(wanted: Iterable[Node]) -> None:
    """Gives every node of `wanted` its value: one dispatch for all that is pending below them.

    Nodes on the way that the user still holds become known too; a long graph runs in pieces.
    """
    roots = [node for node in wanted if node.value is None]
    if Placed.anywhere:
        for place in {node.device for node in roots}:
            _evaluate([node for node in roots if node.device is place], place)
    elif roots:
        _evaluate(roots, None)


def _evaluate(roots: list[Node], place: device | None) -> None:
    """`evaluate` for nodes of one device: what is pending below them is there too."""
    pieces = runs(reachable(roots, _pending_inputs))
    needed = read_across(pieces).union(roots)
    for piece in pieces:
        outputs = [node for node in piece if node in needed or node.held]
        program, leaves = freeze(piece, outputs)
        with contextlib.nullcontext() if place is None else jax.default_device(jax_device(place)):
            values = executable(program)(leaves)
        for node, value in zip(outputs, values, strict=True):
            node.value = value
            node.forget()


def _pending_inputs(node: Node) -> list[Any]:
    return [each for each in node.inputs if each.value is None]


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

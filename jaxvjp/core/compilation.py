"""Programs compiled by `jax.jit`, and what that took.

In this room one can compile a program (`executable`) and count compiles and dispatches (`counters`). `program` comes
before it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax

from jaxvjp.core.program import PROGRAM_CACHE, Program, replay
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

    Attributes:
        arrays: the positions of the leaves that are arrays, which are the first operands of `compiled`.
        packs: for each dtype, the positions of its numbers, which are packed into one more operand.
        compiled: the jitted function of those operands.
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


executable: Callable[[Program], Executable] = lru_cache(maxsize=PROGRAM_CACHE)(Executable)

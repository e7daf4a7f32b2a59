"""Programs compiled by `jax.jit`, and what that took.

In this room one can compile a program (`executable`) and count compiles and dispatches (`counters`). `program` comes
before it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import numpy as np

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
        repeated: for each pack the bytes of the last one and, once they came twice, the array of them on the device.
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
        self.repeated: list[tuple[bytes, Any]] = [(b"", None)] * len(self.packs)

    def packed(self, place: int, numbers: list[Any], own: Any) -> Any:
        """The operand for the pack at `place`. Numbers that stay the same from call to call stay on the device."""
        pack = np.array(numbers, own)
        data = pack.tobytes()  # to the bit: -0.0 == 0.0
        known, array = self.repeated[place]
        if known != data:
            self.repeated[place] = (data, None)
            return pack
        if array is None:
            with jax.enable_x64(True):
                array = jax.device_put(pack)
            self.repeated[place] = (data, array)
        return array


executable: Callable[[Program], Executable] = lru_cache(maxsize=PROGRAM_CACHE)(Executable)

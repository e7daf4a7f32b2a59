"""Compiled loops: one program, round after round.

In this room one can have a program compiled as the body of a `jax.lax.fori_loop` (`looped`), with what is carried from
round to round, what is read from a stack that an earlier loop left, and what is left as a stack.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxvjp.core.run.compilation import EXECUTABLES, NOT_SPLIT, Executable, Split
from jaxvjp.core.run.program import Program
from jaxvjp.core.run.tiers import Waiting
from jaxvjp.ops.op import Aval

SAMPLE = 4
"""Rounds that tell which way of compiling a loop is the fastest."""


class Body(NamedTuple):
    """What a compiled loop does.

    Attributes:
        program: one round.
        carried: for outputs, the leaf that each is in the next round.
        stacked: leaves that are read from a stack, and by how many entries each round goes further there.
        last: the outputs that are given as the last round has them.
        kept: the outputs of all rounds of which a stack is given, and the abstract value of each. If it is carried, the
            stack begins with what the first round read.
        room: how many entries stacks have and for how many rounds there are numbers; 0 where there are neither.
    """

    program: Program
    carried: tuple[tuple[int, int], ...]
    stacked: tuple[tuple[int, int], ...]
    last: tuple[int, ...]
    kept: tuple[tuple[int, Aval], ...]
    room: int


class Loop(Executable):
    """A body, compiled to go round as often as its last operand says; before it come the operands of its program.

    Of what is carried the operand is that of the first round, of what is stacked the stack; a pack has the numbers of
    all rounds, one round after the other. The last operand (`Dispatch.turns`) has the number of rounds, and for each
    leaf that is `stacked` the place in the stack to begin at.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        super().__init__(body.program)
        if isinstance(self.compiled, Waiting):
            self.compiled.spent = math.inf  # it goes round often, so that its compile pays at once

    def split(self) -> Split:
        """Nothing: whatever a round shows is computed with it."""
        return NOT_SPLIT

    def sample(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same with a few rounds only."""
        *others, turns = operands
        return (*others, np.array([min(turns[0], SAMPLE), *turns[1:]], turns.dtype))

    def run(self, *operands: Any) -> tuple[Any, ...]:
        """The outputs that are given, then the stacks."""
        body = self.body
        carried = dict(body.carried)
        *given, turns = operands
        arrays = dict(zip(self.arrays, given, strict=False))
        packs = [_rows(each, body.room) for each in given[len(self.arrays) :]]
        start = {leaf: (turns[1 + number], step) for number, (leaf, step) in enumerate(body.stacked)}
        state = {output: arrays[leaf] for output, leaf in body.carried}
        if not carried.keys() >= set(body.last):  # there is no value before the first round, and its type must be known
            leaves = [array[0] if leaf in start else array for leaf, array in arrays.items()]
            results = jax.eval_shape(super().run, *leaves, *[each[0] for each in packs])
            state |= {each: jnp.zeros_like(results[each]) for each in body.last if each not in carried}

        def turn(number: Any, before: Any) -> Any:
            state, stacks = before
            read = {leaf: state[output] for output, leaf in body.carried}
            read |= {leaf: _at(arrays[leaf], begun + step * number) for leaf, (begun, step) in start.items()}
            results = super(Loop, self).run(*({**arrays, **read}).values(), *[_at(each, number) for each in packs])
            entries = [state[each] if each in carried else results[each] for each, _ in body.kept]
            return {each: results[each] for each in state}, _with(stacks, entries, number)

        stacks = [jnp.zeros((body.room, *aval.shape), aval.dtype.numpy) for _, aval in body.kept]
        state, stacks = lax.fori_loop(np.int32(0), turns[0], turn, (state, stacks))
        entries = [state[each] if each in carried else None for each, _ in body.kept]
        return (*[state[each] for each in body.last], *_with(stacks, entries, turns[0]))


looped: Callable[[Body], Loop] = lru_cache(maxsize=EXECUTABLES)(Loop)


def _rows(pack: Any, room: int) -> Any:
    """The numbers of each round. Where they are known, and in all rounds the same, there is one row, for all."""
    rows = pack.reshape(room, -1)
    if isinstance(rows, np.ndarray) and len({each.tobytes() for each in rows}) == 1:
        return rows[:1]
    return rows


def _at(rows: Any, number: Any) -> Any:
    """One of the rows; the only one there is, if there is but one."""
    return rows[0] if len(rows) == 1 else lax.dynamic_index_in_dim(jnp.asarray(rows), number, 0, keepdims=False)


def _with(stacks: Sequence[Any], entries: Sequence[Any], number: Any) -> list[Any]:
    """The stacks with an entry each at that number, where there is one."""
    return [
        stack if entry is None else lax.dynamic_update_index_in_dim(stack, entry, number, 0)
        for stack, entry in zip(stacks, entries, strict=True)
    ]

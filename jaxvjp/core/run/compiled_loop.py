"""Compiles a program as the body of a `jax.lax.fori_loop`: `looped(Body(program, ...))`.

As in `jax.lax.scan`, some arguments are carried from round to round, some are read from a **stack** (an array with one
entry for each round of an earlier loop), and some outputs are returned as a stack. Unlike in `scan`, the number of
rounds is an operand: a longer loop is the same compiled program. `loop_search` finds such loops in a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxvjp.core.run.choosing import ONE_GROUP, OutputGroups
from jaxvjp.core.run.compilation import EXECUTABLES, Executable
from jaxvjp.core.run.interpreter import GUESSED_ROUNDS, Interpreter, interpreter_of
from jaxvjp.core.run.program import Program
from jaxvjp.ops.op import Aval

SAMPLE = 4
"""The number of rounds that ways of compiling a loop are timed on."""


class Body(NamedTuple):
    """What a compiled loop does.

    Attributes:
        program: one round.
        carried: pairs (output, argument): the output is that argument of the next round.
        stacked: pairs (argument, step): the argument is an entry of a stack; each round reads `step` entries further.
        last: the outputs whose value after the last round is returned.
        kept: pairs (output, aval): the output of each round is returned, as a stack. If the output is carried, the
            stack begins with the argument of the first round.
        capacity: the number of entries of stacks, and of rounds for which the operands have Python numbers. 0, if there
            are neither.
    """

    program: Program
    carried: tuple[tuple[int, int], ...]
    stacked: tuple[tuple[int, int], ...]
    last: tuple[int, ...]
    kept: tuple[tuple[int, Aval], ...]
    capacity: int


class Loop(Executable):
    """A compiled loop. Its operands are those of its program, then an array of integers (`Dispatch.loop_counts`).

    The operand for a carried argument is its value in the first round, that for a stacked argument is the stack. A pack
    has the Python numbers of all rounds, one round after the other. The integers are the number of rounds and, for each
    stacked argument, the entry that the first round reads.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        super().__init__(body.program)

    def interpreter(self, operands: Sequence[Any]) -> Interpreter:
        """The loop, to be run by NumPy on such operands."""
        return interpreter_of(jax.make_jaxpr(self.replayed)(*operands))

    def rounds(self, operands: Sequence[Any]) -> float:
        """The rounds of this call, in terms of those that the interpreter expects of a loop."""
        return float(operands[-1][0]) / GUESSED_ROUNDS

    def output_groups(self) -> OutputGroups:
        """No groups: a loop is not compiled `apart`."""
        return ONE_GROUP

    def sample(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same operands, for at most `SAMPLE` rounds."""
        *others, loop_counts = operands
        return (*others, np.array([min(loop_counts[0], SAMPLE), *loop_counts[1:]], loop_counts.dtype))

    def replayed(self, *operands: Any) -> tuple[Any, ...]:
        """The outputs after the last round, then the stacks."""
        body = self.body
        carried = dict(body.carried)
        *given, loop_counts = operands
        arrays = dict(zip(self.arrays, given, strict=False))
        packs = [_rows(each, body.capacity) for each in given[len(self.arrays) :]]
        start = {argument: (loop_counts[1 + number], step) for number, (argument, step) in enumerate(body.stacked)}
        state = {output: arrays[argument] for output, argument in body.carried}
        if not carried.keys() >= set(body.last):  # `fori_loop` needs a value before the first round, of the right type
            arguments = [array[0] if argument in start else array for argument, array in arrays.items()]
            results = jax.eval_shape(super().replayed, *arguments, *[each[0] for each in packs])
            state |= {each: jnp.zeros_like(results[each]) for each in body.last if each not in carried}

        def turn(number: Any, before: Any) -> Any:
            state, stacks = before
            read = {argument: state[output] for output, argument in body.carried}
            read |= {each: _at(arrays[each], begun + step * number) for each, (begun, step) in start.items()}
            results = super(Loop, self).replayed(*({**arrays, **read}).values(), *[_at(each, number) for each in packs])
            entries = [state[each] if each in carried else results[each] for each, _ in body.kept]
            return {each: results[each] for each in state}, _with(stacks, entries, number)

        stacks = [jnp.zeros((body.capacity, *aval.shape), aval.dtype.numpy) for _, aval in body.kept]
        state, stacks = lax.fori_loop(np.int32(0), loop_counts[0], turn, (state, stacks))
        entries = [state[each] if each in carried else None for each, _ in body.kept]
        return (*[state[each] for each in body.last], *_with(stacks, entries, loop_counts[0]))


looped: Callable[[Body], Loop] = lru_cache(maxsize=EXECUTABLES)(Loop)


def _rows(pack: Any, rounds: int) -> Any:
    """A row of numbers for each round; or one row for all, if the numbers are constants and the same in each round."""
    rows = pack.reshape(rounds, -1)
    if isinstance(rows, np.ndarray) and len({each.tobytes() for each in rows}) == 1:
        return rows[:1]
    return rows


def _at(rows: Any, number: Any) -> Any:
    """The row of that number, or the only row."""
    return rows[0] if len(rows) == 1 else lax.dynamic_index_in_dim(jnp.asarray(rows), number, 0, keepdims=False)


def _with(stacks: Sequence[Any], entries: Sequence[Any], number: Any) -> list[Any]:
    """The stacks, each with its entry written at `number`, unless that is None."""
    return [
        stack if entry is None else lax.dynamic_update_index_in_dim(stack, entry, number, 0)
        for stack, entry in zip(stacks, entries, strict=True)
    ]

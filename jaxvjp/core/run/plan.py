"""Plans how to compute a graph: which programs to call, on which values, in which order.

`plan_of` makes the `Plan` of a survey. The plan reads and writes a list of values, by the places of the survey.
Callers keep it in a `Memory`, a bounded dict, under the survey's key.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any

import jax

from jaxvjp.core.record.graph import recording_order
from jaxvjp.core.run.compilation import Executable, counters, executable
from jaxvjp.core.run.memory import Memory
from jaxvjp.core.run.pieces import in_pieces, in_same_pieces, read_across
from jaxvjp.core.run.program import Frozen, freeze, weight_of
from jaxvjp.core.run.survey import Survey
from jaxvjp.core.run.tiers import Compiling
from jaxvjp.types.accelerators import is_on

LONG = 24
"""A graph of more operations than this is not compiled as a whole when it comes for the first time."""
SHORT_RUNS = 1e-3
"""The seconds for each of its operations that a long graph runs in short pieces before it is run as a whole."""
long_graphs: Memory[bool] = Memory(is_on("short pieces"))
"""The structures of long graphs that came before."""

if hasattr(jax.enable_x64, "set_local"):

    def in_64_bits(call: Callable[..., Any], operands: list[Any]) -> Any:
        """What a call gives in which integers may have 64 bits, as torch's have.

        It is what `with jax.enable_x64(True):` does, without 1 µs of Python's at each dispatch; and an interrupt that
        comes at any place in it leaves the thread as it was.
        """
        before = jax.enable_x64.get_local()
        try:
            jax.enable_x64.set_local(True)
            return call(*operands)
        finally:
            jax.enable_x64.set_local(before)

else:

    def in_64_bits(call: Callable[..., Any], operands: list[Any]) -> Any:
        with jax.enable_x64(True):
            return call(*operands)


def choose_short_pieces(found: Survey) -> bool:
    """Decides whether a graph is long, and comes for the first time, and notes that it came.

    It then runs in short pieces, which graphs of other structures have as well, such as a recurrence over a sequence of
    another length.
    """
    if not long_graphs.remembers or long_graphs.get(found.key):
        return False
    if all(total <= LONG for total in accumulate(map(weight_of, found.operations))):
        return False
    long_graphs.learn(found.key, True)
    return True


class Dispatch:
    """One call of an `Executable`, which reads values at some places and writes its results to others.

    Attributes:
        executable: what is called.
        arrays: the places of its operands that are arrays.
        packs: for each pack of Python numbers, its dtype and the places of the numbers.
        gives: the places of its results.
        last_reads: the places of values that are dropped after the call, as no later one reads them.
    """

    def __init__(
        self,
        executable: Executable,
        arrays: tuple[int, ...],
        packs: tuple[tuple[Any, tuple[int, ...]], ...],
        gives: tuple[int, ...],
        last_reads: tuple[int, ...],
    ) -> None:
        self.executable = executable
        self.arrays = arrays
        self.packs = packs
        self.gives = gives
        self.last_reads = last_reads


class Plan:
    """How to compute the values of a surveyed graph that are kept: one dispatch, or one for each piece of a long graph.

    Attributes:
        dispatches: the calls, in their order.
        outputs: the places of the values that are kept.
    """

    def __init__(self, dispatches: tuple[Dispatch, ...], outputs: tuple[int, ...]) -> None:
        self.dispatches = dispatches
        self.outputs = outputs

    def run(self, values: list[Any], deferring: bool = False) -> None:
        """Puts the values of `outputs` at their places in `values`, which already has the known ones at theirs.

        `deferring` (rare): a backward pass may skip outputs that are no gradients, such as the loss
        (`Executable.deferring`).
        """
        dispatch: Dispatch
        for dispatch in self.dispatches:
            executable = dispatch.executable
            operands = [values[array] for array in dispatch.arrays]
            for number, (dtype, places) in enumerate(dispatch.packs):
                operands.append(executable.packed(number, [values[each] for each in places], dtype))
            counters.dispatches += 1
            call = (deferring and executable.deferring) or executable.call
            results = in_64_bits(call, operands)
            for number, place in enumerate(dispatch.gives):
                values[place] = results[number]
            for place in dispatch.last_reads:
                values[place] = None


class ShortPiecesPlan(Plan):
    """The plan of a long graph in short pieces. Where programs are compiled when it pays, it is remembered for a while.

    To trace a step of 24 layers as a whole takes as long as 80 such steps in NumPy, in pieces that are traced already.

    Attributes:
        spent: the seconds that it has run.
    """

    def __init__(self, dispatches: tuple[Dispatch, ...], outputs: tuple[int, ...]) -> None:
        super().__init__(dispatches, outputs)
        self.spent = 0.0

    def run(self, values: list[Any], deferring: bool = False) -> None:
        """Does the same, and counts the time."""
        begun = time.perf_counter()
        Plan.run(self, values, deferring)  # compiled, it is a function of C, in which there is no `super()`
        self.spent += time.perf_counter() - begun

    def is_over(self) -> bool:
        """Whether it has run for so long that the whole may be traced, and then be compiled."""
        weight = sum([dispatch.executable.program.weight for dispatch in self.dispatches])
        return not Compiling.when_it_pays() or self.spent >= SHORT_RUNS * weight


def with_last_reads(dispatches: Sequence[Dispatch], outputs: Iterable[int]) -> tuple[Dispatch, ...]:
    """The dispatches, with `last_reads` of all results that are not among `outputs`."""
    dying = {place for dispatch in dispatches for place in dispatch.gives}.difference(outputs)
    result = []
    for dispatch in reversed(dispatches):
        last = dying.intersection(dispatch.arrays)
        dying -= last
        result.append(Dispatch(dispatch.executable, dispatch.arrays, dispatch.packs, dispatch.gives, tuple(last)))
    return tuple(reversed(result))


def plan_of(found: Survey, short_pieces: bool = False, frozen: Sequence[Frozen] = (), most: int | None = None) -> Plan:
    """The plan that computes what a survey found without a value, pullbacks among it. For `short_pieces` see
    `choose_short_pieces`, for `most` `in_pieces`. `frozen` are the short pieces that a walk back made of the graph,
    which are not made again. The survey must not have been made with `walks_behind_values`, as that of a
    `BackwardRequest` is: it has operations that have their values already."""
    place_of = found.place_of
    kept = {found.nodes[each] for each in found.kept}
    operations = sorted(found.operations, key=recording_order)
    if frozen:
        pieces = in_same_pieces(operations, frozen)
    else:
        pieces = in_pieces(operations, short_pieces=short_pieces, most=most)
    frozen_to = {each.nodes[-1]: each for each in frozen}
    needed = read_across(pieces) | kept
    kind = ShortPiecesPlan if short_pieces else Plan
    dispatches: list[Dispatch] = []
    for piece in pieces:
        outputs = [node for node in piece if node in needed]
        known = frozen_to.get(piece[-1])
        if known is not None and known.nodes == piece and known.outputs == outputs:
            program, arguments = known.program, known.arguments
        else:
            program, arguments = freeze(piece, outputs)
        to_call = executable(program)
        if short_pieces:
            to_call.may_run_eagerly()
        elif to_call.where is None:
            to_call.where = max(piece, key=recording_order).where
        reads = [place_of[argument] for argument in arguments]
        arrays = tuple([reads[array] for array in to_call.arrays])
        packs = tuple([(dtype.numpy, tuple([reads[each] for each in of])) for dtype, of in to_call.packs.items()])
        dispatches.append(Dispatch(to_call, arrays, packs, tuple([place_of[output] for output in outputs]), ()))
    return kind(with_last_reads(dispatches, found.kept), tuple(found.kept))

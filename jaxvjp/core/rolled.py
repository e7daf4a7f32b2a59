"""The loops of a plan, rolled up again: `rolled`.

In this room one can have the equal dispatches of a plan, one after the other, made as one (`rolled`): a compiled
`jax.lax.fori_loop` whose body is what they call (`Loop`). `plan` comes before it.

A loop of the user's that a long graph was recorded from is cut into equal pieces. In such a sequence of **rounds** each
reads what the one before it gave (it is **carried**), the same arrays each time, its own Python numbers, and perhaps
what each round of an earlier loop read or gave: so the pieces of a backward pass read, the last first, what those
forward began with. Of that the earlier loop keeps a **stack**. How often a loop goes round is an operand of it: one of
another length is the same executable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxvjp.core.compilation import EXECUTABLES, NOT_SPLIT, Executable, Split
from jaxvjp.core.history import history
from jaxvjp.core.plan import Dispatch, Plan
from jaxvjp.core.program import Program, intern
from jaxvjp.ops.op import Aval

ROUNDS = 4
"""Rounds that make a loop, at the least."""
PERIOD = 6
"""Dispatches that a round consists of, at the most: of a backward pass two, where a gradient is added up."""
BODY = 288
"""Operations of a round, at the most: it is compiled as a whole."""
ATTEMPTS = 8
"""How often loops are cut shorter, because what happens within them is wanted outside, before all is left as it is."""
ROOMY = 1 << 20
"""Bytes of a stack up to which it may have more room than is used, so that longer loops find it, too."""


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

    def split(self) -> Split:
        """Nothing: whatever a round shows is computed with it."""
        return NOT_SPLIT

    def sample(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same with a few rounds only."""
        *others, turns = operands
        return (*others, np.array([min(turns[0], ROUNDS), *turns[1:]], turns.dtype))

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


loop: Callable[[Body], Loop] = lru_cache(maxsize=EXECUTABLES)(Loop)


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


class Round(NamedTuple):
    """Some dispatches, one after the other, as if they were one.

    Attributes:
        shape: equal for rounds that do the same on other places.
        reads: the places that it reads and does not itself give, in the order in which it first reads them.
        gives: the places of all that it gives.
    """

    shape: tuple[Any, ...]
    reads: tuple[int, ...]
    gives: tuple[int, ...]


def round_of(dispatches: Sequence[Dispatch]) -> Round:
    """Some dispatches as one round."""
    given: dict[int, int] = {}
    number: dict[int, int] = {}
    shape: list[Any] = []
    for dispatch in dispatches:
        shape.append(dispatch.executable)
        for place in _reads(dispatch):
            inside = given.get(place)
            shape.append(-1 - number.setdefault(place, len(number)) if inside is None else inside)
        for place in dispatch.gives:
            given[place] = len(given)
    return Round(tuple(shape), tuple(number), tuple(given))


def _reads(dispatch: Dispatch) -> list[int]:
    """The place of each leaf of what is called."""
    executable = dispatch.executable
    places = [0] * len(executable.program.leaves)
    for position, place in zip(executable.arrays, dispatch.arrays, strict=True):
        places[position] = place
    for positions, (_, of) in zip(executable.packs.values(), dispatch.packs, strict=True):
        for position, place in zip(positions, of, strict=True):
            places[position] = place
    return places


def program_of(dispatches: Sequence[Dispatch]) -> Program:
    """What a round computes: its leaves are what it reads, its outputs what it gives, in that order."""
    number: dict[int, int] = {}
    leaves: list[Aval] = []
    equations: list[Any] = []
    for dispatch in dispatches:
        program = dispatch.executable.program
        operands = _reads(dispatch)
        for place, aval in zip(operands, program.leaves, strict=True):
            if place not in number:
                leaves.append(aval)
                number[place] = -len(leaves)
        before = len(equations)

        def of(each: int, operands: list[int] = operands, before: int = before) -> int:
            return each + before if each >= 0 else number[operands[-1 - each]]

        for operation, static, inputs in program.equations:
            equations.append((operation, static, tuple([of(each) for each in inputs])))
        results = [of(each) for each in program.outputs]
        number.update(zip(dispatch.gives, results, strict=True))
    outputs = tuple([number[place] for dispatch in dispatches for place in dispatch.gives])
    weight = sum(dispatch.executable.program.weight for dispatch in dispatches)
    return intern(tuple(leaves), tuple(equations), outputs, weight)


class Stack(NamedTuple):
    """What an output was in all rounds of a loop; loops are numbered."""

    loop: int
    output: int


class Carried(NamedTuple):
    """A leaf that is an output of the round before."""

    output: int


class Stacked(NamedTuple):
    """A leaf that is an entry of a stack: in the first round that at `start`, and `step` entries further each time. The
    rounds of a backward pass go back, and may be twice as long as those forward."""

    stack: Stack
    start: int
    step: int


SAME, NUMBER = "same", "number"
Role = Carried | Stacked | str
"""What a leaf is from round to round; it may also be the SAME array, or in each round a NUMBER of its own."""


class Found(NamedTuple):
    """A loop among dispatches: the numbers of its first one and of the one after it, its rounds, and its leaves'
    roles."""

    start: int
    end: int
    rounds: list[Round]
    roles: list[Role]

    def carried(self) -> dict[int, int]:
        """For outputs, the leaf that each is in the next round."""
        return {role.output: leaf for leaf, role in enumerate(self.roles) if type(role) is Carried}

    def entries(self, output: int) -> list[int]:
        """The places of what is in a stack of that output, which is itself put at the place that the first round would
        give it."""
        first = [self.rounds[0].reads[leaf] for each, leaf in self.carried().items() if each == output]
        return first + [each.gives[output] for each in self.rounds]

    def reads(self) -> list[int]:
        """The places of the arrays that it reads as they are."""
        of_first = zip(self.rounds[0].reads, self.roles, strict=True)
        return [place for place, role in of_first if role == SAME or type(role) is Carried]

    def inside(self) -> Iterator[tuple[int, int]]:
        """The places that are given before the last round, each with the dispatch that its round ends before."""
        period = (self.end - self.start) // len(self.rounds)
        for number, each in enumerate(self.rounds[:-1]):
            for place in each.gives:
                yield place, self.start + (number + 1) * period


class Search:
    """The loops among the dispatches of a plan, none of which goes on beyond a number of `cuts`."""

    def __init__(self, plan: Plan, cuts: set[int]) -> None:
        self.dispatches = plan.dispatches
        self.outputs = plan.outputs
        self.cuts = cuts
        self.loops: list[Found] = []
        self.single: list[Dispatch] = []
        self.entries: dict[int, dict[Stack, int]] = {}
        place = 0
        while place < len(self.dispatches):
            found = next(filter(None, (self._loop(place, period) for period in range(1, PERIOD + 1))), None)
            if found is None:
                self.single.append(self.dispatches[place])
                place += 1
                continue
            for output in range(len(found.rounds[0].gives)):
                for number, each in enumerate(found.entries(output)):
                    self.entries.setdefault(each, {})[Stack(len(self.loops), output)] = number
            self.loops.append(found)
            place = found.end

    def _loop(self, start: int, period: int) -> Found | None:
        """The loop that begins at a dispatch and has so many in each round; None if there is none."""
        end = start + ROUNDS * period
        called = [each.executable for each in self.dispatches[start:end]]
        if len(called) < ROUNDS * period or called[period:] != called[:-period]:
            return None
        if sum(each.program.weight for each in called[:period]) > BODY:
            return None
        numbers = {place for each in self.dispatches[start : start + period] for _, of in each.packs for place in of}
        rounds: list[Round] = []
        roles: list[Role] = []
        place = start
        while place + period <= len(self.dispatches) and self.cuts.isdisjoint(
            range(place + (not rounds), place + period)
        ):
            found = round_of(self.dispatches[place : place + period])
            if rounds and found.shape != rounds[0].shape:
                break
            if len(rounds) == 1:
                roles = self._roles(rounds[0], found, numbers)
            if rounds and not self._goes_on(roles, rounds, found):
                break
            rounds.append(found)
            place += period
        return Found(start, place, rounds, roles) if len(rounds) >= ROUNDS else None

    def _roles(self, first: Round, second: Round, numbers: set[int]) -> list[Role]:
        """What the leaves of two rounds can be; what is none of the others is taken for the SAME."""
        given = {place: output for output, place in enumerate(first.gives)}
        roles: list[Role] = []
        for before, after in zip(first.reads, second.reads, strict=True):
            if before in numbers:
                roles.append(NUMBER)
            elif after in given:
                roles.append(Carried(given[after]))
            else:
                entries, further = self.entries.get(before, {}), self.entries.get(after, {})
                steps = [(each, at, further[each] - at) for each, at in entries.items() if each in further]
                roles.append(next((Stacked(*each) for each in steps if each[2]), SAME))
        return roles

    def _goes_on(self, roles: list[Role], rounds: list[Round], found: Round) -> bool:
        """Whether the leaves of one more round are what their roles say."""
        for place, first, role in zip(found.reads, rounds[0].reads, roles, strict=True):
            if type(role) is Carried:
                fits = place == rounds[-1].gives[role.output]
            elif type(role) is Stacked:
                fits = self.entries.get(place, {}).get(role.stack) == role.start + role.step * len(rounds)
            else:
                fits = role == NUMBER or place == first
            if not fits:
                return False
        return True

    def read(self) -> set[int]:
        """The places of what is wanted as it is, and not from a stack."""
        places = {place for each in self.single for place in _reads(each)}
        return places.union(self.outputs, *[each.reads() for each in self.loops])

    def too_long(self) -> set[int]:
        """The dispatches before which a loop has to end, because what is given there is wanted as it is."""
        read = self.read()
        return {end for each in self.loops for place, end in each.inside() if place in read}

    def plan(self) -> Plan:
        """The plan with its loops rolled up."""
        programs = [program_of(self._of_a_round(each)) for each in self.loops]
        stacks: list[dict[int, Aval]] = [{} for _ in self.loops]
        for found, program in zip(self.loops, programs, strict=True):
            for role, aval in zip(found.roles, program.leaves, strict=True):
                if type(role) is Stacked:
                    stacks[role.stack.loop][role.stack.output] = aval
        read = self.read()
        dispatches: list[Dispatch] = []
        place = 0
        for found, program, kept in zip(self.loops, programs, stacks, strict=True):
            dispatches += self.dispatches[place : found.start]
            dispatches.append(self._dispatch(found, program, kept, read))
            place = found.end
        return Plan(_freeing([*dispatches, *self.dispatches[place:]], self.outputs), self.outputs)

    def _of_a_round(self, found: Found) -> Sequence[Dispatch]:
        return self.dispatches[found.start : found.start + (found.end - found.start) // len(found.rounds)]

    def _dispatch(self, found: Found, program: Program, kept: dict[int, Aval], read: set[int]) -> Dispatch:
        """The one dispatch of a loop."""
        rounds, roles = found.rounds, found.roles
        stacked = {leaf: role for leaf, role in enumerate(roles) if type(role) is Stacked}
        last = [output for output, place in enumerate(rounds[-1].gives) if place in read]
        room = 0
        if kept or NUMBER in roles:
            room = 1 << len(rounds).bit_length()
            if room * sum(each.nbytes for each in kept.values()) > ROOMY:
                room = len(rounds) + 1
        body = Body(
            program,
            tuple(found.carried().items()),
            tuple([(leaf, role.step) for leaf, role in stacked.items()]),
            tuple(last),
            tuple(kept.items()),
            room,
        )
        called = loop(body)
        called.where = self.dispatches[found.start].executable.where
        places = list(rounds[0].reads)
        for leaf, role in stacked.items():
            places[leaf] = self.loops[role.stack.loop].rounds[0].gives[role.stack.output]
        rows = [each.reads for each in rounds] + [rounds[-1].reads] * (room - len(rounds))
        return Dispatch(
            called,
            tuple([places[leaf] for leaf in called.arrays]),
            tuple(
                [(dtype.numpy, tuple([row[each] for row in rows for each in of])) for dtype, of in called.packs.items()]
            ),
            tuple([rounds[-1].gives[output] for output in last] + [rounds[0].gives[output] for output in kept]),
            (),
            np.array([len(rounds), *[role.start for role in stacked.values()]], np.int32),
        )


def _freeing(dispatches: Sequence[Dispatch], outputs: Iterable[int]) -> tuple[Dispatch, ...]:
    """The dispatches, with each place let go of where it is read last."""
    dying = {place for each in dispatches for place in each.gives}.difference(outputs)
    result = []
    for each in reversed(dispatches):
        last = dying.intersection(each.arrays)
        dying -= last
        result.append(each._replace(last_reads=tuple(last)))
    return tuple(reversed(result))


def rolled(plan: Plan) -> Plan:
    """The plan with its loops rolled up: of fewer dispatches, and the same results."""
    cuts: set[int] = set()
    for _ in range(ATTEMPTS):
        search = Search(plan, cuts)
        too_long = search.too_long()
        if not too_long:
            plan = search.plan() if search.loops else plan
            break
        cuts |= too_long
    for each in plan.dispatches:
        if not each.executable.known:
            each.executable.known = True
            history.compiled(each.executable.where, each.executable)
    return plan

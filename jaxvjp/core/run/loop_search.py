"""Finds loops among the dispatches of a plan, and makes each loop one dispatch: `roll_loops(plan)`.

`for _ in range(1000): x = x * w + 1` records 1000 rounds. The plan has a dispatch for every few of them, all of the
same program. `roll_loops` replaces those by one dispatch of a `jax.lax.fori_loop` (`compiled_loop.Loop`).

To be a loop, equal dispatches must read alike from round to round. An argument is **carried**, if the round before
returned it (x); the same array in each round (w); a Python number of the round's own (1); or **stacked**, if round k
reads what round k of an earlier loop read or gave. A backward pass reads the values of the forward loop like that, the
last first. The forward loop returns those values as a stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import getitem
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.core.run.compiled_loop import Body, looped
from jaxvjp.core.run.plan import Dispatch, Plan, with_last_reads
from jaxvjp.core.run.program import Program, device_of_program, intern
from jaxvjp.ops.op import Aval
from jaxvjp.types.meshes import Meshes, OnMesh

ROUNDS = 4
"""The least number of rounds of a loop."""
PERIOD = 6
"""The most dispatches of a round. A round of a backward pass that adds up a gradient has two."""
BODY = 288
"""The most operations of a round, which is compiled as a whole."""
ATTEMPTS = 8
"""How often `roll_loops` searches again, with loops ended where a value from inside of them is read outside."""
SPARE = 1 << 20
"""Bytes. A stack up to this size gets up to twice the entries it needs, so that a longer loop is the same program."""


class Round(NamedTuple):
    """A round of a loop: some dispatches, one after the other, as if they were one.

    Attributes:
        shape: equal for rounds that are the same but for places.
        reads: the places that it reads before it writes them, in the order of reading: its arguments.
        gives: the places that it writes: its outputs.
    """

    shape: tuple[Any, ...]
    reads: tuple[int, ...]
    gives: tuple[int, ...]


def round_of(dispatches: Sequence[Dispatch]) -> Round:
    """The round that consists of `dispatches`."""
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
    """The place of each argument of the program that is called."""
    return dispatch.executable.spread(dispatch.arrays, [of for _, of in dispatch.packs], getitem)


def program_of(dispatches: Sequence[Dispatch]) -> Program:
    """One program for a round: its arguments are the round's `reads`, its outputs the round's `gives`."""
    number: dict[int, int] = {}
    arguments: list[Aval] = []
    equations: list[Any] = []
    for dispatch in dispatches:
        program = dispatch.executable.program
        operands = _reads(dispatch)
        for place, aval in zip(operands, program.arguments, strict=True):
            if place not in number:
                arguments.append(aval)
                number[place] = -len(arguments)
        before = len(equations)

        def of(each: int, operands: list[int] = operands, before: int = before) -> int:
            return each + before if each >= 0 else number[operands[-1 - each]]

        for operation, static, inputs in program.equations:
            equations.append((operation, static, tuple([of(each) for each in inputs])))
        results = [of(each) for each in program.outputs]
        number.update(zip(dispatch.gives, results, strict=True))
    outputs = tuple([number[place] for dispatch in dispatches for place in dispatch.gives])
    weight = sum(dispatch.executable.program.weight for dispatch in dispatches)
    return intern(tuple(arguments), tuple(equations), outputs, weight)


class Stack(NamedTuple):
    """A stack: the values of an output in all rounds of a loop. Loops are numbered."""

    loop: int
    output: int


class Carried(NamedTuple):
    """An argument that is an output of the round before."""

    output: int


class Stacked(NamedTuple):
    """An argument that is an entry of a stack: the first round reads that at `start`, the next `step` entries further.

    In a backward pass `step` is negative. It is -2 where a round there belongs to two rounds forward.
    """

    stack: Stack
    start: int
    step: int


SAME, NUMBER = "same", "number"
Role = Carried | Stacked | str
"""What an argument of a round is. SAME: the same array in each round. NUMBER: a Python number of the round's own."""


class FoundLoop:
    """A loop among the dispatches of a plan, which grows round by round while it is searched for.

    Attributes:
        start: the number of its first dispatch.
        period: the number of dispatches in a round.
        rounds: its rounds.
        roles: what each argument of a round is.
    """

    def __init__(self, start: int, period: int, first: Round) -> None:
        self.start = start
        self.period = period
        self.rounds = [first]
        self.roles: list[Role] = []

    @property
    def end(self) -> int:
        """The number of the first dispatch after it."""
        return self.start + self.period * len(self.rounds)

    def carried(self) -> dict[int, int]:
        """Maps an output to the argument that it is in the next round."""
        return {role.output: argument for argument, role in enumerate(self.roles) if type(role) is Carried}

    def stacked(self, output: int) -> list[int]:
        """The places of the values that a stack of `output` holds, in order."""
        first = [self.rounds[0].reads[argument] for each, argument in self.carried().items() if each == output]
        return first + [each.gives[output] for each in self.rounds]

    def array_places(self) -> list[int]:
        """The places of the arrays that it reads, except stacks."""
        of_first = zip(self.rounds[0].reads, self.roles, strict=True)
        return [place for place, role in of_first if role == SAME or type(role) is Carried]

    def writes_of_inner_rounds(self) -> Iterator[tuple[int, int]]:
        """Pairs of a place that a round other than the last writes, and the number of the dispatch after that round."""
        for number, each in enumerate(self.rounds[:-1]):
            for place in each.gives:
                yield place, self.start + self.period * (number + 1)


class LoopSearch:
    """The loops among the dispatches of a plan. A loop ends before each dispatch whose number is in `cuts`.

    Attributes:
        loops: those that `search` has found.
        single: the dispatches that are in no loop.
        entry_of: for each place that is in stacks, of each of them the number of its entry there.
    """

    def __init__(self, plan: Plan, cuts: set[int]) -> None:
        self.dispatches = plan.dispatches
        self.outputs = plan.outputs
        self.cuts = cuts
        self.loops: list[FoundLoop] = []
        self.single: list[Dispatch] = []
        self.entry_of: dict[int, dict[Stack, int]] = {}

    def search(self) -> None:
        """Finds the loops, the first first, and of each the shortest rounds."""
        start = 0
        while start < len(self.dispatches):
            found = next(filter(None, (self._loop(start, period) for period in range(1, PERIOD + 1))), None)
            if found is None:
                self.single.append(self.dispatches[start])
                start += 1
                continue
            for output in range(len(found.rounds[0].gives)):
                for number, each in enumerate(found.stacked(output)):
                    self.entry_of.setdefault(each, {})[Stack(len(self.loops), output)] = number
            self.loops.append(found)
            start = found.end

    def _loop(self, start: int, period: int) -> FoundLoop | None:
        """The loop that begins at dispatch `start` and has `period` dispatches in a round; None if there is none."""
        first = self.dispatches[start : start + ROUNDS * period]
        called = [each.executable for each in first]
        if len(called) < ROUNDS * period or called[period:] != called[:-period]:
            return None
        if sum(each.program.weight for each in called[:period]) > BODY:
            return None
        numbers = {place for each in first[:period] for _, of in each.packs for place in of}
        found = FoundLoop(start, period, round_of(first[:period]))
        while found.end + period <= len(self.dispatches) and self.cuts.isdisjoint(range(found.end, found.end + period)):
            another = round_of(self.dispatches[found.end : found.end + period])
            if another.shape != found.rounds[0].shape:
                break
            if len(found.rounds) == 1:
                found.roles.extend(self._roles(found.rounds[0], another, numbers))
            if not self._goes_on(found, another):
                break
            found.rounds.append(another)
        return found if len(found.rounds) >= ROUNDS and self.cuts.isdisjoint(range(start + 1, start + period)) else None

    def _roles(self, first: Round, second: Round, numbers: set[int]) -> list[Role]:
        """The role of each argument, judged by the first two rounds. SAME, if it can be nothing else."""
        given = {place: output for output, place in enumerate(first.gives)}
        roles: list[Role] = []
        for before, after in zip(first.reads, second.reads, strict=True):
            if before in numbers:
                roles.append(NUMBER)
            elif after in given:
                roles.append(Carried(given[after]))
            else:
                entries, further = self.entry_of.get(before, {}), self.entry_of.get(after, {})
                steps = [(each, at, further[each] - at) for each, at in entries.items() if each in further]
                roles.append(next((Stacked(*each) for each in steps if each[2]), SAME))
        return roles

    def _goes_on(self, found: FoundLoop, another: Round) -> bool:
        """Whether in one more round each argument is what its role says."""
        for place, first, role in zip(another.reads, found.rounds[0].reads, found.roles, strict=True):
            if type(role) is Carried:
                fits = place == found.rounds[-1].gives[role.output]
            elif type(role) is Stacked:
                fits = self.entry_of.get(place, {}).get(role.stack) == role.start + role.step * len(found.rounds)
            else:
                fits = role == NUMBER or place == first
            if not fits:
                return False
        return True

    def places_read_outside(self) -> set[int]:
        """The places that are read, by outputs, loops or other dispatches, except those read from a stack."""
        places = {place for each in self.single for place in _reads(each)}
        return places.union(self.outputs, *[each.array_places() for each in self.loops])

    def too_long(self) -> set[int]:
        """The dispatches before which a loop has to end, as something else reads what the round before them writes."""
        read = self.places_read_outside()
        return {end for each in self.loops for place, end in each.writes_of_inner_rounds() if place in read}

    def plan(self) -> Plan:
        """The plan with one dispatch for each loop."""
        programs = [program_of(self.dispatches[each.start : each.start + each.period]) for each in self.loops]
        stacks: list[dict[int, Aval]] = [{} for _ in self.loops]
        for found, program in zip(self.loops, programs, strict=True):
            for role, aval in zip(found.roles, program.arguments, strict=True):
                if type(role) is Stacked:
                    stacks[role.stack.loop][role.stack.output] = aval
        read = self.places_read_outside()
        dispatches: list[Dispatch] = []
        start = 0
        for found, program, kept in zip(self.loops, programs, stacks, strict=True):
            dispatches += self.dispatches[start : found.start]
            dispatches.append(self._dispatch(found, program, kept, read))
            start = found.end
        return Plan(with_last_reads([*dispatches, *self.dispatches[start:]], self.outputs), self.outputs)

    def _dispatch(self, found: FoundLoop, program: Program, kept: dict[int, Aval], read: set[int]) -> Dispatch:
        """The one dispatch of a loop."""
        rounds, roles = found.rounds, found.roles
        stacked = {argument: role for argument, role in enumerate(roles) if type(role) is Stacked}
        last = [output for output, place in enumerate(rounds[-1].gives) if place in read]
        capacity = 0
        if kept or NUMBER in roles:
            capacity = 1 << len(rounds).bit_length()
            if capacity * sum(each.nbytes for each in kept.values()) > SPARE:
                capacity = len(rounds) + 1
        body = Body(
            program,
            tuple(found.carried().items()),
            tuple([(argument, role.step) for argument, role in stacked.items()]),
            tuple(last),
            tuple(kept.items()),
            capacity,
        )
        called = looped(body)
        called.where = self.dispatches[found.start].executable.where
        places = list(rounds[0].reads)
        for argument, role in stacked.items():
            places[argument] = self.loops[role.stack.loop].rounds[0].gives[role.stack.output]
        rows = [each.reads for each in rounds] + [rounds[-1].reads] * (capacity - len(rounds))
        return Dispatch(
            called,
            tuple([places[argument] for argument in called.arrays]),
            tuple([(own.numpy, tuple([row[each] for row in rows for each in of])) for own, of in called.packs.items()]),
            tuple([rounds[-1].gives[output] for output in last] + [rounds[0].gives[output] for output in kept]),
            (),
            np.array([len(rounds), *[role.start for role in stacked.values()]], np.int32),
        )


def roll_loops(plan: Plan) -> Plan:
    """`plan` with one dispatch for each loop, which gives the same results."""
    cuts: set[int] = set()
    if Meshes.used and any(type(device_of_program(each.executable.program)) is OnMesh for each in plan.dispatches):
        return plan
    for _ in range(ATTEMPTS):
        search = LoopSearch(plan, cuts)
        search.search()
        too_long = search.too_long()
        if not too_long:
            plan = search.plan() if search.loops else plan
            break
        cuts |= too_long
    return plan

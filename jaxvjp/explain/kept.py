"""Keeps the user's functions: what one call of a function recorded is written as a call of a function of that name.

It works on the steps of a function that is about to be written (`kept`). A call is kept if it computes only from what
was there before it, and if the other calls of the function compute the same of other values and numbers. All else
stays in line.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.explain.block import Expression, Step, Value, computed_once, form_of, in_order, live
from jaxvjp.explain.calls import FunctionCall
from jaxvjp.explain.cuts import PART_OPS
from jaxvjp.explain.lifting import placeholders
from jaxvjp.explain.literals import call as call_of
from jaxvjp.explain.literals import parsed
from jaxvjp.explain.names import assigned
from jaxvjp.explain.scope import KEPT, Scope, function, in_dicts, together
from jaxvjp.explain.story import Story

ROWS = 3
"""At most so many rows of tables that a call reads are its arguments."""
LONG = 60
MANY = 9  # steps of a call that is a function although it is the only one of its form
"""A call of more characters than this has a line of its own."""


class Whole(NamedTuple):
    """A function of the user's that all of a scope is a call of: its name, and what it calls the values."""

    name: str
    names: Mapping[Value, str]


class Kept:
    """What one call recorded, as far as it is needed.

    Attributes:
        steps: its steps, in the order of `places`. `readers` are those of each value, None if it is wanted itself.
        inputs: the values that they read from outside, in the order of reading.
        numbers: the steps among them that are only a Python number.
        results: what it returned, and what else is read outside.
        targets: the names of the results outside.
        places: where in what it returned each result is; None of what is not.
    """

    def __init__(
        self,
        call: FunctionCall,
        steps: Sequence[Step],
        places: Mapping[Step, int],
        readers: Mapping[Value, Sequence[Step | None]],
    ) -> None:
        self.call = call
        inside = {*steps}
        sources = {operand: operand.step for step in steps for operand in step.inputs if operand.step is not None}
        inside |= {
            step
            for operand, step in sources.items()
            if step in places and _loose(step) and inside.issuperset(readers[operand])
        }
        self.steps = sorted(inside, key=places.__getitem__)
        self.numbers = [each for each in self.steps if each.note == "number"]
        self.made = {output for step in self.steps for output in step.outputs}
        self.inputs = list(dict.fromkeys(each for step in self.steps for each in step.inputs if each not in self.made))
        self.readers = {each: outside for each in self.made if (outside := {*readers.get(each, ())} - inside)}
        self.read = [each for each in readers if each in self.readers]
        self.results: list[Value] = []
        self.targets: list[str | None] = []
        self.places: list[Sequence[Any] | None] = []

    def _with(self, steps: Sequence[Step], results: Sequence[Value]) -> Kept:
        """The same call with other steps, for other results."""
        made = copy.copy(self)
        made.steps, made.results = [*steps], [*results]
        made.numbers = [each for each in steps if each.note == "number"]
        made.made = {output for step in steps for output in step.outputs}
        made.inputs = list(dict.fromkeys(each for step in steps for each in step.inputs if each not in made.made))
        return made

    def completed(self, others: Sequence[Kept]) -> Kept | None:
        """The call with the results that nothing reads, as in `output, _ = cell(x, h)`: with copies of the steps that
        compute them in `others`. None if these do not compute the same besides."""
        whole = others[0]
        own = [each for each, place in zip(whole.results, whole.places, strict=True) if place in self.places]
        if None in self.places or None in whole.places or not len(own) == len(self.results) < len(whole.results):
            return None
        part = whole._with(live(whole.steps, own), own)
        if part.form() != self.form():
            return None
        mine: dict[Any, Any] = dict(zip(part.steps, self.steps, strict=True))
        known = dict(zip(part.inputs, self.inputs, strict=True))
        for one, other in mine.items():
            known.update(zip(one.outputs, other.outputs, strict=True))
        for place, each in enumerate(whole.inputs):
            if len({other.inputs[place] for other in others}) == 1:
                known.setdefault(each, each)
        for step in whole.steps:
            if step in mine:
                continue
            if not all(each in known for each in step.inputs):
                return None
            made = mine[step] = copy.copy(step)
            made.inputs, made.outputs = (
                [known[each] for each in step.inputs],
                [Value(each.wanted) for each in step.outputs],
            )
            for each in made.outputs:
                each.step = made
            known.update(zip(step.outputs, made.outputs, strict=True))
        found = self._with([mine[each] for each in whole.steps], [known[each] for each in whole.results])
        targets = dict(zip(self.places, self.targets, strict=True))
        found.places = whole.places
        found.targets = [targets.get(each) or assigned(self.call.where, each) for each in whole.places]
        return found if found.form() == whole.form() else None

    @property
    def long(self) -> bool:
        return sum(2 + len(operand.wanted or "t") for operand in self.inputs) > LONG

    @property
    def stay(self) -> list[Step]:
        """The steps of results that stay, whether they are read or not."""
        return [each for each in self.steps if each.stays and {*each.outputs} & {*self.results}]

    def in_time(self) -> bool:
        """Whether all that it reads was recorded before it, and what reads it after it."""
        sources = [operand.step for operand in self.inputs if operand.step is not None]
        early = all(not source.inputs or source.recorded < self.call.first for source in sources)
        late = [each for readers in self.readers.values() for each in readers if each is not None]
        return early and all(each.recorded > self.call.last for each in late)

    def forget_names(self) -> None:
        """Takes the names from results that only have one outside."""
        for result in self.results:
            if result.step is not None and result.wanted != assigned(result.step.where):
                result.wanted = None

    def form(self) -> tuple[Any, ...]:
        """What calls have in common that differ in what they read only."""
        given: dict[Value, Expression] = {each: parsed(f"_{place}") for place, each in enumerate(self.inputs)}
        names, stay = [result.wanted for result in self.results], self.stay
        self.forget_names()
        for each in stay:
            each.stays = False
        with placeholders(self.numbers):
            texts = form_of(self.steps, self.results, given)
        for result, name in zip(self.results, names, strict=True):
            result.wanted = name
        for each in stay:
            each.stays = True
        return (len(self.inputs), len(self.numbers), *texts)


def kept(
    scope: Scope, wanted: Sequence[Value], params: Sequence[Value], given: Mapping[Value, Expression]
) -> tuple[list[Step], list[Value], set[str], Whole | None]:
    """The steps of a scope with calls of the user's functions in place of what these recorded.

    Args:
        wanted: what the steps are written for.
        params: values that are arguments of what is written.
        given: the values that are read from outside, and their expressions.

    Returns:
        The steps, what stands now for what was `wanted`, the names of the functions, and the user's function that all
        steps are one call of, if they are.
    """
    story = scope.text.story
    found = live(in_order(scope.steps), wanted)
    if not story.calls or not found:
        return scope.steps, [*wanted], set(), None
    chains = _chains(story, found, scope.pulled)
    serials, begun = _serials(scope), _begun(scope)
    tables = {scope.values[each] for each in scope.text.starts if each in scope.values and each.operation is None}
    rows_called: dict[Value, str] = {}
    own: Whole | None = None
    while True:
        groups: dict[int, tuple[FunctionCall, list[Step]]] = {}
        for step in found:
            if len(chains[step]) > scope.within:
                call = chains[step][scope.within]
                groups.setdefault(call.first, (call, []))[1].append(step)
        for call, steps in groups.values():  # a row of a table, such as noise, is another in each call
            rows = [step for step in steps if step.part and step.inputs[0] in tables]
            if len(rows) <= ROWS and len(rows) < len(steps):
                steps[:] = [step for step in steps if step not in rows]
                for row in rows:
                    row.order = row.recorded = call.first - 0.5
                    rows_called.setdefault(row.outputs[0], row.outputs[0].wanted or "row")
                    if not any(row.outputs[0] in other.inputs for other in found if other not in steps):
                        row.outputs[0].wanted = None  # it is written as an argument
        whole = [call for call, steps in groups.values() if all(each in steps or _loose(each) for each in found)]
        if (
            scope.outer is None
            or not whole
            or not {*wanted} & {*_returned(whole[0], serials)}
            or _begun_outside(whole[0], params, begun)
        ):
            break
        own = own or Whole(whole[0].name, _named(whole[0], serials))  # all of it is one call
        scope.within += 1
    places = {step: place for place, step in enumerate(found)}
    readers: dict[Value, list[Step | None]] = {}
    for step in found:
        for operand in step.inputs:
            readers.setdefault(operand, []).append(step)
    for value in wanted:
        readers.setdefault(value, []).append(None)
    by_code: dict[Any, dict[Any, list[Kept]]] = {}
    named = {**scope.text.rounds, **story.names}
    last = {value: named[node] for node, value in scope.values.items() if node in named and isinstance(value, Value)}
    outermost = scope.outer is None and not scope.in_step
    for call, steps in groups.values():
        each = Kept(call, steps, places, readers)
        returned = {value: place for value, place in _returned(call, serials).items() if value in each.made}
        each.results = list(dict.fromkeys([*returned, *each.read]))
        each.places = [returned.get(value) for value in each.results]
        each.targets = [assigned(call.where, place) for place in returned.values()]
        each.targets += [value.wanted for value in each.results[len(returned) :]]
        if outermost:  # functions may read them from there by these names
            each.targets = [(value in returned and last.get(value)) or value.wanted for value in each.results]
        # What returns nothing writes to what it is given; else it may be a part only. In a step that is an update.
        apart = outermost and len(each.results) + each.long > 1 and None in each.targets
        apart = apart or (outermost and not each.inputs) or _begun_outside(call, each.inputs, begun)
        whole_call = returned or not (call.returned or scope.in_step)
        if each.results and whole_call and not apart and each.in_time():
            by_code.setdefault(each.call.code, {}).setdefault(each.form(), []).append(each)
    steps, called = found, set[str]()
    after: dict[Value, Value] = {}
    for forms in by_code.values():
        alike = max(map(partial(_joined, forms.values()), forms.values()), key=len)
        if len(forms) > 2 and len(alike) < 2:
            continue
        first = {each.call.first for each in alike}
        others = [[each for each in form if each.call.first not in first] for form in forms.values()]
        own_forms = [
            alike,
            *[each for each in others if len(each) > 1 or (len(forms) == 2 and each and len(each[0].steps) > MANY)],
        ]
        for each, name, step in (
            found for form in own_forms for found in _written(scope, form, params, given, serials, rows_called)
        ):
            called.add(name)
            inside = {*each.steps}
            steps = [*[other for other in steps if other not in inside], step]
            after.update(zip(each.results, step.outputs, strict=True))
    for step in steps:
        step.inputs = [after.get(operand, operand) for operand in step.inputs]

    def value_of(node: Node) -> Value | None:
        value = scope.values.get(node)
        return value if value is None else after.get(value, value)

    return computed_once(steps, value_of), [after.get(each, each) for each in wanted], called, own


def _joined(forms: Iterable[Sequence[Kept]], whole: list[Kept]) -> list[Kept]:
    """Calls of one form, and those that are of it with what nothing reads."""
    found = [each.completed(whole) for other in forms if other is not whole for each in other]
    return [*whole, *[each for each in found if each is not None]]


def _chains(story: Story, steps: Sequence[Step], pulled: CodeType | None) -> dict[Step, list[FunctionCall]]:
    """For each step the calls that it was recorded in, from the outermost to the one of its own function: those in
    which no backward pass took place; in the backward `pulled` those that it called."""
    walks = story.passes
    backwards = {each.where for each in walks}
    chains: dict[Step, list[FunctionCall]] = {}
    running: list[FunctionCall] = []
    calls = iter([*story.calls, None])
    coming = next(calls)
    for step in sorted(steps, key=lambda each: each.recorded):
        while coming is not None and coming.first < step.recorded:
            running = [*[each for each in running if each.last > coming.first], coming]
            coming = next(calls)
        running = [each for each in running if each.last > step.recorded]
        hooks = [place for place, each in enumerate(running) if each.where in backwards]  # called by a backward pass
        chain = running[: hooks[0]] if hooks else running
        chain = [each for each in chain if not any(each.first < walk.order < each.last for walk in walks)]
        if pulled is not None:  # what passes in it give is written in it
            own = [place for place, each in enumerate(running) if each.code is pulled]
            chain = running[own[-1] + 1 :] if own else []
        code = None if step.where is None or step.where[0].co_name.startswith("<") else step.where[0]
        while chain and code is not None and chain[-1].code is not code:
            chain = chain[:-1]
        codes = [each.code for each in chain]
        chains[step] = [each for place, each in enumerate(chain) if each.code not in codes[:place]]
    return chains


def _loose(step: Step) -> bool:
    """Whether a step is only a number, which belongs to what reads it."""
    return not step.inputs and (step.free or step.where is None)


def _serials(scope: Scope) -> dict[int, Value]:
    return {
        node.serial: value for node, value in scope.values.items() if type(node) is Node and isinstance(value, Value)
    }


def _returned(call: FunctionCall, serials: Mapping[int, Value]) -> dict[Value, Sequence[Any]]:
    found: dict[Value, Sequence[Any]] = {}
    for serial, place in call.returned.items():
        if serial in serials:
            found.setdefault(serials[serial], place)
    return found


def _begun(scope: Scope) -> dict[Value, list[int]]:
    """For each value the serials of the nodes that computed it from others."""
    begun: dict[Value, list[int]] = {}
    for node, value in scope.values.items():
        computed = type(node) is Node and isinstance(value, Value) and node.operation not in PART_OPS
        operands = [each for each in scope.text.inputs(node) if type(each) is Node] if computed else []
        if operands and value not in [scope.values.get(each) for each in operands]:
            begun.setdefault(value, []).append(node.serial)
    return begun


def _begun_outside(call: FunctionCall, given: Sequence[Value], begun: Mapping[Value, Sequence[int]]) -> bool:
    """Whether a part of what a call computed is computed outside, and given."""
    return any(call.first < serial < call.last for each in given for serial in begun.get(each, ()))


def _named(call: FunctionCall, serials: Mapping[int, Value]) -> dict[Value, str]:
    return {serials[serial]: name for serial, name in call.names.items() if serial in serials}


def _written(
    scope: Scope,
    alike: Sequence[Kept],
    params: Sequence[Value],
    given: Mapping[Value, Expression],
    serials: Mapping[int, Value],
    rows: Mapping[Value, str],
) -> Iterator[tuple[Kept, str, Step]]:
    """Defines the function of calls of one form; the steps that call it."""
    names: list[str | None] = []
    lifted: list[int] = []
    columns: list[tuple[Value, ...]] = []
    order: list[int] = []
    own = [{**rows, **_named(each.call, serials)} for each in alike]
    signature = list(dict.fromkeys(name for each in alike for name in each.call.names.values()))
    outside: dict[Value, Expression] = {}
    same: dict[Value, Value] = {}
    given_once: dict[tuple[str, ...], Value] = {}
    for column in zip(*[each.inputs for each in alike], strict=True):
        known = next((found[each] for found, each in zip(own, column, strict=True) if each in found), None)
        known = known or _number_name(alike, [each.step for each in column])
        if known is None and len({*column}) == 1 and column[0] in given and column[0] not in params:
            outside[column[0]] = given[column[0]]
            continue
        columns.append(column)
        names.append(known or next((each.wanted for each in column if each.wanted), None))
        order.append(signature.index(known) if known in signature else len(signature))
    for place, column in enumerate(zip(*[each.numbers for each in alike], strict=True)):
        texts = tuple([ast.unparse(each.write([])) for each in column])
        if len({*texts}) > 1:
            lifted.append(place)
            same[column[0].outputs[0]] = given_once.setdefault(texts, column[0].outputs[0])
            if given_once[texts] is not column[0].outputs[0]:
                continue
            columns.append(tuple([each.outputs[0] for each in column]))
            names.append(_number_name(alike, column) or "number")
            order.append(len(signature))
    first, stay = alike[0], [each.stay for each in alike]
    first.forget_names()
    for step in stay[0]:
        step.stays = False
    same_outside = {column[0].wanted: each for column, each in zip(columns, names, strict=True)}
    for value, target in zip(first.results, first.targets, strict=True):
        if value.wanted is None and target is not None:
            value.wanted = same_outside.get(target)  # written in place: it has the name of what it was
    places = sorted(range(len(columns)), key=lambda place: order[place])
    inner = Scope(scope.text, scope, set())
    inner.values, inner.within, inner.called = scope.values, scope.within + 1, scope.called
    apart = {first.numbers[each] for each in lifted}
    inner.steps = [each for each in first.steps if each not in apart]
    for step in inner.steps:
        step.inputs = [same.get(operand, operand) for operand in step.inputs]
    inner.reached = {each: each for each in outside}
    params = [columns[each][0] for each in places]
    given_as = in_dicts([columns[each] for each in places], [names[each] or "x" for each in places])
    members = [each.member for each in params]
    for value, called in zip(params, given_as, strict=True):
        value.member = None if called.isidentifier() else value.member
    name = function(
        inner,
        params,
        first.results,
        outside,
        first.call.name,
        single=len(first.results) == 1,
        param_names=given_as,
    )
    for value, member in zip(params, members, strict=True):
        value.member = member
    for number, each in enumerate(alike):
        each.steps = [step for step in each.steps if step not in {each.numbers[place] for place in lifted}]
        count = len(each.results)
        inputs = [columns[place][number] for place in places]
        step = Step(
            inputs,
            lambda e: call_of(name, *together(given_as, e)),
            each.targets,
            each.call.last,
            each.call.where,
            unpacked=count > 1,
        )
        step.stays = each.long or bool(stay[number])
        yield each, name, step


def _number_name(alike: Sequence[Kept], column: Sequence[Step | None]) -> str | None:
    """The name by which a function was given numbers."""
    found = [None if each is None or each.note != "number" else ast.unparse(each.write([])) for each in column]

    def fits(name: str) -> bool:
        values = [each.call.numbers.get(name) for each in alike]
        return all(
            value is not None and text is not None and np.float32(value) == np.float32(ast.literal_eval(text))
            for value, text in zip(values, found, strict=True)
        )

    return next((name for name in alike[0].call.numbers if fits(name)), None)


KEPT.append(kept)

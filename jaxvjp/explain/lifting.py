"""In a printed program: makes the functions that are passed to `jax.vjp`, with parameters and extra results (`Lifted`).

Such a function stays correct under `jax.jit`: what varies between its calls is an argument, and a value of its inside
that is read later is returned beside its results (`has_aux`). A constant of the program, which is assigned once, is
read from outside.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any

from jaxvjp.core.record.graph import Node, reachable
from jaxvjp.explain.block import Expression, Step, Value, form_of, live
from jaxvjp.explain.literals import parsed
from jaxvjp.explain.names import loop_variable, safe, statement
from jaxvjp.explain.scope import RETURNED, Scope, dependent, function, in_dicts, together
from jaxvjp.ops.identity import tuple_item


class Lifted:
    """A function from the nodes `params` to the nodes `outputs`, for a backward pass at the time `order`.

    Attributes:
        values: the values of `params` outside.
        wanted: the names of its results.
        returned: values outside that stand for what it returns beside its results, by their values inside.
        calls: the steps that call it.
        place: where the returned values are among the outputs of the first of them.
        same: a function of the same form, of which only one is written.
    """

    def __init__(self, top: Scope, params: Sequence[Node], outputs: Sequence[Node], order: float) -> None:
        self.top = top
        self.order = order
        self.single = len(outputs) == 1
        self.values: list[Value] = [top.value(parameter) for parameter in params]
        self.inner = Scope(top.text, top, dependent(top.text, outputs, params, top))
        self.params = [Value(value.wanted) for value in self.values]
        self.inner.values.update(zip(params, self.params, strict=True))
        self.results: list[Value] = [self.inner.value(output) for output in outputs]
        named = zip(self.results, outputs, strict=True)
        unnamed = "result" if "y" in top.text.variables else "y"  # another tensor may be called y
        text = top.text
        self.wanted = [
            text.story.names.get(node) or each.wanted or text.name_of(node) or text.result_name(node) or unnamed
            for each, node in named
        ]
        self.returned: dict[Value, Value] = {}
        self.calls: list[Step] = []
        self.place = 0
        self.arguments: list[Value] = []
        self.names: list[str] = []
        self.constants: list[Value] = []
        self.same: Lifted = self
        self.name = ""
        top.functions.append(self)
        for node in self.inner.inside or ():
            top.owners.setdefault(node, self)

    def give(self, node: Node) -> Value | None:
        """The value outside of a node that is computed inside, which the function returns then; None if it cannot."""
        value = self.inner.value(node)
        if isinstance(value, list) or value.step not in self.inner.steps or not value.step.inputs or not self.calls:
            return None
        if value in self.results:
            return self.calls[0].outputs[self.results.index(value)]
        if value not in self.returned:
            text = self.top.text
            value.wanted = value.wanted or text.name_of(node) or text.story.tensors.get(node.tensor)
            self._return(value, value.wanted)
        return self.returned[value]

    def _return(self, value: Value, wanted: str | None) -> None:
        """Has the function return a value of its inside beside its results."""
        found = self.returned[value] = Value(wanted)
        found.step, self.calls[0].shorter = self.calls[0], None
        found.step.outputs.insert(self.place + len(self.returned) - 1, found)

    def return_as(self, other: Lifted, steps: Sequence[Step], of_other: Sequence[Step]) -> None:
        """Returns what `other` does beside its results, which it computes in the same `steps`; nothing where that reads
        what this function does not."""
        same = dict(zip(other.params, self.params, strict=True))
        for mine, its in zip(steps, of_other, strict=True):
            same.update(zip(its.outputs, mine.outputs, strict=True))
        with _without_returned(self), _without_returned(other):
            read = [*zip(other.reads(), self.reads(), strict=True)]
        same.update({other.inner.reached[its]: self.inner.reached[mine] for its, mine in read})
        added: list[Step] = []
        for step in live(other.inner.steps, other.everything):
            if step in of_other:
                continue
            if not same.keys() >= {*step.inputs}:
                return
            added.append(made := copy(step))
            made.inputs = [same[each] for each in step.inputs]
            made.outputs = [Value(each.wanted) for each in step.outputs]
            for before, output in zip(step.outputs, made.outputs, strict=True):
                same[before], output.step = output, made
        self.inner.steps += added
        for before, outside in other.returned.items():
            self._return(same[before], outside.wanted)

    def order_returned(self) -> None:
        """Has what it returns beside its results in the order of computing, in whichever order it was asked for."""
        order = sorted(self.returned, key=lambda each: (each.step.recorded, each.step.outputs.index(each)))  # type: ignore[union-attr]
        self.returned = {each: self.returned[each] for each in order}
        for call in self.calls[:1]:
            call.outputs[self.place : self.place + len(order)] = self.returned.values()

    # Writing.

    @property
    def everything(self) -> list[Value]:
        return [*self.results, *self.returned]

    def reads(self) -> dict[Value, int]:
        """The values outside that it reads, besides its parameters, and how often, in the order of reading."""
        counts: dict[Value, int] = {}
        read = [value for step in live(self.inner.steps, self.everything) for value in step.inputs]
        for each in [*read, *self.everything]:
            counts[each] = counts.get(each, 0) + 1
        outside = {here: outer for outer, here in self.inner.reached.items()}
        return {outside[here]: count for here, count in counts.items() if here in outside}

    def form(self) -> tuple[Any, ...]:
        """What functions have in common that differ only in what they read, and in the names of their results."""
        outer = list(self.reads())
        given: dict[Value, Expression] = {each: parsed(f"_{place}") for place, each in enumerate(self.params)}
        given.update({self.inner.reached[each]: parsed(f"__{place}") for place, each in enumerate(outer)})
        named, names = [result.wanted for result in self.results], [parameter.wanted for parameter in self.params]
        for each in self.results:
            each.wanted = each.wanted if each in given else None
        texts = form_of(self.inner.steps, self.everything, given)
        for each, own in zip(self.results, named, strict=True):
            each.wanted = own
        return (*names, len(outer), len(self.results), *texts)

    def divide(self, group: Sequence[Lifted], settled: Callable[[Value], bool]) -> None:
        """Decides which of the values that the functions of a `group`, of one form, read are arguments: those that
        differ, those that are not `settled`, and those whose name is also one inside."""
        inside = {output.wanted for step in self.inner.steps for output in step.outputs}
        columns = list(zip(*[each.reads().items() for each in group], strict=True))
        for column in columns:
            varies = len({_constant(outer) or outer for outer, _ in column}) > 1
            outer = column[0][0]
            clashes = outer.wanted is not None and not (outer.step and outer.step.free) and outer.wanted in inside
            for each, (own, count) in zip(group, column, strict=True):
                if varies or clashes or not settled(own):
                    each.arguments.append(own)
                    unnamed = "given" if "x" in inside else "x"
                    each.names.append(next((other.wanted for other, _ in column if other.wanted), unnamed))
                else:
                    each.constants += [own] * count
        for place in range(len(self.results)):
            names = [each.results[place].wanted for each in group]
            known = next((name for name in names if name), None)
            for each, own in zip(group, names, strict=True):
                if own is None and known is not None and each.results[place] not in each.params:
                    each.results[place].wanted = each.calls[0].outputs[place].wanted = known
        for each in group:
            each.same = self
            each.names = in_dicts(
                [*zip(*[other.arguments for other in group], strict=True)], self.names, self.parameters
            )
            for own, known in zip(each.arguments, each.names, strict=True):
                root = known.partition("[")[0]  # what is one dict outside may be two inside, `f(net, net)`
                member = (root, *own.member[1:]) if own.member and known != root else None
                each.inner.reached[own].member = member
            for step in each.calls:
                step.inputs = [*each.values, *each.arguments, *each.constants]

    def grouped(self, whole: bool) -> list[tuple[int, int]]:
        """The nested tuples among the outputs of the first call: the returned values, if there are several, and with
        `whole` the results with them."""
        count = len(self.returned)
        own = [(self.place, self.place + count)] if count > 1 else []
        return [(0, self.place + (1 if own else count)), *own] if whole and count else own

    @property
    def parameters(self) -> list[str]:
        """The names of `params`, `net["weight"]` for those in a dict."""
        own = [(value.member, value.wanted or "x") for value in self.params]
        return [f'{member[1]}["{member[2]}"]' if member else name for member, name in own]

    def called(self, expressions: Sequence[Expression]) -> tuple[str, list[Expression]]:
        """The function's name, and its arguments; defines it."""
        count = len(self.values)
        if not self.same.name:
            outside = dict(zip(self.constants, expressions[count + len(self.arguments) :], strict=True))
            names = [
                each.id if isinstance(each, ast.Name) else own
                for each, own in zip(expressions, [*self.parameters, *self.names], strict=False)
            ]
            self.same.name = function(
                self.inner,
                [*self.params, *[self.inner.reached[argument] for argument in self.arguments]],
                self.results,
                outside,
                "f",
                self.single,
                param_names=names,
                returned=list(self.returned),
            )
        more = expressions[count : count + len(self.arguments)]
        return self.same.name, [*expressions[:count], *together(self.names, more)]


@contextmanager
def _without_returned(made: Lifted) -> Iterator[None]:
    returned, made.returned = made.returned, {}
    try:
        yield
    finally:
        made.returned = returned


def returned_alike(functions: Sequence[Lifted]) -> None:
    """Has the calls at one line of functions that are the same otherwise return the same beside their results: `acc`,
    of which only the last round's is read, is assigned in each round then, and all rounds are alike."""
    groups: dict[tuple[Any, ...], list[tuple[Lifted, list[Step]]]] = {}
    for made in [each for each in functions if each.calls]:
        outer = {here: value for value, here in made.inner.reached.items()}
        steps = live(made.inner.steps, made.results)
        with _without_returned(made), placeholders([each for each in steps if varies(each, outer)]):
            groups.setdefault((made.calls[0].where, *made.form()), []).append((made, steps))
    for group in groups.values():
        most, of_most = max(group, key=lambda pair: len(pair[0].returned))
        for made, steps in group:
            if most.returned and not made.returned:
                made.return_as(most, steps, of_most)


def _constant(value: Value) -> str:
    """The text of a short array without a name that the program computes of nothing, `jnp.ones(2)`; "" for others."""
    step = value.step
    if step is None or step.inputs or value.wanted is not None or len(step.outputs) > 1 or step.stays:
        return ""
    return ast.unparse(step.write([]))


def owners_of(top: Scope, wanted: Node) -> dict[Node, Lifted]:
    """The functions that compute `wanted` and what it is made of: those that have it inside, and those before whose
    backward pass it was recorded and on whose inside it depends, as a running mean does."""
    owners: dict[Node, Lifted] = {}
    for node in reachable(
        [wanted], lambda each: () if each in top.values or each in top.owners else top.text.inputs(each)
    ):
        if node in top.values:
            if node in top.owners:  # what a function returns already
                owners[node] = top.owners[node]
            continue
        of_several = node.operation is tuple_item and node.inputs  # what was computed before has no inputs any more
        owner = top.owners.get(node.inputs[0] if of_several else node)  # type: ignore[arg-type]
        if owner is None and not wanted.requires_grad:
            owner = next((each for each in top.functions if each.order > node.serial), None)
            if owner is not None and not any(owners.get(operand) is owner for operand in top.text.inputs(node)):
                owner = None
        if owner is not None:
            owners[node] = owner
    return owners


def given_back(top: Scope, wanted: Node) -> Value | None:
    """The value in the program's scope of a node that a function in it computes; None for others."""
    owners = owners_of(top, wanted)
    if wanted not in owners:
        return None
    for node, owner in owners.items():
        owner.inner.inside.add(node)  # type: ignore[union-attr]
        top.owners.setdefault(node, owner)
    for node, owner in owners.items():  # a function may read what an earlier one gives back
        for operand in top.text.inputs(node):
            if owners.get(operand, owner) is not owner:
                _received(top, operand, owners[operand])
    return _received(top, wanted, owners[wanted])


def _received(top: Scope, node: Node, owner: Lifted) -> Value | None:
    found = top.values.get(node) or owner.give(node)
    if found is not None:
        top.values[node] = found
    return found


@contextmanager
def placeholders(steps: Sequence[Step]) -> Iterator[None]:
    """A block in which steps that are Python numbers, or parts `x[2]`, are written as others, so that texts with them
    can be compared."""
    writers = [step.write for step in steps]
    for place, each in enumerate(steps):
        if each.part:
            each.write = lambda e: ast.Subscript(e[0], ast.Constant(...), ast.Load())
        elif _plain(each):
            stands = ast.Constant(type(ast.literal_eval(each.write([])))(1000 + place))
            each.write = lambda _, stands=stands: stands  # type: ignore[misc]
    try:
        yield
    finally:
        for each, writer in zip(steps, writers, strict=True):
            each.write = writer


def given_by_round(functions: Sequence[Lifted]) -> None:
    """Makes arguments of the numbers and of the parts `x[2]` of given values in which functions differ that are the
    same otherwise, as those of the rounds of a loop."""
    groups: dict[tuple[Any, ...], list[tuple[Lifted, list[Step]]]] = {}
    for made in functions:
        outer = {here: value for value, here in made.inner.reached.items()}
        steps = live(made.inner.steps, made.everything)
        found = [each for each in steps if varies(each, outer)]
        with placeholders(found):
            groups.setdefault(made.form(), []).append((made, found))
    for group in groups.values():
        for column in zip(*[found for _, found in group], strict=True):
            if len({ast.unparse(each.write([ast.Name("x")] * each.part)) for each in column}) == 1:
                continue
            for (made, _), step in zip(group, column, strict=True):
                read = [value for value, here in made.inner.reached.items() if here in step.inputs]
                wanted = step.outputs[0].wanted or (_part_name(read[0]) if read else _number_name(group[0][0], column))
                given = made.top.add(Step(read, step.write, [wanted], free=True)).outputs[0]
                made.inner.reached[given] = step.outputs[0]
                made.inner.steps.remove(step)
                step.outputs[0].step = None


def varies(step: Step, outer: Mapping[Value, Value]) -> bool:
    """Whether it may be another one in each round: a number, or a part `x[2]` of a value from outside."""
    return step.note == "number" or (step.part and len(step.inputs) == 1 and step.inputs[0] in outer)


def _part_name(whole: Value) -> str:
    """The name of a parameter that is a part of a value: `x` of `X`, and `row` of `rows`."""
    return (whole.wanted or "x").lower().removesuffix("s") or "x"


def _number_name(made: Lifted, column: Sequence[Step]) -> str:
    """The name of a parameter for numbers: the user's loop variable that held them."""
    sources = [step.where for step in made.inner.steps if column[0].outputs[0] in step.inputs]
    source = statement(sources[0]) if sources else None
    values = [ast.literal_eval(each.write([])) for each in column]
    return (source and loop_variable(source.filename, source.line, 0, values)) or "number"


def _plain(number: Step) -> bool:
    """Whether a number is written as a literal, and not as `jnp.inf`."""
    try:
        ast.literal_eval(number.write([]))
    except ValueError:
        return False
    return True


def divided(functions: Sequence[Lifted], steps: Sequence[Step], varying: Collection[Value] | None = None) -> None:
    """Decides what is an argument of each function, and which are one; `steps` are those of the program. If these are
    inside a function, its arguments are `varying`, and what it assigns cannot be read from outside."""
    if varying is None:
        returned_alike(functions)
    for made in functions:
        made.order_returned()
    if varying is None:
        given_by_round(functions)
    assigned: dict[str, int] = {}
    uses: dict[Value, int] = {}
    for each in [value for step in steps if not step.free for value in step.outputs]:
        assigned[safe(each.wanted or "t")] = assigned.get(safe(each.wanted or "t"), 0) + 1
    for each in [value for step in steps for value in step.inputs]:
        uses[each] = uses.get(each, 0) + 1
    groups: dict[tuple[Any, ...], list[Lifted]] = {}
    for made in functions:
        groups.setdefault(made.form(), []).append(made)
        for each, count in [*made.reads().items(), *[(value, 1) for value in made.values]]:
            uses[each] = uses.get(each, 0) + count

    def settled(value: Value, depth: int = 3) -> bool:
        """Whether the text of a value is the same wherever it stands: a number, a name that is assigned once, or a
        short expression of such."""
        step = value.step
        if varying is not None and value in varying:
            return False
        if step is None or step.free:
            return step is None or all(settled(operand, depth) for operand in step.inputs)
        if value.wanted is None and uses.get(value) == 1 and len(step.outputs) == 1 and not step.stays:
            return depth > 0 and all(settled(operand, depth - 1) for operand in step.inputs)
        return varying is None and assigned[safe(value.wanted or "t")] == 1

    for group in groups.values():
        group[0].divide(group, settled)


RETURNED.append(given_back)

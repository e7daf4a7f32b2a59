"""Writes one step of a recorded training loop as a function of its operands: `StepWriter`."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.observers import GradSet, Walked
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.explain.block import Block, Expression, Step, Value
from jaxvjp.explain.lifting import Lifted, divided
from jaxvjp.explain.literals import call, literal, name, parsed
from jaxvjp.explain.optimizers import Group, Update
from jaxvjp.explain.source import Writer, has_aux
from jaxvjp.explain.steps import Entry, Steps, TrainingStep
from jaxvjp.explain.story import Event, Story
from jaxvjp.explain.text import Text


class Tree:
    """The parameters of one group of an optimizer, which are one dict of the state.

    Attributes:
        name: the name of the dict.
        transform, kept: the names of the optimizer, a transform of optax, and of what it keeps.
        entries, keys: the parameters, and their keys.
        written: the expression of the transform.
        rates: the rate of each of its steps.
    """

    def __init__(self, name: str, transform: str, entries: list[Entry], written: str, rates: Sequence[float]) -> None:
        self.name, self.transform, self.kept = name, transform, f"{transform}_state"
        self.entries, self.written, self.rates = entries, written, rates
        self.keys = [entry.name for entry in entries]
        cut = shared_beginning(self.keys).rfind("_") + 1
        if len(self.keys) > 1 and all(key[cut:] for key in self.keys):
            self.keys = [key[cut:] for key in self.keys]

    def whole(self, texts: Sequence[str]) -> str:
        """The expression of a dict of these values: the name of one, if they are all of it."""
        root = texts[0].partition("[")[0]
        same = all(text == f"{root}[{key!r}]" for text, key in zip(texts, self.keys, strict=True))
        return root if same else self.display(texts)

    def display(self, texts: Sequence[str]) -> str:
        return f"{{{', '.join(f'{key!r}: {text}' for key, text in zip(self.keys, texts, strict=True))}}}"


def shared_beginning(names: Sequence[str]) -> str:
    """What all names begin with."""
    columns = itertools.takewhile(lambda column: len(set(column)) == 1, zip(*names, strict=False))
    return "".join(column[0] for column in columns)


def _picking(key: str) -> Any:
    return lambda e: ast.Subscript(e[0], ast.Constant(key), ast.Load())


class StepWriter(Writer):
    """Writes one step as a function of its operands."""

    def __init__(
        self,
        story: Story,
        steps: Steps,
        step: TrainingStep,
        given: Mapping[Any, tuple[str, str, bool]],
        members: Mapping[Node, tuple[Tree, str]],
        trees: Sequence[tuple[Tree, Update, Group]],
        text: Text | None,
        wide_types: bool,
    ) -> None:
        events = [event for event in step.events if not isinstance(event.what, GradSet)]
        super().__init__(story._replace(events=events, shown=[]), "grad", wide_types)
        known = steps.text
        self.text.explicit_dtypes = wide_types
        self.text.rounds.clear()
        self.text.first, self.text.begun, self.text.inner = known.first, known.begun, known.inner
        if text is not None:  # the functions of all kinds are in one script
            self.text.definitions, self.text.texts, self.text.lines = text.definitions, text.texts, text.lines
            self.text.imports = text.imports
        self.expressions: dict[Value, ast.expr] = {}
        self.states: dict[Tree, Value] = {}
        self.clipped: dict[int, dict[Tree, Value]] = {}
        self.varying: set[Value] = set()
        shared: dict[str, Value] = {}
        for node, (called, expression, varies) in given.items():
            value = self.top.values[node] = shared.setdefault(expression, Value(called))
            self.expressions[value] = parsed(expression)
            if varies:
                self.varying.add(value)
            if type(node) is Number:
                self.text.lifted.add(node)
        self.step, self.trees, self.members = step, trees, members

    def at_once(
        self, walked: Walked, params: list[Node], outputs: list[Node], v: Any, order: float, event: Event
    ) -> Any:
        """`loss, net_grad = jax.value_and_grad(f)(state["net"], x)`, if the parameters are whole dicts of the state."""
        (root,) = outputs
        own = {parameter: self.members[parameter] for parameter in params if parameter in self.members}
        trees = list(dict.fromkeys(tree for tree, _ in own.values()))
        whole = len(own) == len(params) == sum(len(tree.keys) for tree in trees)
        if not whole or v is not None or root.aval.shape or any(each.aval.dtype.is_complex for each in (root, *params)):
            return super().at_once(walked, params, outputs, v, order, event)
        for parameter in params:
            self.top.value(parameter)
        made = Lifted(self.top, params, outputs, order)
        made.place = 1
        made.members = [f'{tree.name}["{key}"]' for tree, key in own.values()]
        argnums = {"argnums": literal(tuple(range(len(trees))))} if len(trees) > 1 else {}
        order_of_trees = [tree for tree, _ in own.values()]

        def both(expressions: Sequence[Expression]) -> Expression:
            function, arguments = self.called(made, expressions)
            given = [parsed(f'state["{tree.name}"]') for tree in dict.fromkeys(order_of_trees)]
            count = len(step.outputs) - len(trees)
            step.grouped = [*made.grouped(True), *[(count, len(step.outputs))] * (len(trees) > 1)]
            taken = call("jax.value_and_grad", name(function), **argnums, **has_aux(made))
            return call(taken, *given, *arguments[len(params) :])

        step = Step([], both, [*made.wanted, *[f"{each.name}_grad" for each in trees]], order, event.where, stays=True)
        self.top.add(step)
        made.calls.append(step)
        self.top.values.setdefault(root, step.outputs[0])
        grads = dict(zip(trees, step.outputs[-len(trees) :], strict=True))
        return [
            self.top.add(Step([grads[tree]], _picking(key), order=order + 1e-4, free=True)).outputs[0]
            for tree, key in own.values()
        ]

    def update(self, tree: Tree, update: Update, group: Group) -> None:
        """A step of an optimizer: `updates, net_adam_state = net_adam.update(net_grad, state["net_adam_state"],
        state["net"])`, and `net = optax.apply_updates(state["net"], updates)`."""
        self.text.imports["import optax"] = None
        where = next((each.where for each in group.after if each.where is not None), None)
        together = update.clip is not None and len(update.groups) > 1
        gradients = [self.clip(update, where)[tree]] if together else [self.top.value(each) for each in group.gradients]
        before = [self.top.value(each) for each in group.before]
        whole = all(each in self.expressions for each in before)
        kept = [self.states[tree]] if tree in self.states else []
        read = [*gradients, *kept, *([] if whole else before)]

        def params(e: Sequence[Expression]) -> str:
            return f'state["{tree.name}"]' if whole else tree.whole([ast.unparse(each) for each in e])

        def updates(e: Sequence[Expression]) -> Expression:
            given, rest = [ast.unparse(each) for each in e[: len(gradients)]], e[len(gradients) :]
            grads = given[0] if together else tree.whole(given)
            own = ast.unparse(rest[0]) if kept else f'state["{tree.kept}"]'
            return parsed(f"{tree.transform}.update({grads}, {own}, {params(rest[len(kept) :])})")

        step = self.top.add(Step(read, updates, ["updates", tree.kept], update.first, where, stays=True))
        changed, self.states[tree] = step.outputs

        def applied(e: Sequence[Expression]) -> Expression:
            return parsed(f"optax.apply_updates({params(e[1:])}, {ast.unparse(e[0])})")

        read = [changed, *([] if whole else before)]
        after = self.top.add(Step(read, applied, [tree.name], update.first + 1e-3, where, stays=True)).outputs[0]
        for key, node in zip(tree.keys, group.after, strict=True):
            picked = Step([after], _picking(key), order=update.first + 2e-3, free=True)
            self.top.values[node] = self.top.add(picked).outputs[0]

    def clip(self, update: Update, where: UserLine) -> dict[Tree, Value]:
        """The gradients of all groups of an optimizer, clipped together."""
        if id(update) not in self.clipped:
            assert update.clip is not None
            groups = [(tree, group) for tree, its, group in self.trees if its is update]
            limit = update.clip.limit

            def written(e: Sequence[Expression]) -> Expression:
                texts = [ast.unparse(each) for each in e]
                parts = [tree.whole([texts.pop(0) for _ in tree.keys]) for tree, _ in groups]
                return parsed(
                    f"optax.clip_by_global_norm({limit!r}).update(({', '.join(parts)}), optax.EmptyState())[0]"
                )

            read = [self.top.value(gradient) for _, group in groups for gradient in group.gradients]
            wanted = [f"{tree.name}_grad" for tree, _ in groups]
            step = self.top.add(Step(read, written, wanted, update.first - 1e-3, where, stays=True))
            self.clipped[id(update)] = dict(zip([tree for tree, _ in groups], step.outputs, strict=True))
        return self.clipped[id(update)]

    def body(self) -> tuple[Block, list[str], list[str], dict[Tree, str]]:
        """The statements of the step, and the expressions of its losses, of what it leaves, and of what its optimizers
        keep."""
        updates = [*self.trees]
        for place, event in enumerate(self.story.events):
            while updates and updates[0][1].first < event.order:
                self.update(*updates.pop(0))
            if isinstance(event.what, Walked):
                self.walk(place, event, event.what)
        for each in updates:
            self.update(*each)
        final = [self.top.value(each) for each in [*self.step.losses, *self.step.outputs]]
        final += self.states.values()
        divided(self.top.functions, self.top.steps, self.varying)
        needed = {each.step for each in final}
        pending = [*needed]
        while pending:
            each = pending.pop()
            sources = {} if each is None else {value.step for value in each.inputs}
            pending += {*sources} - needed
            needed |= {*sources}
        self.top.steps = [step for step in self.top.steps if step in needed]
        self.text.taken |= {each.wanted for each in final if each.wanted}
        own = {each.id for text in self.expressions.values() for each in ast.walk(text) if isinstance(each, ast.Name)}
        block = Block(
            self.top.steps, final, self.expressions, {"jax", "jnp", "optax", "state", "batch", "key", "data", *own}
        )
        texts = [ast.unparse(result) for result in block.results]
        first, last = len(self.step.losses), len(texts) - len(self.states)
        return block, texts[:first], texts[first:last], dict(zip(self.states, texts[last:], strict=True))

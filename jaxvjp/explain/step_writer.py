"""Writes one step of a recorded training loop as a function of its operands: `StepWriter`."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.observers import GradSet, Walked
from jaxvjp.explain.block import Block, Expression, Step, Value
from jaxvjp.explain.lifting import Lifted, divided
from jaxvjp.explain.literals import call, literal, name, parsed
from jaxvjp.explain.optimizers import Group, Rule, Update
from jaxvjp.explain.source import Writer, has_aux
from jaxvjp.explain.steps import Entry, Steps, TrainingStep
from jaxvjp.explain.story import Event, Story
from jaxvjp.explain.text import Text


class Tree:
    """The parameters of one group of an optimizer, which are one dict of the state.

    Attributes:
        name, kept: the names in the state of the dict, and of what the optimizer keeps.
        entries, keys: the parameters, and their keys.
        rule: the optimizer's.
    """

    def __init__(self, name: str, kept: str, entries: list[Entry], rule: Rule) -> None:
        self.name, self.kept, self.entries, self.rule = name, kept, entries, rule
        self.keys = [each.name for each in entries]
        cut = shared_beginning(self.keys).rfind("_") + 1
        if len(self.keys) > 1 and all(each[cut:] for each in self.keys):
            self.keys = [each[cut:] for each in self.keys]

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
        trees: Sequence[tuple[Tree, Update, Group, str]],
        text: Text | None,
        wide_types: bool,
    ) -> None:
        events = [each for each in step.events if not isinstance(each.what, GradSet)]
        super().__init__(story._replace(events=events, shown=[]), "grad", wide_types)
        known = steps.text
        self.text.explicit_dtypes = wide_types
        self.text.first, self.text.begun, self.text.inner = known.first, known.begun, known.inner
        if text is not None:  # the functions of all kinds are in one script
            self.text.definitions, self.text.texts, self.text.lines = text.definitions, text.texts, text.lines
            self.text.imports = text.imports
        self.expressions: dict[Value, ast.expr] = {}
        self.kept_values: list[Value] = []
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
        own = {each: self.members[each] for each in params if each in self.members}
        trees = list(dict.fromkeys(tree for tree, _ in own.values()))
        whole = len(own) == len(params) == sum(len(tree.keys) for tree in trees)
        if not whole or v is not None or root.aval.shape or any(each.aval.dtype.is_complex for each in (root, *params)):
            return super().at_once(walked, params, outputs, v, order, event)
        for each in params:
            self.top.value(each)
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

    def update(self, tree: Tree, update: Update, group: Group, rate: str) -> None:
        """A step of an optimizer: `net, adam_net = adam(state["net"], {...}, state["adam_net"], 0.01)`."""
        gradients = [self.top.value(each) for each in group.gradients]
        before = [self.top.value(each) for each in group.before]
        assert group.rule is not None
        rule = self.text.define(group.rule.name, group.rule.text)
        whole = all(each in self.expressions for each in before)

        def written(e: Sequence[Expression]) -> Expression:
            params = (
                f'state["{tree.name}"]' if whole else tree.display([ast.unparse(each) for each in e[len(gradients) :]])
            )
            grads = tree.whole([ast.unparse(each) for each in e[: len(gradients)]])
            return parsed(f'{rule}({params}, {grads}, state["{tree.kept}"], {rate})')

        where = next((each.where for each in group.after if each.where is not None), None)
        read = [*gradients, *([] if whole else before)]
        step = Step(read, written, [tree.name, tree.kept], update.first, where, stays=True)
        self.top.add(step)
        self.kept_values.append(step.outputs[1])
        for key, after in zip(tree.keys, group.after, strict=True):
            picked = Step([step.outputs[0]], _picking(key), order=update.first + 1e-3, free=True)
            self.top.values[after] = self.top.add(picked).outputs[0]

    def body(self) -> tuple[Block, list[str], list[str], list[str]]:
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
        final += self.kept_values
        divided(self.top.functions, self.top.steps, self.varying)
        self.text.taken |= {each.wanted for each in final if each.wanted}
        own = {each.id for text in self.expressions.values() for each in ast.walk(text) if isinstance(each, ast.Name)}
        block = Block(self.top.steps, final, self.expressions, {"jax", "jnp", "state", "batch", "data", *own})
        texts = [ast.unparse(each) for each in block.results]
        first, last = len(self.step.losses), len(texts) - len(self.kept_values)
        return block, texts[:first], texts[first:last], texts[last:]

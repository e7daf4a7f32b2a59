"""Writes one step of a recorded training loop as a function of its operands: `StepWriter`."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jaxvjp.core.record.graph import Number
from jaxvjp.core.record.observers import GradSet, Walked
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.explain.block import Block, Expression, Step, Value
from jaxvjp.explain.kept import kept
from jaxvjp.explain.lifting import divided
from jaxvjp.explain.literals import parsed
from jaxvjp.explain.optimizers import Group, Update
from jaxvjp.explain.source import Writer
from jaxvjp.explain.steps import Entry, Steps
from jaxvjp.explain.story import Event, Story
from jaxvjp.explain.text import Text
from jaxvjp.explain.training_graph import TrainingStep
from jaxvjp.tensor.tensor import Tensor


class Tree:
    """Entries of the state, or constants, that are one dict, as the parameters of one group of an optimizer are.

    Attributes:
        name: the name of the dict.
        entries, keys: what is in it, and the keys.
        transform, kept: the names of the optimizer, a transform of optax, and of what it keeps, if it has one.
        written: the expression of the transform.
        rates: the rate of each of its steps.

    Of the tensors of one `module` the keys are what follows its name.
    """

    def __init__(
        self,
        name: str,
        entries: list[Entry],
        module: str = "",
        transform: str = "",
        written: str = "",
        rates: Sequence[float] = (),
    ) -> None:
        self.name, self.transform, self.kept = name, transform, f"{transform}_state"
        self.entries, self.written, self.rates = entries, written, rates
        names = [entry.name for entry in entries]
        cut = shared_beginning(names if transform else [*names, f"{name}_"]).rfind("_") + 1
        cut = len(module) + 1 if module else cut
        cut *= len(names) > 1 and all(each[cut:] for each in names)
        self.keys = [each[cut:] for each in names]

    def whole(self, texts: Sequence[str]) -> str:
        """The expression of a dict of these values: the name of one, if they are all of it."""
        root = texts[0].rpartition("[")[0]
        same = all(text == f"{root}[{key!r}]" for text, key in zip(texts, self.keys, strict=True))
        shown = zip(self.keys, texts, strict=True)
        if len({*texts}) == 1 < len(texts):
            return f"dict.fromkeys(state['{self.name}'], {texts[0]})"
        return root if same else f"{{{', '.join(f'{key!r}: {text}' for key, text in shown)}}}"


def shared_beginning(names: Sequence[str]) -> str:
    """What all names begin with."""
    columns = itertools.takewhile(lambda column: len(set(column)) == 1, zip(*names, strict=False))
    return "".join(column[0] for column in columns)


class StepWriter(Writer):
    """Writes one step as a function of its operands."""

    def __init__(
        self,
        story: Story,
        steps: Steps,
        step: TrainingStep,
        given: Mapping[Any, tuple[str, str, bool]],
        sizes: Mapping[str, int],
        trees: Sequence[tuple[Tree, Update, Group]],
        text: Text | None,
        wide_types: bool,
    ) -> None:
        events = [event for event in step.events if not isinstance(event.what, GradSet)]
        known = steps.text
        super().__init__(story._replace(events=events, shown=[]), "grad", wide_types, known.exact, known)
        self.text.explicit_dtypes, self.top.in_step = wide_types, True
        self.text.reserved = frozenset(["step", "draws"])
        if text is not None:  # the functions of all kinds are in one script
            self.text.definitions, self.text.texts, self.text.lines = text.definitions, text.texts, text.lines
            self.text.imports, self.text.simplified, self.text.functions = text.imports, text.simplified, text.functions
            self.text.handed_over = text.handed_over
        self.expressions: dict[Value, ast.expr] = {}
        self.states: dict[Tree, Value] = {}
        self.clipped: dict[int, dict[Tree, Value]] = {}
        self.varying: set[Value] = set()
        shared: dict[str, Value] = {}
        for node, (called, expression, varies) in given.items():
            value = self.top.values[node] = shared.setdefault(expression, Value(called))
            self.expressions[value] = parsed(expression)
            member = re.fullmatch(r'(?!batch)((?:state\[")?(\w+)(?:"\])?)\["(\w+)"\]', expression)
            if member is not None and member[1] != "state":
                value.member = member[1], member[2], member[3]
            if varies:
                self.varying.add(value)
            if type(node) is Number:
                self.text.lifted.add(node)
        self.step, self.trees, self.sizes = step, trees, sizes
        self.members: dict[Tensor, tuple[str, str]] = {}  # where trained tensors were in a backward pass of the step

    def walk(self, place: int, event: Event, walked: Walked) -> None:
        """A backward pass. Parameters of which some were moved since one before are a dict, as they were there."""
        found: dict[str, list[tuple[Value, str]]] = {}
        for node in walked.gradients:
            owner, value = self.story.owners.get(node), self.top.value(node)
            if owner is not None and value.member is not None:
                self.members.setdefault(owner, value.member[1:])
            if owner in self.members:
                name, key = self.members[owner]
                found.setdefault(name, []).append((value, key))
        before = {value: value.member for own in found.values() for value, _ in own}
        for name, own in found.items():
            if len(own) == self.sizes[name] and None in [before[value] for value, _ in own]:
                whole = object()
                for value, key in own:
                    value.member = whole, name, key
        super().walk(place, event, walked)
        for value, member in before.items():
            value.member = member

    def update(self, tree: Tree, update: Update, group: Group) -> None:
        """A step of an optimizer: `updates, net_adam_state = net_adam.update(net_grad, state["net_adam_state"],
        state["net"])`, and `net = optax.apply_updates(state["net"], updates)`."""
        self.text.imports["import optax"] = None
        where = next((each.where for each in group.after if each.where is not None), None)
        together = update.clip is not None and len(update.groups) > 1
        gradients = [self.clip(update, where)[tree]] if together else [self.top.value(each) for each in group.gradients]
        before = [self.top.value(each) for each in group.before]
        whole = all(
            each in self.expressions and ast.unparse(self.expressions[each]) == f"state['{tree.name}']['{key}']"
            for key, each in zip(tree.keys, before, strict=True)
        )
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
            self.top.values[node] = self.top.member(after, key, update.first + 2e-3)
            self.top.values[node].member = (after, tree.name, key)

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

    def body(self, called: set[str]) -> tuple[Block, list[str], list[str], dict[Tree, str]]:
        """The statements of the step, and the expressions of its losses, of what it leaves, and of what its optimizers
        keep; no variable gets the name of what is `called` in the script."""
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
        self.text.taken |= {each.wanted for step in self.top.steps for each in step.outputs if each.wanted}
        own = {each.id for text in self.expressions.values() for each in ast.walk(text) if isinstance(each, ast.Name)}
        fixed = {value: text for value, text in self.expressions.items() if value not in self.varying}
        steps, final, functions, _ = kept(self.top, final, (), fixed)
        reserved = {"jax", "jnp", "optax", "state", "batch", "key", "data", *own, *called, *functions}
        block = Block(steps, final, self.expressions, reserved, text=self.text)
        texts = [ast.unparse(result) for result in block.results]
        first, last = len(self.step.losses), len(texts) - len(self.states)
        return block, texts[:first], texts[first:last], dict(zip(self.states, texts[last:], strict=True))

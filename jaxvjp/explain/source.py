"""Writes a story as a functional program that runs (`write`): inputs, functions, pullbacks, updates.

A backward pass becomes `jax.vjp` of a function and a call of its pullback. If something happens on the way, such as a
hook on an intermediate value, there is a function for each stage, and the pullbacks are called one after the other.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial as partial_of
from typing import Any, NamedTuple

import jax

import jaxvjp.explain.plain_forms
import jaxvjp.explain.programs
import jaxvjp.explain.residuals
import jaxvjp.explain.wrapped  # noqa: F401 - each registers a writer for its nodes
from jaxvjp.autograd.function_step import FunctionStep
from jaxvjp.core.record.graph import Node, gradient_edges, reachable
from jaxvjp.core.record.observers import GradSet, StepHooked, Walked
from jaxvjp.core.run.interpreter import interpreted
from jaxvjp.explain.apart import staged
from jaxvjp.explain.block import Block, Expression, Step, Value
from jaxvjp.explain.custom_functions import backward_code
from jaxvjp.explain.kept import kept
from jaxvjp.explain.layout import EXACT_PRODUCTS, WIDE_TYPES, laid_out
from jaxvjp.explain.lifting import Lifted, divided, owners_of
from jaxvjp.explain.literals import Unwritable, batched, call, literal, name, parsed
from jaxvjp.explain.names import assigned, numbered
from jaxvjp.explain.scope import NeedsWide, Scope, itself, partial, together
from jaxvjp.explain.states import batches_of, begun, histories_of
from jaxvjp.explain.story import Event, Story, hooks_before, released
from jaxvjp.explain.text import Text, narrow, of_pullback, wide
from jaxvjp.tensor.tensor import Tensor

STYLES = ("vjp", "grad", "jacrev")
HEARD = "__heard__"


class Result(NamedTuple):
    """A gradient at the program's end: its variable, the leaf or target, and its node."""

    variable: str
    node: Node
    gradient: Node | None


class Program(NamedTuple):
    """A written program.

    Attributes:
        source: the text.
        results: the gradients at its end.
        state: expressions of what else can be read at its end, and the nodes that they are equal to.
        lines: for every line of the text, the user's lines that it comes from.
        calls: the functions whose pullbacks are taken, their arguments, and how many of these are differentiated.
        dtypes: the floating-point types that it computes in.
        handed_over: functions that it is given, as they are not JAX's: those of `jaxvjp.wrap`, by name.
        simplified: whether ops have plain forms in it, which differ at an edge.
        narrowed: whether integers of 64 bits have 32 in it.
        received: by the names of gradients the nodes that these had, one after the other.
    """

    source: str
    results: list[Result]
    state: list[tuple[str, Node]]
    lines: list[tuple[tuple[str, int, str], ...]]
    calls: dict[str, tuple[list[str], int]]
    dtypes: frozenset[str]
    handed_over: dict[str, Any]
    simplified: bool
    narrowed: bool
    received: Mapping[str, Sequence[Node]] = {}


def write(story: Story, style: str = "vjp", exact: bool = True, wide_types: bool = False) -> Program:
    """The program of a story; `style` is one of STYLES, ValueError for another. With `exact` no op has a plain form,
    with `wide_types` integers keep 64 bits, of which labels and indices need 32."""
    if style not in STYLES:
        raise ValueError(f"there is no style {style!r}: write {', '.join(map(repr, STYLES))}")
    try:
        return Writer(story, style, wide_types, exact).program()
    except NeedsWide:
        return Writer(story, style, wide_types=True, exact=exact).program()


def executed(program: Program, form: Callable[[str], str] = str) -> dict[str, Any]:
    """Runs a program, or another `form` of its text, in a fresh namespace and returns its variables."""
    namespace: dict[str, Any] = {"__name__": "explained", **program.handed_over}
    lines = ["" if line in (WIDE_TYPES, EXACT_PRODUCTS) else line for line in program.source.splitlines()]
    with configured(program):
        exec(compile(form("\n".join(lines)), "<explained>", "exec"), namespace)
    return namespace


def computed(program: Program, wanted: Sequence[str], heard: Callable[[str, Any], None] | None = None) -> list[Any]:
    """The values that expressions have after a program has run, computed by NumPy (`interpreted`). What a gradient gets
    on the way is `heard`, by name."""

    def run() -> list[Any]:
        hearing = program._replace(handed_over={**program.handed_over, HEARD: heard})
        namespace = executed(hearing, staged if heard is None else partial_of(_audible, {*program.received}))
        return [eval(each, namespace) for each in wanted]

    with configured(program):
        values: list[Any] = interpreted(run)
    return values


def _audible(names: set[str], source: str) -> str:
    """A program that tells what it assigns to these names."""
    body = ast.parse(staged(source))
    for block in [*ast.walk(body)]:
        if isinstance(block, ast.Module | ast.For | ast.If):
            block.body = [*_heard(block.body, names)]
        if isinstance(block, ast.If):
            block.orelse = [*_heard(block.orelse, names)]
    return ast.unparse(ast.fix_missing_locations(body))


def _heard(statements: Sequence[ast.stmt], names: set[str]) -> Iterator[ast.stmt]:
    for statement in statements:
        yield statement
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        for each in [each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]:
            if each.id in names:
                yield ast.Expr(call(HEARD, ast.Constant(each.id), name(each.id)))


@contextmanager
def configured(program: Program) -> Iterator[None]:
    """Applies a program's settings of JAX to this thread for a block. The text itself, if run by hand, sets them
    globally."""
    lines = program.source.splitlines()
    with ExitStack() as stack:
        stack.enter_context(jax.enable_x64(WIDE_TYPES in lines))
        if EXACT_PRODUCTS in lines:
            stack.enter_context(jax.default_matmul_precision("highest"))
        yield


class Writer:
    def __init__(
        self, story: Story, style: str, wide_types: bool = False, exact: bool = True, known: Text | None = None
    ) -> None:
        self.nodes = all_nodes(story)
        self.histories = histories_of(story, self.nodes)
        listed = {f"{base}_{place}" for base, place in self.histories.values()}
        story = story._replace(
            names={node: own for node, own in story.names.items() if own not in listed},
            tensors={tensor: own for tensor, own in story.tensors.items() if own not in listed},
        )
        batches = batches_of(story)
        names = {node: own for node, own in story.names.items() if node not in batches}
        story = story._replace(names=names | {node: own for node, own in batches.items() if own is not None})
        self.story = story
        self.style = style
        integers = any(wide(each.aval) for each in self.nodes)
        narrowed = integers and not wide_types and narrow(self.nodes)
        self.text = Text(story, wide_types or (integers and not narrowed), exact, narrowed)
        self.text.listed |= {*batches}
        self.text.look_over(self.nodes, known)
        self.top = Scope(self.text)
        self.sizes: Mapping[str, int] = {}  # of the dicts that inputs are in
        self.pullbacks: dict[Any, tuple[list[Value], Value]] = {}
        self.kept: set[Any] = set()
        roots = [root for event in story.passes for root in event.what.roots]
        self.differentiated = {*reachable(roots, self.text.inputs)}
        self.inside: set[Node] = set()  # roots of backward passes that are written inside functions only
        self.calls: dict[str, tuple[list[str], int]] = {}
        self.state: list[tuple[Node, Value]] = []
        self.appended: list[tuple[str, Node]] = []
        self.collected: dict[Node, Value] = {}
        self.gradients: dict[Any, tuple[Node, Value]] = {}
        self.results: list[tuple[Node, Node | None, Value]] = []
        self.received: list[Value] = []

    def program(self) -> Program:
        with begun(self.nodes, self.differentiated) as numbers:
            self.text.look_for_rounds(self.nodes, numbers)
            return self.written()

    def written(self) -> Program:
        beside = {node.where for node in [*self.story.alike, *self.story.shown] if self.beside(node)}
        carried = [node for node in self.story.alike if node.where in beside and node.requires_grad]
        carried.sort(key=lambda node: -node.serial)
        passed = 0.0
        for place, event in enumerate(self.story.events):
            if isinstance(event.what, Walked):
                # The hidden state of a round before is no part of what this one differentiates.
                while carried and carried[-1].serial < passed:
                    self.top.carried.add(carried[-1])
                    self.top.value(carried.pop())
                passed = event.order
                self.collect(min(root.serial for root in event.what.roots))
                self.walk(place, event, event.what)
            elif isinstance(event.what, GradSet) and event.what.node is None:
                self.clear(event)
        final = self.ends()
        divided(self.top.functions, self.top.steps)
        self.text.taken |= {output.wanted for step in self.top.steps for output in step.outputs if output.wanted}
        steps, found, called, _ = kept(self.top, final, (), {})
        after = dict(zip(final, found, strict=True))
        self.results = [(target, node, after[value]) for target, node, value in self.results]
        self.state = [(node, after[value]) for node, value in self.state]
        reserved = {"jax", "jnp", *called, *self.text.handed_over, *self.story.counts}
        block = Block(steps, found, {}, reserved, text=self.text)
        return self.finished(block)

    def beside(self, node: Node) -> bool:
        """Whether a value is computed beside what is differentiated."""
        return node not in self.differentiated and not of_pullback(node)

    # Events.

    def walk(self, place: int, event: Event, walked: Walked) -> None:
        """A backward pass."""
        order, top = event.order, self.top
        hooks = hooks_before(self.story.events, place)
        leaves = [node for node in (*walked.gradients, *walked.older) if node.is_leaf]
        cuts = [node for node in walked.gradients if not node.is_leaf]
        cuts += [each.node for each in hooks if not each.node.is_leaf and each.node not in cuts]
        targets = {*walked.gradients, *walked.older}
        later = walked.create_graph and self.inside_later(place, walked)
        if not walked.after and not hooks and (later or self.in_function(order)):
            self.inside.update(walked.roots)
            return
        if hooks:
            order = min(each.before.serial for each in hooks) - 0.5
        pieces = _stages(
            walked.roots, targets, sorted(cuts, key=lambda node: node.serial), self.story.stepped(), self.story.events
        )
        pieces = [(sorted(params, key=self.begun), outputs) for params, outputs in pieces]
        cotangents: dict[Node, Value] = {}
        for root, v in zip(walked.roots, walked.cotangents, strict=True):
            value = None if v is None else top.value(v)
            if value is not None and root in cotangents:
                value = self.add(cotangents[root], value, order, event)
            cotangents[root] = value  # type: ignore[assignment]
        plain = len(pieces) == 1 and len(pieces[0][1]) == 1 and self.alone(walked)
        plain = plain and all(each.node.is_leaf for each in hooks)
        if self.style != "vjp" and (plain or (self.story.hypothetical and len(pieces) == 1)):
            params, outputs = pieces[0]
            found = self.at_once(walked, params, outputs, cotangents.get(outputs[0]), order, event)
            if found is not None:
                arrived = {**cotangents, **dict(zip(params, found, strict=True))}
                for target, value in arrived.items():
                    for hook in [each for each in hooks if each.node is target]:
                        value, order = self.hooked(hook, value, order)
                    if target in walked.gradients:
                        self.receive(walked, target, walked.gradients[target], value, order + 0.01, event)
                return
        pulled: list[tuple[list[Node], list[Node], Any]] = []
        for number, (params, outputs) in enumerate(pieces):
            ends = number == len(pieces) - 1 and outputs == [*walked.roots] and len(outputs) == 1 and self.alone(walked)
            if ends and self.style == "grad" and not any(each.node in outputs for each in hooks):
                found = self.at_once(walked, params, outputs, cotangents[outputs[0]], order + number / 1000, event)
                if found is not None:
                    pulled.append((params, outputs, (found, None, False)))
                    continue
            pulled.append((params, outputs, self.taken(params, outputs, order + number / 1000, event)))
        order += 0.1
        again = False
        for params, outputs, (values, pullback, reused) in reversed(pulled):
            again |= reused
            given: list[Value] = []
            if pullback is None:  # the gradients of a scalar, which no cotangent arrives at
                cotangents.update(zip(params, values, strict=True))
                continue
            for output, value in zip(outputs, values, strict=True):
                known = cotangents.get(output)
                for hook in hooks:
                    if hook.node is output and not output.is_leaf:
                        known, order = self.hooked(hook, known, order)
                        cotangents[output] = known
                arriving = known if known is not None else self.ones(value, output, walked, order, event)
                given.append(top.conjugated(arriving, order) if output.aval.dtype.is_complex else arriving)
            order += 0.01
            wanted = [self.pulled_name(event, walked, each, position) for position, each in enumerate(params)]
            for each, arriving in zip(params, self.pull(pullback, given, wanted, order, event, walked), strict=True):
                if each.aval.dtype.is_complex:
                    arriving = top.conjugated(arriving, order)
                own = cotangents.get(each)
                cotangents[each] = arriving if own is None else self.add(own, arriving, order + 0.001, event)
        for node, target in walked.older.items():
            cotangents[target] = self.add(cotangents[target], cotangents[node], order + 0.005, event)
        for hook in hooks:
            if hook.node.is_leaf:
                cotangents[hook.node], order = self.hooked(hook, cotangents[hook.node], order)
        for target, gradient in walked.gradients.items():
            if target in cotangents:
                self.receive(walked, target, gradient, cotangents[target], order + 0.01, event)
            elif walked.accumulates:  # of another pass a step of a port may have no need
                raise Unwritable("a gradient of this backward pass arrives on a way that is not recorded", event.where)
        key = (tuple(walked.roots), tuple(leaves))
        if key in self.pullbacks and not walked.create_graph:
            if released(self.story.events, place):
                if key in self.kept:
                    self.drop(self.pullbacks[key][1], order + 0.02, event)
                del self.pullbacks[key]
            else:
                self.kept.add(key)

    def begun(self, node: Node) -> int:
        """When the tensor was made that a node is of: an optimizer may write parameters in another order."""
        return self.text.first.get(self.story.owners.get(node), node).serial

    def inside_later(self, place: int, walked: Walked) -> bool:
        """Whether all gradients of a backward pass are intermediate values of what later ones go back through."""
        later = [event.what for event in self.story.events[place + 1 :] if isinstance(event.what, Walked)]
        through = {*reachable([root for each in later for root in each.roots], gradient_edges)} if later else {}
        return all(gradient in through for gradient in walked.gradients.values())

    def in_function(self, order: float) -> bool:
        """Whether the backward of a custom Function did at a time what is written in it."""
        codes = {backward_code(step) for step in self.story.stepped() if isinstance(step, FunctionStep)}
        return any(each.code in codes and each.first < order < each.last for each in self.story.calls)

    def alone(self, walked: Walked) -> bool:
        """Whether nothing else walks back from the roots of a backward pass, which would need its pullback again, and
        no two gradients of it are added."""
        walks = [event.what for event in self.story.passes]
        return not walked.older and not any(walk is not walked and {*walk.roots} & {*walked.roots} for walk in walks)

    def taken(self, params: list[Node], outputs: list[Node], order: float, event: Event) -> Any:
        """`y, pullback = jax.vjp(f, x)`: the values, the pullback, and whether they were written already."""
        key = (tuple(outputs), tuple(params))
        if key in self.pullbacks:
            return (*self.pullbacks[key], True)
        made = Lifted(self.top, params, outputs, order)
        made.place = len(outputs) + 1

        def written(expressions: Sequence[Expression]) -> Expression:
            function, arguments = self.called(made, expressions)
            places = range(len(params))
            wanted = [argument.id if isinstance(argument, ast.Name) else "x" for argument in arguments[: len(params)]]
            part = partial(function, arguments, places, wanted)
            step.grouped += made.grouped(False)
            return call("jax.vjp", part, *arguments[: len(params)], **has_aux(made))

        step = self.top.add(Step([], written, [*made.wanted, "pullback"], order, event.where, stays=True))
        step.grouped = [] if len(outputs) == 1 else [(0, len(outputs))]
        made.calls.append(step)
        values, pullback = step.outputs[: len(outputs)], step.outputs[len(outputs)]
        self.pullbacks[key] = (values, pullback)
        for node, value in zip(outputs, values, strict=True):
            self.top.values.setdefault(node, value)
        return values, pullback, False

    def called(self, made: Lifted, expressions: Sequence[Expression]) -> tuple[str, list[Expression]]:
        function, arguments = made.called(expressions)
        self.calls[function] = ([ast.unparse(argument) for argument in arguments], len(made.values))
        return function, arguments

    def at_once(
        self, walked: Walked, params: list[Node], outputs: list[Node], v: Any, order: float, event: Event
    ) -> Any:
        """The gradients in the style "grad" (`jax.value_and_grad`) or "jacrev", if the style is set and applies: there
        must be one root, which for "grad" is a scalar with v = 1. Otherwise None."""
        (root,) = outputs
        values = [self.top.value(each) for each in params]
        names: list[str | None] = [self.pulled_name(event, walked, each, place) for place, each in enumerate(params)]
        complex_ = any(each.aval.dtype.is_complex for each in (root, *params))
        if self.style == "grad" and v is None and not root.aval.shape and not complex_:
            made = Lifted(self.top, params, outputs, order)
            made.place = 1
            loss = self.text.name_of(root)
            if len(params) == 1 and loss is None and self.adds(walked, params[0], event):
                names = [None]  # it is nested: `x_grad = x_grad + jax.grad(f)(x)`
            dicts = {each.member[0]: each.member[1] for each in values if each.member}
            if sum(self.sizes[each] for each in dicts.values()) == sum(each.member is not None for each in values):
                for value, own in zip(values, made.params, strict=True):
                    own.member = value.member
            # What is differentiated: whole dicts, and single values.
            roots: dict[Any, str | None] = {}
            for own, each in zip(made.params, names, strict=True):
                key, called = (own.member[0], f"{own.member[1]}_grad") if own.member else (own, each)
                roots.setdefault(key, called)
            several = {"argnums": literal(tuple(range(len(roots))))} if len(roots) > 1 else {}

            def transformed(transform: str, expressions: Sequence[Expression], **more: Expression) -> Expression:
                function, arguments = self.called(made, expressions)
                given = together(made.parameters, arguments[: len(params)])
                return call(call(transform, name(function), **several, **more), *given, *arguments[len(params) :])

            def both(expressions: Sequence[Expression]) -> Expression:
                count = len(step.outputs) - len(roots)
                step.grouped = made.grouped(True) + [(count, len(step.outputs))] * (len(roots) > 1)
                return transformed("jax.value_and_grad", expressions, **has_aux(made))

            loss = loss or self.text.result_name(root)
            step = self.top.add(Step([], both, [loss, *roots.values()], order, event.where, stays=True))
            step.shorter = lambda expressions: transformed("jax.grad", expressions)
            made.calls.append(step)
            self.top.values.setdefault(root, step.outputs[0])
            found = dict(zip(roots, step.outputs[1:], strict=True))
            return [
                self.top.member(found[own.member[0]], own.member[2], order + 1e-4) if own.member else found[own]
                for own in made.params
            ]
        if self.style != "jacrev" or complex_ or walked.batched:
            return None
        made = Lifted(self.top, params, outputs, order)
        made.place = 1

        def computed(expressions: Sequence[Expression]) -> Expression:
            function, arguments = self.called(made, expressions)
            first.grouped = made.grouped(False)
            return call(function, *arguments)

        def whole(expressions: Sequence[Expression]) -> Expression:
            function, arguments = self.called(made, expressions)
            matrices = call(call("jax.jacrev", name(function), **argnums, **has_aux(made)), *arguments)
            return ast.Subscript(matrices, ast.Constant(0), ast.Load()) if made.returned else matrices

        first = self.top.add(Step([], computed, made.wanted, order, event.where, stays=True))
        value = first.outputs[0]
        self.top.values.setdefault(root, value)
        if v is None:
            v = self.ones(value, root, walked, order + 0.001, event)
        argnums = {"argnums": literal(tuple(range(len(params))))} if len(params) > 1 else {}
        labels = [f"{self.top.values[parameter].wanted or 'x'}_jacobian" for parameter in params]
        step = self.top.add(Step([], whole, labels, order + 0.002, event.where, stays=True))
        made.calls += [first, step]
        dims = literal(len(root.aval.shape))
        return [
            self.top.add(
                Step(
                    [v, matrix],
                    lambda e: call("jnp.tensordot", *e, dims),
                    [each],
                    order + 0.003,
                    event.where,
                    stays=True,
                )
            ).outputs[0]
            for matrix, each in zip(step.outputs, names, strict=True)
        ]

    def ones(self, value: Value, output: Node, walked: Walked, order: float, event: Event) -> Value:
        """The cotangent of ones from which a backward without `gradient` starts; zeros for an output without a
        cotangent."""
        if output not in walked.roots:
            made = Step([value], lambda e: call("jnp.zeros_like", e[0]), order=order, where=event.where)
            return self.top.add(made).outputs[0]
        wanted = "gradient" if self.story.hypothetical and output.aval.shape else None
        made = Step([value], lambda e: call("jnp.ones_like", e[0]), [wanted], order, event.where)
        if wanted:
            made.note = f"v, one number per element of {value.wanted or 'y'}"
        return self.top.add(made).outputs[0]

    def pull(
        self, pullback: Value, given: list[Value], wanted: list[str | None], order: float, event: Event, walked: Walked
    ) -> list[Value]:
        """`x_grad, w_grad = pullback(v)`."""
        several = len(given) > 1

        def written(e: Sequence[Expression]) -> Expression:
            v = ast.Tuple(list(e[1:]), ast.Load()) if several else e[1]
            return call(batched(e[0], walked.batched), v)

        step = Step([pullback, *given], written, wanted, order, event.where, stays=True, unpacked=True)
        return self.top.add(step).outputs

    def pulled_name(self, event: Event, walked: Walked, node: Node, position: int) -> str | None:
        if node not in walked.gradients:
            return f"{self.top.values[node].wanted or 'x'}_grad"
        if not walked.after and not self.story.hypothetical:
            pulled = walked.gradients[node]
            given = self.story.names.get(pulled) or self.text.rounds.get(pulled)
            given = given or assigned(event.where, list(walked.gradients).index(node))
            if given is None and walked.batched and len(walked.gradients) == 1:  # `h = hessian(f, x)`
                given = assigned(event.where)
            elif given is None and walked.batched:  # J[1] or J[0][1] of `J = jacobian(f, (x, y))`
                place = sum(each.where == event.where and each.order < event.order for each in self.story.passes)
                names = [f"{assigned(event.where)}_{each}" for each in (position, f"{place}_{position}")]
                given = next((each for each in names if each in self.story.names.values()), None)
            if given is not None:
                return given
        base = self.top.values[node].wanted or "x"
        walks = [each.what for each in self.story.passes]
        if not walked.after and any(node in each.after for each in walks):
            return f"{base}_gradient"  # printed at once; `x_grad` is that which `x.grad` gets
        return f"d{base}" if self.adds(walked, node, event) else f"{base}_grad"

    def adds(self, walked: Walked, target: Node, event: Event) -> bool:
        """Whether a gradient is added to an earlier one, or to zeros."""
        had = walked.before.get(target) is not None and not self.story.hypothetical
        return had or self.accumulates(walked, target, event)

    def accumulates(self, walked: Walked, target: Node, event: Event) -> bool:
        """Whether a gradient is the first of three or more that a line of the user's adds up; they begin at zeros."""
        if not walked.after or walked.before.get(target) is not None or event.where is None:
            return False
        leaf = self.story.owners.get(target)
        befores = [
            each.what.before.get(node)
            for each in self.story.events
            if isinstance(each.what, Walked) and each.where == event.where
            for node in each.what.after
            if self.story.owners.get(node) is leaf
        ]
        return len(befores) > 2 and befores[0] is None and all(each is not None for each in befores[1:])

    def zeros(self, target: Node) -> Value:
        """Where a gradient that adds up begins."""
        value = self.top.values[target]
        order = value.step.order + 1e-3 if value.step is not None else 0
        made = Step([value], lambda e: call("jnp.zeros_like", e[0]), [f"{value.wanted or 'x'}_grad"], order)
        return self.top.add(made).outputs[0]

    def receive(
        self, walked: Walked, target: Node, gradient: Node, value: Value | None, order: float, event: Event
    ) -> None:
        """Writes what happens to a gradient: it is added to `.grad`, or returned; without a `value` it is ones."""
        if value is None:  # `loss.backward()` of a leaf, or where the loss retains its gradient
            value = self.ones(self.top.value(target), target, walked, order, event)
            value.wanted = self.pulled_name(event, walked, target, 0)
        before, after = walked.before.get(target), walked.after.get(target)
        if self.story.hypothetical or not walked.after:
            if gradient is not None:
                self.top.values[gradient] = value
                self.received.append(value)
            later = [
                each.where for each in self.story.events if isinstance(each.what, Walked) and each.order > event.order
            ]
            names = self.story.names
            anew = gradient is not None and gradient not in names and getattr(value, "wanted", None) in names.values()
            # Of a line that runs again the last ones can be read, and of two lines `g = grad(...)` those of the second.
            if event.where is None or (event.where not in later and not anew):
                self.results.append((target, gradient, value))
            return
        if before is not None or self.accumulates(walked, target, event):
            base = self.top.values[target].wanted or "x"
            start = self.zeros(target) if before is None else self.top.value(before)
            step = Step([start, value], _sum, [f"{base}_grad"], order, event.where, stays=True)
            value = self.top.add(step).outputs[0]
        elif value.step is not None:
            value.step.stays = True  # what `pullback` gave has its name, and may be before a hook, or a conjugate
        self.top.values[after] = value
        self.received.append(value)
        if gradient is not after and before is None:
            self.top.values[gradient] = value
        self.gradients[self.story.owners.get(target, target)] = (target, value)

    def hooked(self, hook: Any, value: Any, order: float) -> tuple[Any, float]:
        """Writes the result of a hook for a cotangent."""
        self.top.values[hook.before] = value
        if hook.after is hook.before:
            return value, order
        found = self.top.value(hook.after)
        if found.step is not None and found.wanted is None:
            found.wanted = value.wanted
            found.step.note = "hook"
        return found, max(order, hook.after.serial + 0.5)

    def clear(self, event: Event) -> None:
        """`x.grad = None` needs no line: the next gradient is a new value."""
        self.gradients.pop(event.what.tensor, None)

    def drop(self, pullback: Value, order: float, event: Event) -> None:
        """Writes `del pullback`: without `retain_graph` the graph was freed."""
        step = Step([pullback], lambda e: e[0], [], order, event.where, stays=True, note="retain_graph is off: freed")
        step.form = "del {expression}"
        self.top.add(step)

    def add(self, first: Value, second: Value, order: float, event: Event) -> Value:
        return self.top.add(Step([first, second], _sum, [first.wanted], order, event.where)).outputs[0]

    # The end.

    def ends(self) -> list[Value]:
        """The values that the program has to compute: gradients, and all else that the user can still read, besides
        intermediate values of what was differentiated."""
        if self.story.hypothetical:
            return [value for _, _, value in self.results]
        gone = self.gone()
        # The last round of a tensor that is gone is like the others, but nothing reads it.
        lines = {node.where for node in self.story.alike if not self.intermediate(node)}
        alike = [node for node in self.story.alike if node.where in lines]
        for node in [*[tensor.__node__ for tensor in gone], *self.story.printed, *alike]:
            step = self.top.value(node).step
            if step is not None and step.inputs:
                step.stays = True
        for tensor, (target, value) in self.gradients.items():
            if tensor in gone:
                continue
            grad = self.story.grads.get(tensor)
            if grad is not None:
                value = self.top.value(grad)
            if value.wanted is None:
                value.wanted = f"{self.top.value(target).wanted or 'x'}_grad"
            self.results.append((target, grad, value))
        gradients = {value.wanted: value for _, _, value in self.results}
        owners = [
            tensor.__node__
            for tensor, first in self.text.first.items()
            if tensor.__node__ is not first and tensor not in gone
        ]
        back = [node for node in dict.fromkeys([*owners, *self.story.shown]) if not self.intermediate(node)]
        self.collect(math.inf)
        for node in back:
            value = self.collected.get(node) or self.top.value(node)
            if node in self.collected and node not in self.story.names:
                continue
            own = self.story.names.get(node)
            if value.wanted is None or (own is not None and gradients.get(value.wanted, value) is not value):
                value.wanted = own  # `g = x.grad`, where x has another `grad` now
            self.state.append((node, value))
        final = {value for _, value in self.state}
        read = {each for step in self.top.steps for each in step.inputs}
        walks = self.story.passes
        trained = {each for event in walks for pair in event.what.gradients.items() for each in pair}
        begun = walks[0].order if walks else math.inf

        def of_data(node: Node) -> bool:  # made since the first backward pass, of nothing that is trained
            return node.serial > begun and trained.isdisjoint(reachable([node], self.text.inputs))

        for node, value in self.state:
            step = None if value in read or node in self.differentiated else value.step
            if step is not None and (of_data(node) or (step.write is itself and step.inputs[0] in final)):
                step.order = math.inf  # without it all rounds are alike, as with another name of what stands at the end
        return [*[value for _, value in self.state], *[value for _, _, value in self.results]]

    def collect(self, until: float) -> None:
        """Appends what lines have appended to lists by now, and has what comes later read it in these."""
        lists: dict[str, list[Node]] = {}
        for node, (base, _) in self.histories.items():
            lists.setdefault(base, []).append(node)
        for base, nodes in lists.items():
            done = nodes[0] in self.collected or nodes[-1].serial > until
            inside = any(node.requires_grad and node not in self.top.values for node in nodes) and until < math.inf
            if done or inside or not {*nodes} <= {*self.story.shown} or any(map(self.intermediate, nodes)):
                continue
            whole = self.top.add(Step([], lambda _: parsed("[]"), [base], -0.5)).outputs[0]
            for place, node in enumerate(nodes):
                self.collected[node] = self.top.value(node)
                self.append(whole, self.collected[node], node)
                self.appended.append((f"{base}[{place}]", node))
                self.top.values[node] = self.top.add(element(whole, place, len(nodes))).outputs[0]

    def append(self, whole: Value, value: Value, node: Node) -> None:
        """`losses.append(loss)`."""
        written = Step(
            [whole, value],
            lambda e: call(ast.Attribute(e[0], "append", ast.Load()), e[1]),
            [],
            node.serial + 0.5,
            node.where,
            stays=True,
        )
        written.form, written.recorded = "{expression}", 1 << 62  # in none of the user's functions
        self.top.add(written)

    def gone(self) -> set[Tensor]:
        """The trained tensors that no variable shows, and in whose place the same line, or their variable, has another
        since."""
        lasting = {first.where: tensor for tensor, first in self.text.first.items()}
        named = self.story.tensors
        names = {*named.values()}
        return {
            tensor
            for tensor, first in self.text.first.items()
            if tensor not in named and first.where is not None
            if lasting[first.where] in named or self.text.name_of(first) in names
        }

    def intermediate(self, node: Node) -> bool:
        """Whether a value is one on the way to what was differentiated, known only inside a function: nobody wrote it
        in place, and no other round gives it back."""
        if node in self.inside:
            return True
        if node in self.top.values or node not in owners_of(self.top, node):
            return False
        if node not in self.differentiated:  # `acc`, or a cotangent that has a name in a custom Function's backward
            return not self.beside(node)
        own = self.story.names.get(node)
        shown = [node.tensor, *[each for each, name in self.story.tensors.items() if name == own]]
        begun = self.text.begun
        written = (each.__versions__.count or begun.get(each, node) is not node for each in shown if each is not None)
        if any(written) and not node.requires_grad:  # also anew, by `p.data = ...`
            return False
        back = {value.wanted for function in self.top.functions for value in function.returned.values()}
        return self.text.name_of(node) not in back

    def finished(self, block: Block) -> Program:
        """The text: imports, inputs, functions, and the rest."""
        flat = laid_out(self.text, block.lines, min([step.order for step in block.steps if step.stays], default=0))
        flat = counted(flat, self.story.counts)

        def written(value: Value) -> str:
            return block.names.get(value) or ast.unparse(block.expressions[value])

        results = [Result(written(value), target, node) for target, node, value in self.results]
        state = [*[(written(value), node) for node, value in self.state], *self.appended]
        again, saved = self.renamed([each for each, _ in flat], state, results)
        if again:  # all at once: `a, b = b, a`
            flat.append((f"{', '.join(again)} = {', '.join(again.values())}", []))
            state = [(saved.get(text, text), node) for text, node in state]
            results = [each._replace(variable=saved.get(each.variable, each.variable)) for each in results]
        avals = [each.aval for each in self.nodes if type(each.aval) is not tuple]
        dtypes = frozenset(aval.dtype.name for aval in avals if aval.dtype.differentiable)
        source = "\n".join(each for each, _ in flat) + "\n"
        if self.text.narrowed:
            source = re.sub(r"(\bjnp\.|')int64\b", r"\1int32", source)
        if not self.text.explicit_dtypes and re.search(r"jnp\.(u?int64|float64|complex128)\b", source):
            raise NeedsWide  # an op computes with 64-bit positions
        told = [each for _, each in flat], self.calls, dtypes, self.text.handed_over
        received: dict[str, list[Node]] = {block.names[value]: [] for value in self.received if value in block.names}
        nodes = {value: node for node, value in self.top.values.items() if isinstance(value, Value)}
        for value in [value for step in block.steps for value in step.outputs if value in nodes]:
            received.get(block.names.get(value, ""), []).append(nodes[value])
        return Program(source, results, state, *told, self.text.simplified, self.text.narrowed, received)

    def renamed(
        self, lines: Sequence[str], state: Sequence[tuple[str, Node]], results: Sequence[Result]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """By names that the program gave to values of before, and that the user has for others at the end: what these
        are called in the program. And by what is called so no longer then, the user's name for it."""
        if self.story.hypothetical:
            return {}, {}
        every, tree = self.story.every, ast.parse("\n".join(lines))
        whole = [each for each in tree.body if not isinstance(each, ast.FunctionDef)]
        names = [each for part in whole for each in ast.walk(part) if isinstance(each, ast.Name)]
        targets = {each.id for each in names if isinstance(each.ctx, ast.Store)}
        called = {own: now for now, node in state for own in every.get(node, ())}
        for now, target, node in results:
            tensor = self.story.owners.get(target)
            if tensor is not None and self.story.grads.get(tensor) is node:
                called.update({f"{own}_grad": now for own in every.get(tensor.__node__, ())})
        again = {own: now for own, now in called.items() if own != now and own in targets}
        texts = {now for now, _ in state} | {each.variable for each in results}
        while True:
            saved = {now: own for own, now in called.items() if now in texts and now in again and own != now}
            lasting = [own for own in again if own in texts and own not in saved]  # what is called so has no other name
            if not lasting:
                return {**again, **{own: now for now, own in saved.items()}}, saved
            again = {own: now for own, now in again.items() if own not in lasting}


def _sum(e: Sequence[Expression]) -> Expression:
    return ast.BinOp(e[0], ast.Add(), e[1])


def element(whole: Value, place: int, count: int) -> Step:
    """`losses[2]`, where all `count` elements in order are written `losses`."""

    def write(expressions: Sequence[Expression]) -> Expression:
        found = ast.Subscript(expressions[0], ast.Constant(place), ast.Load())
        found.count = count  # type: ignore[attr-defined]
        return found

    return Step([whole], write, free=True)


def counted(lines: Sequence[tuple[str, Any]], counts: Mapping[str, int]) -> list[tuple[str, Any]]:
    """The lines of a program, in which the variables of loops end as the user's do: one is set after the loop, if a
    last round stands apart, and has another name where two loops of the user's are one."""
    found = [*lines]
    loops = [each for each in ast.walk(ast.parse("\n".join(text for text, _ in lines))) if isinstance(each, ast.For)]
    for loop in sorted(loops, key=lambda each: -each.lineno):
        variable: Any = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
        source: Any = loop.iter
        if not isinstance(source, ast.Call) or getattr(variable, "id", None) not in counts:
            continue
        called, first = variable.id, source.args[0]
        listed = isinstance(first, ast.Tuple)  # `enumerate((0.1, 0.2), 1)`
        rest = [ast.literal_eval(each) for each in source.args[listed:]]
        last = len(first.elts) - 1 + sum(rest) if isinstance(first, ast.Tuple) else range(*rest)[-1]
        begin, end = loop.lineno - 1, loop.end_lineno or 0
        if last < counts[called]:
            found.insert(end, (f"{' ' * loop.col_offset}{called} = {counts[called]}", []))
        elif last > counts[called]:
            own = numbered(called, {*re.findall(r"\w+", " ".join(text for text, _ in lines))})
            for place in range(begin, end):
                code, mark, note = found[place][0].partition("#")
                found[place] = re.sub(rf"\b{called}\b", own, code) + mark + note, found[place][1]
    return found


def has_aux(made: Lifted) -> dict[str, Expression]:
    """The setting of a transform whose function returns something beside its results."""
    return {"has_aux": ast.Constant(True)} if made.returned else {}


def all_nodes(story: Story) -> list[Node]:
    """The nodes that a story's program is made of."""
    roots: list[Node] = [*story.shown, *story.printed, *story.alike]
    for event in story.events:
        if isinstance(event.what, Walked):
            roots += event.what.roots
            roots += [cotangent for cotangent in event.what.cotangents if cotangent is not None]
            roots += [each for each in event.what.after.values() if each is not None]
    roots += [*[tensor.__node__ for tensor in story.owners.values()], *story.grads.values()]
    roots += [each for unpacked in story.unpacked.values() for each in unpacked.values()]
    return reachable(roots, lambda node: (*node.inputs, *gradient_edges(node)))


def _stages(
    roots: Sequence[Node], targets: set[Node], cuts: Sequence[Node], stepped: Collection[Any], events: Sequence[Event]
) -> list[tuple[list[Node], list[Node]]]:
    """The stages between `targets` and `roots`, divided at the cuts: the inputs and outputs of each.

    Of the Python steps in `stepped` it is known what they returned with their hooks, and from the `events` which
    hooks of other steps have only looked."""
    nodes = reachable(roots, gradient_edges)
    called = [event.what for event in events if isinstance(event.what, StepHooked)]
    looked = {each.node for each in called} - {each.node for each in called if each.changed}
    for node in nodes:
        if node.step_hooks is not None and node.python not in stepped and node not in looked:
            raise Unwritable(
                f"a hook of the step {node.gradient_name} changes what goes through it, and cannot be written\n"
                "A hook of the tensor can: `y.register_hook(...)` in the place of `y.grad_fn.register_hook(...)`.",
                node.where,
            )
    needed = set(targets)
    for node in nodes:
        if node not in needed and any(edge in needed for edge in gradient_edges(node)):
            needed.add(node)
    way = [node for node in nodes if node in needed and not node.is_leaf]
    bounds = [node.serial for node in cuts]
    pieces: list[list[Node]] = [[] for _ in range(len(bounds) + 1)]
    for node in way:
        pieces[sum(node.serial > bound for bound in bounds)].append(node)
    stages: list[tuple[list[Node], list[Node]]] = []
    later: set[Node] = set(roots)
    for piece in reversed(pieces):
        own = set(piece)
        outputs = [node for node in piece if node in later]
        if not outputs:
            continue
        reads = {edge for node in piece for edge in gradient_edges(node) if edge in needed and edge not in own}
        if all(output in targets and output not in reads for output in outputs) and not reads:
            continue
        stages.append((sorted(reads, key=lambda node: node.serial), outputs))
        later |= reads
    return stages[::-1]

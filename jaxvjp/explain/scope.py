"""Steps from nodes: which part of a recorded graph is written inside a function, which outside of it, and how.

In this room one can have nodes written in a scope (`Scope`): the program's own, or that of a function in it, which
reaches out for what does not depend on its parameters. `symbols`, `wording` and `story` come before it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from jaxvjp.autograd.function_step import FunctionStep
from jaxvjp.core.graph import Node, Number, reachable
from jaxvjp.core.program import Program
from jaxvjp.core.pullback import pullback
from jaxvjp.core.transforms import jvp, vmap
from jaxvjp.explain.block import Block, Expression, Step, Value
from jaxvjp.explain.fallback import primitives
from jaxvjp.explain.literals import Unwritable, array, call, literal, name, parsed, shortest
from jaxvjp.explain.names import assigned, numbered, safe, within_builtin
from jaxvjp.explain.story import Story
from jaxvjp.explain.wording import cut
from jaxvjp.explain.writing import Given, Written, definition, written
from jaxvjp.ops.creation import full
from jaxvjp.ops.identity import detach, item, outcome, variable
from jaxvjp.ops.op import Aval, abstract
from jaxvjp.ops.pointwise import assigned as assigned_op
from jaxvjp.ops.view import put, select, slice_, split_one, unbind_one
from jaxvjp.utils.checkpoint import checkpointed

CUTS = frozenset([select, unbind_one, slice_, split_one])
"""The views that an index of integers and slices is made of."""
POSITIONED = frozenset([select, unbind_one, slice_, split_one, put, full])
"""Ops whose Python numbers are positions and the like, which are part of the text."""


class Text:
    """The definitions of a program, each once: what several functions call, or what two functions say alike."""

    def __init__(self, story: Story, wide: bool) -> None:
        self.story = story
        self.wide = wide  # whether there are 64-bit types, so that every dtype is said
        self.twins: dict[Node, Node] = {}
        self.inner: set[Node] = set()
        self.definitions: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.lines: dict[str, Any] = {}
        self.imports: dict[str, None] = {}
        self.held: dict[str, Any] = {}
        self.taken: set[str] = {*story.names.values()}
        self.summaries: list[str] = []

    def look_over(self, nodes: Sequence[Node]) -> None:
        """Finds the leaves that are the detached form of another node (they have the same array, not an equal one),
        and what Python's own functions, such as `sum`, made on the way."""
        first: dict[int, Node] = {}
        for node in nodes:
            if within_builtin(node.where):
                self.inner.update(each for each in node.inputs if type(each) is Node and each.where == node.where)
            if type(node.aval) is tuple or node.value is None:
                continue
            other = first.setdefault(id(node.value), node)
            if other is not node and node.operation is None and not node.requires_grad:
                self.twins[node] = other

    def inputs(self, node: Node) -> Sequence[Any]:
        """What a node was computed from; a detached leaf from the node that it is the value of."""
        twin = self.twins.get(node)
        return node.inputs if twin is None else (twin,)

    def define(self, wanted: str, text: str, lines: Any = None, key: str | None = None) -> str:
        """The name of the function whose text, with NAME for its name, is `text`; a new one if there is none yet."""
        key = key or text
        if key not in self.definitions:
            known = {each.removeprefix("_") for each in self.definitions.values()}
            self.definitions[key] = numbered(safe(wanted) if wanted != "f" else "f", known | self.taken)
            self.texts[key] = text
            self.lines[key] = lines
        return self.definitions[key]

    def name_of(self, node: Node) -> str | None:
        """What the user calls a node."""
        own = self.story.names.get(node)
        if node.operation is None or node.operation is variable:
            if own is not None:
                return own
            return assigned(node.where)
        if node.holder is None or node in self.inner:
            return own
        index = None
        if node.operation is item:
            index = node.static[0]
        elif node.operation in (unbind_one, split_one) and isinstance(node.inputs[1], Number):
            index = int(node.inputs[1].value.real)
            if node.operation is split_one and node.static[1]:
                index //= node.static[1]
        kind = "view" if node.operation.write is not None else "write" if node.operation is put else ""
        return assigned(node.where, index, kind) or assigned(node.where, kind=kind) or own


def dependent(text: Text, outputs: Sequence[Node], given: Iterable[Any], outside: Mapping[Any, Any]) -> set[Node]:
    """The nodes that a function of `given` has to compute for `outputs`: those that depend on its parameters, and those
    through which a gradient goes. What is known `outside` and requires no gradient is left there."""
    params = set(given)

    def stops(node: Node) -> bool:
        return node in params or (node in outside and not node.requires_grad)

    order = reachable(outputs, lambda node: () if stops(node) else text.inputs(node))
    inside: set[Node] = set()
    for node in order:
        if stops(node):
            continue
        leaf = node.is_leaf and node.requires_grad
        if (node.requires_grad and not leaf) or (
            not leaf and any(each in inside or each in params for each in text.inputs(node))
        ):
            inside.add(node)
    return inside


class Scope:
    """Where statements are collected: the program's own scope (without `outer`) or a function's.

    Attributes:
        values: the value of each node that is written or known here; a list of them where it has several.
        steps: what is written here.
        differentiated: whether `jax.vjp` goes through what is written here, and has to be stopped where torch's does.
        reached: the values of the outer scope that are read here, with the value that stands for each.
        calls: the step that calls a custom Function, which may have several outputs, by its backward step.
    """

    def __init__(
        self, text: Text, outer: Scope | None = None, inside: set[Node] | None = None, differentiated: bool = True
    ) -> None:
        self.text = text
        self.differentiated = differentiated and outer is not None
        self.outer = outer
        self.inside = inside
        self.values: dict[Any, Any] = {}
        self.steps: list[Step] = []
        self.reached: dict[Value, Value] = {}
        self.calls: dict[Any, Step] = {}
        self.own_names: set[str | None] | None = None

    def value(self, wanted: Any) -> Any:
        """The value of a node, written here if it is not yet."""
        pending = [wanted]
        while pending:
            node = pending[-1]
            if node in self.values:
                pending.pop()
                continue
            missing = [each for each in self._sources(node) if each not in self.values]
            if missing:
                pending += missing
                continue
            pending.pop()
            self.values[node] = self._made(node)
        return self.values[wanted]

    def add(self, step: Step) -> Step:
        self.steps.append(step)
        return step

    def _elsewhere(self, node: Any) -> bool:
        return self.outer is not None and type(node) is Node and self.inside is not None and node not in self.inside

    def _sources(self, node: Any) -> Sequence[Any]:
        if type(node) is Number or self._elsewhere(node):
            return ()
        if node.operation is outcome and isinstance(node.python, FunctionStep) and node.requires_grad:
            return [each for each in node.python.edges if each.requires_grad]
        if node.operation is put and _writes_back(node):
            return [each for each in node.inputs[:1] if type(each) is Node]
        return [each for each in self.text.inputs(node) if type(each) is Node]

    def _made(self, node: Any) -> Any:
        if type(node) is Number:
            return self._number(node)
        if self._elsewhere(node) and not self._grows_here(node):
            assert self.outer is not None
            found = self.outer.value(node)
            return [self._reach(each) for each in found] if isinstance(found, list) else self._reach(found)
        operation = node.operation
        if node in self.text.twins:
            return self._alias(node, self.values[self.text.twins[node]])
        if operation is None:
            return self._leaf(node)
        if operation is variable:
            return self._alias(node, self.values[node.inputs[0]])
        if not node.inputs and node.value is not None:  # its history was given up
            return self._leaf(node)
        if operation is item:
            return self._item(node)
        if operation is detach and not node.inputs[0].requires_grad:
            return self.values[node.inputs[0]]
        if operation is outcome and isinstance(node.python, FunctionStep) and node.requires_grad:
            from jaxvjp.explain.functions import custom  # which writes functions, and so scopes

            return custom(self, node)
        if operation is put and _writes_back(node):
            return self.values[node.inputs[0]]
        if operation in CUTS or operation is put:
            found = self._indexed(node)
            if found is not None:
                return found
        if node.static and type(node.static[0]) is Program:
            return self._transformed(node)
        return self._operation(node)

    def _grows_here(self, node: Node) -> bool:
        """Whether an array that is given is but the first form of one that is computed here: `loss = empty(3)`."""
        if node.operation is not None or node.requires_grad or node.value is None:
            return False
        if self.own_names is None:
            self.own_names = {self.text.name_of(each) for each in self.inside or ()}
        wanted = self.text.name_of(node)
        return wanted is not None and wanted in self.own_names

    def _reach(self, value: Value) -> Value:
        if value not in self.reached:
            self.reached[value] = Value(value.wanted)
        return self.reached[value]

    # One node.

    def _number(self, number: Number) -> Value:
        text = literal(number.value)
        return self.add(Step([], lambda inputs: text, free=True)).outputs[0]

    def _leaf(self, node: Node) -> Value:
        if node.value is None:
            raise Unwritable("a leaf without a value")
        values = np.asarray(node.value)
        wanted = self.text.name_of(node) or ("x" if node.requires_grad else None)
        try:
            text = array(values, explicit=self.text.wide)
        except Unwritable:
            wanted = numbered(wanted or "data", self.text.held)
            self.text.held[wanted] = node.value
            text = name(wanted)
            shape = ", ".join(map(str, values.shape))
            self.text.summaries.append(
                f"# {wanted}: {values.dtype.name}[{shape}], too long to write out; run() hands it over"
            )
            return self.add(Step([], lambda inputs: text, free=True)).outputs[0]
        if values.ndim == 0 and wanted is None and values.dtype == np.float32 and not self.text.wide:
            text = literal(shortest(values[()]))
        step = Step([], lambda inputs: text, [wanted], node.serial, node.where)
        step.note = "leaf"
        return self.add(step).outputs[0]

    def _item(self, node: Node) -> Value:
        found: Value = self.values[node.inputs[0]][node.static[0]]
        if found.wanted is None:
            found.wanted = self.text.name_of(node)
        return found

    def _wanted(self, node: Node) -> str | None:
        return self.text.name_of(node)

    def _operation(self, node: Node) -> Any:
        how = written_node(node)
        if how is None:
            return self._fallback(node)
        if how.results[0] in how.given and len(how.results) == 1:  # `clone`: the same value
            place = how.given.index(how.results[0])
            return self._alias(node, self.value(node.inputs[place]))
        for each in how.definitions:
            self.text.imports.update(dict.fromkeys(each.imports))
            self.text.define(each.name, each.text)
        several = type(node.aval) is tuple
        names = [None] * len(node.aval) if several else [self._wanted(node)]
        if how.compact:
            inputs = [self.value(each) for each, count in zip(node.inputs, how.uses, strict=True) for _ in range(count)]

            def write(expressions: Sequence[Expression]) -> Expression:
                rest = iter(expressions)
                operands = [[next(rest) for _ in range(count)] for count in how.uses]
                return how.inline([each[0] if each else ast.Constant(None) for each in operands])
        else:
            inputs = [self.value(each) for each in node.inputs]
            assert node.operation is not None
            wanted = node.operation.function.__name__.lstrip("_")
            called = self.text.define(wanted, definition(node.operation, how, {*self.text.taken}))

            def write(expressions: Sequence[Expression]) -> Expression:
                return call(called, *expressions)

        return self._finished(node, inputs, write, names, several)

    def _indexed(self, node: Node) -> Value | None:
        """One index for a chain of them: `y[0, 1:]`, `y.at[0, 1:].set(new)`. None where there is no chain."""
        chain = [node]
        if node.operation is put:
            base, new = node.inputs[0], node.inputs[1]
            steps = [(node.static[0], node.static[1], node.inputs[2:])]
            while _continues(new, steps[-1]) and type(new) is Node:
                steps.append((new.static[0], new.static[1], new.inputs[2:]))
                new = new.inputs[1]
            operands = [base, new]
        else:
            while type(each := chain[-1].inputs[0]) is Node and each.operation in CUTS and each.holder is None:
                chain.append(each)
            steps = [(each.operation, each.static, each.inputs[1:]) for each in reversed(chain)]
            operands = [chain[-1].inputs[0]]
        if len(steps) == 1:
            return None
        key = composed(steps, len(operands[0].aval.shape))
        if key is None:
            return None
        text = literal(key[0] if len(key) == 1 else key)

        def write(e: Sequence[Expression]) -> Expression:
            if len(e) == 1:
                return ast.Subscript(e[0], text, ast.Load())
            place = ast.Subscript(ast.Attribute(e[0], "at", ast.Load()), text, ast.Load())
            return call(ast.Attribute(place, "set", ast.Load()), e[1])

        inputs = [self.value(each) for each in operands]
        value: Value = self._finished(node, inputs, write, [self._wanted(node)], False)
        return value

    def _finished(
        self, node: Node, inputs: Sequence[Value], write: Callable[..., Expression], names: Any, several: bool
    ) -> Any:
        if not several and self._severs(node):
            inner = write

            def write(expressions: Sequence[Expression]) -> Expression:
                return call("jax.lax.stop_gradient", inner(expressions))

        step = self.add(Step(inputs, write, names, node.serial, node.where, unpacked=several))
        return step.outputs if several else step.outputs[0]

    def _alias(self, node: Node, value: Value) -> Value:
        if self._severs(node):
            made = Step(
                [value], lambda e: call("jax.lax.stop_gradient", e[0]), [self._wanted(node)], node.serial, node.where
            )
            return self.add(made).outputs[0]
        if value.wanted is None:
            value.wanted = self._wanted(node)
        return value

    def _severs(self, node: Node) -> bool:
        """Whether a gradient would flow through a node that was recorded without one; outside a function none does."""
        if (
            not self.differentiated
            or node.requires_grad
            or type(node.aval) is tuple
            or not node.aval.dtype.differentiable
        ):
            return False
        return node.operation is not detach and any(each.requires_grad for each in self.text.inputs(node))

    def _fallback(self, node: Node) -> Any:
        assert node.operation is not None
        several = type(node.aval) is tuple
        self.text.imports["import jax.extend"] = None
        text = primitives(node.operation, node.static, tuple([each.aval for each in node.inputs]))
        called = self.text.define(node.operation.function.__name__.lstrip("_"), text)
        inputs = [self.value(each) for each in node.inputs]
        names = [None] * len(node.aval) if several else [self._wanted(node)]
        return self._finished(node, inputs, lambda e: call(called, *e), names, several)

    # Programs inside.

    def _transformed(self, node: Node) -> Any:
        """A transform of a program: `jax.vjp`, `jax.jvp`, `jax.vmap` or `jax.checkpoint` of a function."""
        operation, static = node.operation, node.static
        program: Program = static[0]
        count = len(program.leaves)
        function = self._function_of(program, node)
        places = [place for place, each in enumerate(node.inputs[:count]) if type(each) is not Number]
        leaves = [self.value(node.inputs[place]) for place in places]
        rest = [self.value(each) for each in node.inputs[count:]]
        order, where = node.serial, node.where
        if operation is checkpointed:
            result = Step(
                leaves,
                lambda e: call(call("jax.checkpoint", name(function)), *e),
                [None] * len(node.aval),
                order,
                where,
                unpacked=True,
            )
            return self.add(result).outputs
        if operation is vmap:
            _, in_axes, out_axes, _, _ = static
            in_axes = tuple([in_axes[place] for place in places])
            axes = {"in_axes": literal(in_axes)} if set(in_axes) != {0} else {}
            axes.update({"out_axes": literal(out_axes)} if set(out_axes) != {0} else {})
            mapped = call("jax.vmap", name(function), **axes)
            result = Step(leaves, lambda e: call(mapped, *e), [None] * len(node.aval), order, where, unpacked=True)
            return self.add(result).outputs
        wrt = static[1]
        outputs = len(program.outputs)

        def partly(expressions: Sequence[Expression]) -> tuple[Expression, list[Expression]]:
            """The function of the leaves `wrt` alone, and those."""
            chosen = [expressions[places.index(each)] for each in wrt]
            if len(wrt) == len(places):
                return name(function), chosen
            params = [self._called(node.inputs[each], place, len(wrt)) for place, each in enumerate(wrt)]
            inner = list(expressions[: len(places)])
            for place, each in zip(wrt, params, strict=True):
                inner[places.index(place)] = name(each)
            head = ast.arguments([], [ast.arg(each) for each in params], None, [], [], None, [])
            return ast.Lambda(head, call(function, *inner)), chosen

        if operation is jvp:

            def pushed(e: Sequence[Expression]) -> Expression:
                part, chosen = partly(e)
                tangents = ast.Tuple(list(e[len(places) :]), ast.Load())
                both = call("jax.jvp", part, ast.Tuple(chosen, ast.Load()), tangents)
                return ast.Subscript(both, ast.Constant(1), ast.Load())

            result = Step([*leaves, *rest], pushed, [None] * len(node.aval), order, where, unpacked=True)
            return self.add(result).outputs
        if operation is pullback:

            def taken(e: Sequence[Expression]) -> Expression:
                part, chosen = partly(e)
                return call("jax.vjp", part, *chosen)

            vjp = Step(leaves, taken, [*[None] * outputs, "pullback"], order, where, unpacked=True)
            vjp.grouped = None if outputs == 1 else (0, outputs)
            self.add(vjp)

            def pulled(e: Sequence[Expression]) -> Expression:
                given = [
                    call("jnp.conj", each) if aval.dtype.is_complex else each
                    for each, aval in zip(e[1:], [each.aval for each in node.inputs[count:]], strict=True)
                ]
                v = given[0] if vjp.grouped is None else ast.Tuple(given, ast.Load())
                callee = call("jax.vmap", e[0]) if static[2] else e[0]
                return call(callee, v)

            result = Step([vjp.outputs[-1], *rest], pulled, [None] * len(wrt), order + 0.1, where, unpacked=True)
            self.add(result)
            pulled_avals = [program.leaves[place] for place in wrt]
            gradients = [
                self.conjugated(each, order + 0.2) if aval.dtype.is_complex else each
                for each, aval in zip(result.outputs, pulled_avals, strict=True)
            ]
            return [*vjp.outputs[:-1], *gradients]
        raise Unwritable(f"{operation} is written nowhere")

    def conjugated(self, value: Value, order: float) -> Value:
        """A complex cotangent of JAX's as torch has it, or the other way round."""
        return self.add(Step([value], lambda e: call("jnp.conj", e[0]), [value.wanted], order)).outputs[0]

    def _function_of(self, program: Program, node: Node) -> str:
        """A function that computes what a program does, of those of its leaves that are arrays."""
        known = self.text.story.pulled.get(node)
        operands = node.inputs[: len(program.leaves)]
        leaves, outputs = thawed(program, operands) if known is None else (list(operands), known)
        arrays = [each for each in leaves if type(each) is not Number]
        inside = set(reachable(outputs, lambda each: () if each in arrays else each.inputs)) - set(arrays)
        inner = Scope(self.text, self, inside)
        params = [Value(self._called(cast(Node, each), place, len(arrays))) for place, each in enumerate(arrays)]
        inner.values.update(zip(arrays, params, strict=True))
        results = [inner.value(each) for each in outputs]
        return function(inner, params, results, {}, "f", single=len(results) == 1)

    def _called(self, leaf: Node, place: int, count: int) -> str:
        """What a parameter is called."""
        return self.text.name_of(leaf) or (f"x{place}" if count > 1 else "x")


def function(
    scope: Scope,
    params: Sequence[Value],
    results: Sequence[Value],
    outside: Mapping[Value, Expression],
    wanted: str,
    single: bool = True,
    head: str = "",
    param_names: Sequence[str] | None = None,
) -> str:
    """Defines a function whose statements are those of `scope`; `outside` has what it reaches out for. Its name."""
    names = [numbered(safe(each.wanted or "x"), []) for each in params] if param_names is None else list(param_names)
    for place, each in enumerate(names):
        names[place] = numbered(each, names[:place])
    given: dict[Value, Expression] = {value: parsed(each) for value, each in zip(params, names, strict=True)}
    reserved: set[str] = {"jax", "jnp"}
    for outer, inner in scope.reached.items():
        if outer not in outside:
            continue  # nothing reads it after all
        given[inner] = outside[outer]
        reserved |= {each.id for each in ast.walk(outside[outer]) if isinstance(each, ast.Name)}
    reserved -= set(names)
    block = Block(scope.steps, results, given, reserved)
    returned = ", ".join(ast.unparse(each) for each in block.results)
    if not single:
        returned = f"({returned},)" if len(results) == 1 else returned
    lines = (tuple(block.lines), f"return {returned}")
    parameters = ", ".join(names)
    key = "\n".join([f"{head}({parameters})", *[each.text for each in block.lines], lines[1]])
    return scope.text.define(wanted, f"{head}def NAME({parameters}):", lines, key)


def _continues(new: Any, step: tuple[Any, Any, Any]) -> bool:
    """Whether what is written is itself a write, into the very part that `step` cuts out."""
    if type(new) is not Node or new.operation is not put or new.holder is not None:
        return False
    part = new.inputs[0]
    if type(part) is not Node or (part.operation, part.static) != step[:2]:
        return False
    return [each.value for each in part.inputs[1:] if type(each) is Number] == [each.value for each in step[2]]


def _writes_back(node: Node) -> bool:
    """Whether a write puts into a part what is there already: the second half of `y[0] += 1`, as Python does it."""
    base, new, *numbers = node.inputs
    while type(new) is Node and new.operation is assigned_op and new.inputs[0].aval is new.inputs[1].aval:
        new = new.inputs[1]
    if type(new) is not Node or type(base) is not Node:
        return False
    if new.operation is put:
        return _writes_back(new) and _is_part(new.inputs[0], base, node.static, numbers)
    return _is_part(new, base, node.static, numbers)


def _is_part(part: Any, base: Node, step: tuple[Any, Any], numbers: Sequence[Any]) -> bool:
    """Whether `part` is what `step` cuts out of `base`."""
    if type(part) is not Node or (part.operation, part.static) != step:
        return False
    if [each.value for each in part.inputs[1:] if type(each) is Number] != [each.value for each in numbers]:
        return False
    source = part.inputs[0]
    if source is base:
        return True
    return (
        type(source) is Node
        and source.operation is base.operation
        and source.operation is not None
        and source.operation.write is not None
        and _is_part(source, cast(Node, base.inputs[0]), (base.operation, base.static), base.inputs[1:])
    )


def composed(steps: Sequence[tuple[Any, Any, Any]], ndim: int) -> tuple[Any, ...] | None:
    """The index that a chain of `select` and `slice` is; None where one of them is something else."""
    entries: list[Any] = [slice(None)] * ndim
    shown = list(range(ndim))
    for operation, static, operands in steps:
        if operation not in CUTS or not operands:
            return None
        place, start = shown[static[0]], int(operands[0].value.real)
        before = entries[place]
        first, stride = before.start or 0, before.step or 1
        if operation in (select, unbind_one):
            entries[place] = first + start * stride
            shown.remove(place)
        else:
            part = cut(start, static[1], static[2])
            last = None if part.stop is None else first + part.stop * stride
            entries[place] = slice(
                first + start * stride or None, last, static[2] * stride if static[2] * stride > 1 else None
            )
    while len(entries) > 1 and entries[-1] == slice(None):
        entries.pop()
    return tuple(entries)


def written_node(node: Node) -> Written | None:
    """How a node's op is written; None where it can only be told in JAX's primitives."""
    operation = node.operation
    assert operation is not None
    givens = []
    for each in node.inputs:
        if type(each) is Number:
            position = each.aval.dtype.numpy.type(each.value).item() if operation in POSITIONED else None
            givens.append(Given(each.aval, type(each.value), position))
        else:
            givens.append(Given(each.aval))
    try:
        return written(operation, node.static, tuple(givens))
    except Unwritable:
        return None


def thawed(program: Program, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """A program as nodes again: its leaves, of which the Python numbers are those of `operands`, and its outputs."""
    leaves = [
        each if type(each) is Number else Node(None, (), (), aval, where=NOWHERE)
        for aval, each in zip(program.leaves, operands, strict=True)
    ]
    nodes: list[Node] = []
    for operation, static, reads in program.equations:
        inputs = tuple([nodes[each] if each >= 0 else leaves[-1 - each] for each in reads])
        aval: Any = abstract(operation, static, tuple([each.aval for each in inputs]))
        nodes.append(Node(operation, static, inputs, aval, where=NOWHERE))
    return leaves, [nodes[each] if each >= 0 else leaves[-1 - each] for each in program.outputs]


NOWHERE: Any = (compile("", "<nowhere>", "exec"), 0)
"""The place of a node that no line of the user's recorded."""


def wide(aval: Aval | tuple[Aval, ...]) -> bool:
    """Whether a value has a 64-bit type."""
    if isinstance(aval, tuple):
        return any(wide(each) for each in aval)
    return bool(aval.dtype.numpy.itemsize >= (16 if aval.dtype.is_complex else 8))

"""Makes steps from nodes: decides which part of a recorded graph is written inside a function, and which outside.

Nodes are written in a `Scope`: that of the program, or of a function in it, which reads values that do not depend on
its parameters from outside.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np

from jaxvjp.autograd.function_step import FunctionStep
from jaxvjp.core.record.graph import Node, Number, gradient_edges, reachable
from jaxvjp.core.run.program import Program
from jaxvjp.core.run.values import array_of
from jaxvjp.explain.block import Block, Expression, Line, Step, Value, spelled
from jaxvjp.explain.calls import FunctionCall
from jaxvjp.explain.cuts import PART_OPS, chain_of, writes_back
from jaxvjp.explain.literals import Unwritable, array, call, encoded, literal, name, parsed, shortest
from jaxvjp.explain.names import BUILTINS, adds_to, copied_by_user, heads_a_loop, numbered, safe
from jaxvjp.explain.text import Text
from jaxvjp.explain.writing import Given, Written, definition, written
from jaxvjp.ops.creation import full
from jaxvjp.ops.identity import detach, function_result, rebind, shaped, tuple_item, variable
from jaxvjp.ops.pointwise import fill, zero
from jaxvjp.ops.view import put, reshape_alias, reshaped_copy, slice_, split_one, squeeze, unbind_one, view
from jaxvjp.pure.wrapping import Call
from jaxvjp.types.devices import META

POSITIONED = frozenset([*PART_OPS, put])
"""Ops whose Python numbers are positions; these are written out."""


SHAPERS = frozenset([shaped, view, reshape_alias, reshaped_copy, squeeze])
"""Ops that only change a shape; one that keeps it is left out."""
SHORT = 12
"""A constant of more elements than this gets a line of its own."""
UNIFORM = "jnp.ones", "jnp.zeros", "jnp.full"
"""An array without a name that these make is written wherever it is read."""
FEW = 3
"""Of a function of some of its arguments, more of these than this are written `*given`."""
WRITERS: dict[str, Callable[[Any, Node], Any]] = {}
"""How special nodes are written: by kind, a function of the scope and the node. The kinds are "function" (a custom
`Function`), "program" (an op that carries one, such as `pullback`), "call" (of a wrapped JAX function), and "saved" (an
operation whose saved operands a hook replaced). The modules that write them, which import this one, put them here."""


KEPT: list[Callable[..., Any]] = []
"""One function, `kept.kept`, put here as `kept` imports this module: see there."""
RETURNED: list[Callable[[Any, Node], Any]] = []
"""One function, `lifting.given_back`, put here as `lifting` imports this module. It is called with the program's scope
and a node: if a function of the program computes the node, it has that function return the value, too, and gives it."""


def dependent(text: Text, outputs: Sequence[Node], given: Iterable[Any], top: Scope) -> set[Node]:
    """The nodes that a function of `given` has to compute for `outputs`: those that a gradient flows through, others
    that depend on `given`, and unnamed parts of these.

    What no gradient flows through stays outside if `top` has its value, or if an earlier function computes it, as it
    does the state that a loop carries on.
    """
    params = set(given)
    flow = set(reachable(outputs, lambda node: () if node in params else gradient_edges(node)))

    def stops(node: Node) -> bool:
        if node in params or node in flow:
            return node in params
        if node in top.values and (not node.requires_grad or node in top.carried):
            return True
        whole = node.inputs[0] if node.operation is tuple_item and node.inputs else node  # one result of several
        return whole in top.owners and not any(operand in flow for operand in text.inputs(node))

    order = reachable(outputs, lambda node: () if stops(node) else text.inputs(node))
    order = [node for node in order if not stops(node) and not (node.is_leaf and node.requires_grad)]
    inside: set[Node] = set()
    outside: set[Any] = set()
    for node in order:
        if node.requires_grad or any(operand in inside or operand in params for operand in text.inputs(node)):
            inside.add(node)
    rows = [node.inputs[0] for node in order if node.operation is unbind_one]
    inside.update([each for each in order if each.operation is unbind_one and rows.count(each.inputs[0]) > 1])
    beside, apart = _in_calls(text, [node for node in order if node not in inside], inside)
    for node in reversed(order):  # a part of an expression stands where all who read it do
        computed = any(type(operand) is Node for operand in text.inputs(node))
        alone = computed and text.name_of(node) is None and node not in apart
        own = alone or (node in beside and (computed or uniform(node)))
        if node not in inside and own and node not in outside:
            inside.add(node)
        elif node not in inside:
            outside.update(text.inputs(node))
    return inside


def _in_calls(text: Text, nodes: Sequence[Node], inside: Collection[Node]) -> tuple[set[Node], set[Node]]:
    """Those of `nodes` that were recorded in a call of a user's function which recorded nodes `inside`, too, and those
    of calls that recorded none and returned one of `nodes`: such a function is written as a whole."""
    if not nodes or not inside:
        return set(), set()
    serials = sorted([node.serial for node in inside])
    passes = text.story.passes
    walks, backwards = [event.order for event in passes], {event.where for event in passes}  # they call hooks

    def between(numbers: Sequence[float], call: FunctionCall) -> bool:
        return bisect.bisect(numbers, call.first) < bisect.bisect_left(numbers, call.last)

    since, until = min(node.serial for node in nodes), max(node.serial for node in nodes)
    calls = [each for each in text.story.calls if each.first < until and each.last > since]
    calls = [each for each in calls if each.where not in backwards]
    calls = [each for each in calls if not between(walks, each)]
    known = {node.serial for node in nodes}
    beside, apart = set[Node](), set[Node]()
    for node in nodes:
        own = [each for each in calls if each.first < node.serial < each.last]
        if any(between(serials, each) for each in own):
            beside.add(node)
        elif not all(known.isdisjoint(each.returned) for each in own):
            apart.add(node)
    return beside, apart


def uniform(node: Node) -> bool:
    """Whether a value is one number, again and again, such as that of `torch.ones_like(x)`."""
    if node.inputs or node.value is None or type(node.aval) is tuple:
        return False
    numbers = np.asarray(node.value)
    return bool(numbers.size) and bool((numbers == numbers.ravel()[0]).all())


class NeedsWide(Exception):  # noqa: N818 - no error: the program is written again
    """Raised by a value that needs 64-bit types to be enabled in the program."""


def itself(expressions: Sequence[Expression]) -> Expression:
    """How another name of a value is written."""
    return expressions[0]


class Scope:
    """Where statements are collected: the program's own scope (without `outer`) or a function's.

    Attributes:
        values: the value of each node that is written or known here; a list for a node with several results.
        steps: the steps that are written here.
        differentiated: whether `jax.vjp` is taken of what is written here, so that `stop_gradient` is needed where
            torch stops.
        reached: values of the outer scope that are read here, each with the value that stands for it here.
        functions, owners: the functions that are differentiated, and for each node the first one that computes it.
        calls: by backward step of a custom Function, the step that calls it, which may have several outputs.
        transforms: by the node of a transform that is written here, the first of its call, the values that it gives.
        alike: by what they have in common, the nodes of one call of a transform; None before they are asked for.
        transform: the node of the transform of a function, such as `torch.vmap`, that is written here; None outside.
        called: the names of the functions that are called here.
        pulled: the user's code of the backward of a custom Function that this is, or is inside of; None outside.
        within: how many calls of the user's functions all that is written here was recorded in.
        in_step: whether it is that of a step of a port, from which no function reads names.
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
        self.functions: list[Any] = []
        self.owners: dict[Node, Any] = {}
        self.carried: set[Node] = set()  # what a round before has left
        self.only_rows: dict[Value, Value] = {}  # values of one row, and that row
        self.transform: Node | None = None if outer is None else outer.transform
        self.transforms: dict[Node, Any] = {}
        self.alike: dict[Any, list[Node]] | None = None
        self.called: set[str] = set()
        self.pulled: CodeType | None = None if outer is None else outer.pulled
        self.within = 0
        self.in_step = False

    def value(self, wanted: Any) -> Any:
        """The value of a node, which is written here if it is not yet."""
        pending = [wanted]
        while pending:
            node = pending[-1]
            if node in self.values:
                pending.pop()
                continue
            if self.functions and type(node) is Node and (found := RETURNED[0](self, node)) is not None:
                self.values[node] = found
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

    def define(self, wanted: str, text: str) -> str:
        """The name of the function with this text, as `Text.define`: no variable here gets it."""
        called = self.text.define(wanted, text)
        self.called.add(called)
        return called

    def _elsewhere(self, node: Any) -> bool:
        return self.outer is not None and type(node) is Node and self.inside is not None and node not in self.inside

    def _sources(self, node: Any) -> Sequence[Any]:
        if type(node) is Number or self._elsewhere(node):
            return ()
        if node.operation is function_result and isinstance(node.python, FunctionStep) and node.requires_grad:
            return [edge for edge in node.python.edges if edge.requires_grad]
        if node.operation is put and writes_back(node):
            return [operand for operand in node.inputs[:1] if type(operand) is Node]
        return [operand for operand in self.text.inputs(node) if type(operand) is Node]

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
        if not node.inputs and node.value is not None:  # its graph was freed
            return self._leaf(node)
        if operation is variable:
            value, own = self.values[node.inputs[0]], self.wanted(node)
            another = value.wanted not in (None, own) and (own is not None or copied_by_user(node.where))
            if another and self.outer is None:
                return self._named(node, value)  # `z = x.detach().requires_grad_()` is another leaf than x
            return self._alias(node, value)
        if operation is full and type(node.inputs[0]) is Number:
            return self._constant(node, np.broadcast_to(_number_of(node.inputs[0]), node.aval.shape))
        if self.outer is None and operation in (fill, zero) and _begins(node):
            filled = _number_of(node.inputs[1]) if operation is fill else node.aval.dtype.numpy.type(0)
            return self._constant(node, np.broadcast_to(filled, node.aval.shape).astype(node.aval.dtype.numpy))
        if operation is not None and operation.operands and not node.inputs:
            raise Unwritable("this is read inside of a function that it is not given to", node.where)
        if operation is tuple_item:
            return self._item(node)
        if operation is detach:
            source = self.values[node.inputs[0]]
            if not node.inputs[0].requires_grad or source in self.reached.values():  # a constant of this function
                return source
            if self.outer is None:
                return self._alias(node, source)
        if operation is function_result and isinstance(node.python, FunctionStep) and node.requires_grad:
            found = WRITERS["function"](self, node)
            if found is not None:
                return found
        if operation is put and writes_back(node):
            return self.values[node.inputs[0]]
        if self.differentiated and node in self.text.changed:
            return WRITERS["saved"](self, node)
        if operation is slice_ and node.static[1:] == (node.inputs[0].aval.shape[node.static[0]], 1):  # all of it
            return self._alias(node, self.values[node.inputs[0]])
        if operation in PART_OPS or operation is put:
            found = self._indexed(node)
            if found is not None:
                return found
        if node.static and type(node.static[0]) is Program:
            return WRITERS["program"](self, node)
        if node.static and type(node.static[0]) is Call:
            return WRITERS["call"](self, node)
        return self._operation(node)

    def _grows_here(self, node: Node) -> bool:
        """Whether a given array is overwritten by values computed here, as `loss = empty(3)` may be."""
        return (
            node.operation is None
            and not node.requires_grad
            and node.value is not None
            and any(each.operation is put and each.inputs[0] is node for each in self.inside or ())
        )

    def _reach(self, value: Value) -> Value:
        if value not in self.reached:
            self.reached[value] = Value(value.wanted)
        return self.reached[value]

    # One node.

    def _number(self, number: Number) -> Value:
        if self.outer is not None and number in self.text.lifted:
            return self._reach(self.outer.value(number))
        value = number.value
        if type(value) is float and number.aval.dtype.name == "float32":
            value = shortest(_number_of(number))  # 0.1 for 1 - 0.9, the same number in 32 bits
        text = literal(value)
        return self.add(Step([], lambda inputs: text, free=True, note="number")).outputs[0]

    def _leaf(self, node: Node) -> Value:
        if node.value is None:
            raise Unwritable("a leaf without a value")
        if node.device is META:
            raise Unwritable("a tensor on the device meta has no numbers: compute on a device that has", node.where)
        values = self.text.narrowest(node.value)
        own, order = self.text.starts.get(node) or (self.text.name_of(node), float(node.serial))
        wanted = own or ("x" if node.requires_grad else None)
        text: Any
        try:
            begun = node.where is None and node in self.text.starts  # `total = 0.0`
            text = literal(values.item()) if begun else array(values, explicit=self.text.explicit_dtypes)
        except Unwritable:
            text = encoded(self.text.narrowest(array_of(node)))
            self.text.imports["import base64"] = None
        if wanted is None and values.size > SHORT and text.func.attr in ("array", "reshape"):  # large: it is written
            key = (node.where, values.dtype, values.shape, values.tobytes())  # once, above everything that reads it
            if self.outer is None and key in self.text.data:
                return self.text.data[key]
            wanted = numbered("data", self.text.unnamed)
            self.text.unnamed.add(wanted)
        uniform = not values.ndim or (isinstance(text, ast.Call) and ast.unparse(text.func) in UNIFORM)
        free = wanted is None and uniform
        step = Step([], lambda inputs: text, [wanted], order, node.where, free=free)
        step.note = "leaf"
        value = self.add(step).outputs[0]
        if wanted in self.text.unnamed and self.outer is None:
            self.text.data[(node.where, values.dtype, values.shape, values.tobytes())] = value
        return value

    def _constant(self, node: Node, values: Any) -> Value:
        text = array(self.text.narrowest(values), explicit=self.text.explicit_dtypes)
        wanted = self.wanted(node)
        step = Step([], lambda inputs: text, [wanted], node.serial, node.where, free=wanted is None)
        return self.add(step).outputs[0]

    def _item(self, node: Node) -> Value:
        found: Value = self.values[node.inputs[0]][node.static[0]]
        if found.wanted is None:
            found.wanted = self.text.name_of(node)
        return found

    def wanted(self, node: Node) -> str | None:
        if self.transform is not None and node.where == self.transform.where:
            return None  # what is assigned there is the transform's result
        return self.text.name_of(node)

    def _operation(self, node: Node) -> Any:
        source = node.inputs[0] if node.inputs else None
        if type(source) is Node and type(node.aval) is not tuple and node.operation in SHAPERS:
            row = self.only_rows.get(self.values[source])
            if node.aval.shape == source.aval.shape:
                return self._alias(node, self.values[source])
            if row is not None and node.aval.shape == source.aval.shape[1:]:
                return self._alias(node, row)
        if node.operation is rebind and not node.requires_grad:  # it is the second, with the derivative of the first
            return self._alias(node, self.value(node.inputs[1]))
        how = written_node(node, not self.text.exact and node not in self.text.at_zero)
        self.text.simplified |= how.simplified
        if how.results[0] in how.given and not how.several:  # `clone`: the same value
            source = self.value(node.inputs[how.given.index(how.results[0])])
            own = self.wanted(node)
            if self.outer is None and (node in self.text.copies or (own and source.wanted not in (None, own))):
                return self._named(node, source)
            return self._alias(node, source)
        for each in how.definitions:
            self.text.imports.update(dict.fromkeys(each.imports))
            self.text.define(each.name, each.text)
        several = how.several
        names = [None] * len(how.results) if type(node.aval) is tuple else [self.wanted(node)]
        if how.compact:
            operands = [self._begun(node, operand) or self.value(operand) for operand in node.inputs]
            inputs = [each for each, count in zip(operands, how.uses, strict=True) for _ in range(count)]

            def write(expressions: Sequence[Expression]) -> Expression:
                rest = iter(expressions)
                operands = [[next(rest) for _ in range(count)] for count in how.uses]
                return how.inline([operand[0] if operand else ast.Constant(None) for operand in operands])
        else:
            inputs = [self.value(operand) for operand in node.inputs]
            assert node.operation is not None
            wanted = node.operation.torch_name
            wanted += "_" * (wanted in BUILTINS)
            called = self.define(wanted, definition(node.operation, how, {*self.text.taken}))

            def write(expressions: Sequence[Expression]) -> Expression:
                return call(called, *expressions)

        made = self._finished(node, inputs, write, names, several)
        return made if several or type(node.aval) is not tuple else [made]

    def _begun(self, node: Node, number: Any) -> Value | None:
        """The variable that begins as a number, `total = 0.0`, where a function adds to it: `total = total + x`."""
        if type(number) is not Number or self.outer is None or number is not node.inputs[0]:
            return None
        target = adds_to(node.where)
        if target is None or target != self.wanted(node):
            return None
        text = literal(number.value)
        return self.add(Step([], lambda inputs: text, [target])).outputs[0]

    def _finished(
        self, node: Node, inputs: Sequence[Value], write: Callable[..., Expression], names: Any, several: bool
    ) -> Any:
        if not several and self._severs(node):
            inner = write

            def write(expressions: Sequence[Expression]) -> Expression:
                return call("jax.lax.stop_gradient", inner(expressions))

        step = self.add(Step(inputs, write, names, node.serial, node.where, unpacked=several))
        step.part = node.operation in PART_OPS
        step.free = step.part and node in self.text.listed
        step.late = node.operation is unbind_one or (node.operation is split_one and heads_a_loop(node.where))
        return step.outputs if several else step.outputs[0]

    def _named(self, node: Node, value: Value) -> Value:
        """A name of its own for a value that has one."""
        wanted = self.wanted(node) or ("x" if node.requires_grad and node.is_leaf else None)
        return self.add(Step([value], itself, [wanted], node.serial, node.where)).outputs[0]

    def _alias(self, node: Node, value: Value) -> Value:
        if self._severs(node):
            made = Step(
                [value], lambda e: call("jax.lax.stop_gradient", e[0]), [self.wanted(node)], node.serial, node.where
            )
            return self.add(made).outputs[0]
        if value.wanted is None or node.operation is variable:
            value.wanted = self.wanted(node) or value.wanted
            if value.wanted is not None and value.step is not None and not value.step.inputs:
                value.step.free = value.step.note == "number"
        return value

    def _severs(self, node: Node) -> bool:
        """Whether a gradient would flow through a node that was recorded without one, so that it needs
        `stop_gradient`."""
        if (
            not self.differentiated
            or node.requires_grad
            or type(node.aval) is tuple
            or not node.aval.dtype.differentiable
        ):
            return False
        return node.operation is not detach and any(operand.requires_grad for operand in self.text.inputs(node))

    def _indexed(self, node: Node) -> Value | None:
        """A chain of cuts written as one index; None if the node is no chain."""
        chain = chain_of(node)
        if chain is None:
            return None

        def write(e: Sequence[Expression]) -> Expression:
            if node.operation is not put:
                return ast.Subscript(e[0], chain.text(e[1:]), ast.Load())
            place = ast.Subscript(ast.Attribute(e[0], "at", ast.Load()), chain.text(e[2:]), ast.Load())
            return call(ast.Attribute(place, "set", ast.Load()), e[1])

        inputs = [self.value(operand) for operand in chain.operands]
        value: Value = self._finished(node, inputs, write, [self.wanted(node)], False)
        return value

    def member(self, value: Value, key: str, order: float) -> Value:
        """What a dict has at a key."""
        step = Step([value], lambda e: ast.Subscript(e[0], ast.Constant(key), ast.Load()), order=order, free=True)
        return self.add(step).outputs[0]

    def conjugated(self, value: Value, order: float) -> Value:
        """The conjugate of a complex cotangent, which converts JAX's convention to torch's and back."""
        return self.add(Step([value], lambda e: call("jnp.conj", e[0]), [value.wanted], order)).outputs[0]


def function(
    scope: Scope,
    params: Sequence[Value],
    results: Sequence[Value],
    outside: Mapping[Value, Expression],
    wanted: str,
    single: bool = True,
    param_names: Sequence[str] | None = None,
    returned: Sequence[Value] = (),
    custom: str = "",
) -> str:
    """Defines a function with the statements of `scope` and returns its name; `outside` has the values it reads from
    outside, and values `returned` come beside its results. A `jax.custom_vjp` has a forward and backward, `custom`."""
    # Values that turned out to be unread are not in `outside`.
    given = {inner: outside[outer] for outer, inner in scope.reached.items() if outer in outside}
    reserved = {each.id for text in given.values() for each in ast.walk(text) if isinstance(each, ast.Name)}
    names = [safe(parameter.wanted or "x") for parameter in params] if param_names is None else list(param_names)
    scope.text.taken |= {*reserved, *[each.partition("[")[0] for each in names]}  # by no function below
    steps, everything, called, whole = KEPT[0](scope, [*results, *returned], params, given)
    results, returned = everything[: len(results)], everything[len(results) :]
    wanted = "f" if wanted in called else wanted  # it only calls that
    if whole is not None:
        wanted = whole.name if wanted == "f" else wanted
        names = [
            whole.names.get(value, own) if own.isidentifier() else own for value, own in zip(params, names, strict=True)
        ]
    dicts = {each.partition("[")[0] for each in names if not each.isidentifier()}
    for place, each in enumerate(names):
        names[place] = numbered(each, {*names[:place], *reserved, *dicts, *called, *scope.called})
    given.update({value: parsed(each) for value, each in zip(params, names, strict=True)})
    roots = dict.fromkeys([each.partition("[")[0] for each in names])  # `net` of `net["weight"]`
    block = Block(steps, everything, given, {"jax", "jnp", *roots, *reserved, *called, *scope.called} - {*names})
    texts = [spelled(result) for result in block.results]
    own, more = ", ".join(texts[: len(results)]), ", ".join(texts[len(results) :])
    if not single:
        own = f"({own},)" if len(results) == 1 else f"({own})" if returned else own
    if returned:
        own += f", ({more})" if len(returned) > 1 else f", {more}"
    kept, said = block.lines, tuple[Any, ...]()
    if single and not returned and _ends_with(block, results[0]):
        (*kept, last) = block.lines
        own, said = last.text.removeprefix(f"{own} = "), last.sources
    lines = (tuple(kept), Line(f"return {own}", said, None))
    parameters = ", ".join(roots)
    key = "\n".join([f"({len(roots)})", *[each.text for each in (*kept, lines[1])]])
    for place, each in enumerate(roots):  # functions that differ in the names of their parameters are one
        key = re.sub(rf"(?<![\w.]){re.escape(each)}(?!\w|=[^=])", f"_{place}", key)
    head = "@jax.custom_vjp\n" if custom else ""
    return scope.text.define(wanted, f"{head}def NAME({parameters}):", lines, custom + key)


def in_dicts(columns: Sequence[Sequence[Value]], names: Sequence[str], before: Sequence[str] = ()) -> list[str]:
    """The names of parameters, of which each call gives a row of `columns`: `net["weight"]` for those that all calls
    have in one dict, which is not one of those `before`."""
    named, groups = list(names), dict[Any, list[int]]()
    for place, column in enumerate(columns):
        members = [each.member for each in column if each.member is not None]
        if len(members) == len(column) and len({key for _, _, key in members}) == 1:
            groups.setdefault(tuple([own for own, _, _ in members]), []).append(place)
    for places in groups.values():
        if len(places) > 1:
            others = {each.partition("[")[0] for place, each in enumerate(named) if place not in places}
            others |= {each.partition("[")[0] for each in before}
            root = numbered(columns[places[0]][0].member[1], others)  # type: ignore[index]
            for place in places:
                named[place] = f'{root}["{columns[place][0].member[2]}"]'  # type: ignore[index]
    return named


def together(names: Sequence[str], arguments: Sequence[Expression]) -> list[Expression]:
    """The arguments for parameters of these names: a dict for those in it."""
    found: dict[Any, list[tuple[ast.expr, Any]]] = {}
    for place, (each, argument) in enumerate(zip(names, arguments, strict=True)):
        wanted: Any = parsed(each)
        found.setdefault(place if each.isidentifier() else wanted.value.id, []).append((wanted, argument))
    return [own[0][1] if type(root) is int else _dict_of(own) for root, own in found.items()]


def _dict_of(members: Sequence[tuple[Any, Any]]) -> Expression:
    """The dict of which these are the members, or one that has them under these keys: `{**net, "bias": moved}`."""
    own = {
        ast.unparse(argument.value): argument.value for _, argument in members if isinstance(argument, ast.Subscript)
    }
    text, whole = next(iter(own.items()), ("", None))
    others = [
        (wanted.slice, each) for wanted, each in members if ast.unparse(each) != f"{text}[{ast.unparse(wanted.slice)}]"
    ]
    if whole is None or len(others) == len(members):
        return ast.Dict([key for key, _ in others], [each for _, each in others])
    if not others:
        return whole
    return ast.Dict([None, *[key for key, _ in others]], [whole, *[each for _, each in others]])


def _ends_with(block: Block, result: Value) -> bool:
    """Whether the last line computes the result and is returned in its place; not the last of several of one loop."""
    if not block.lines:
        return False
    *before, last = block.lines
    if last.step.outputs != [result] or last.step.unpacked:
        return False
    again = f"{block.names[result]} = "
    return not any(last.sources == each.sources and each.text.startswith(again) for each in before)


def partial(called: str, arguments: Sequence[Expression], places: Sequence[int], wanted: Sequence[str]) -> Expression:
    """A function of only its arguments at `places`, which are called `wanted`: itself, if these are all."""
    if len(places) == len(arguments):
        return parsed(called)
    inner = list(arguments)
    others = [text for place, text in enumerate(inner) if place not in places]
    taken = [each.id for text in others for each in ast.walk(text) if isinstance(each, ast.Name)]
    params: list[str] = []
    if len(places) > FEW and [*places] == [*range(len(places))]:
        params = [numbered("given", taken)]
        everything = ast.arguments([], [], ast.arg(params[0]), [], [], None, [])
        return ast.Lambda(everything, call(parsed(called), ast.Starred(name(params[0]), ast.Load()), *others))
    for place, each in zip(places, wanted, strict=True):
        params.append(numbered(safe(each), [*taken, *params]))
        inner[place] = name(params[-1])
    return ast.Lambda(
        ast.arguments([], [ast.arg(each) for each in params], None, [], [], None, []), call(parsed(called), *inner)
    )


def _begins(node: Node) -> bool:
    """Whether a line fills what it made: `nn.LayerNorm(4)` its weight, with ones."""
    source: Any = node.inputs[0]
    while source.operation in (variable, detach) and source.inputs:
        source = source.inputs[0]
    given = all(type(each) is Number for each in node.inputs[1:])
    return given and source.operation is None and bool(source.where == node.where)


def _number_of(number: Number) -> Any:
    """A Python number in the dtype that it has in the program."""
    return number.aval.dtype.numpy.type(number.value)


def written_node(node: Node, plain: bool) -> Written:
    """How a node's op is written, `plain` if it has such a form; Unwritable, with the reason, if it cannot be."""
    operation = node.operation
    assert operation is not None
    givens = []
    for operand in node.inputs:
        if type(operand) is Number:
            position = _number_of(operand).item() if operation in POSITIONED else None
            givens.append(Given(operand.aval, type(operand.value), position))
        else:
            givens.append(Given(operand.aval))
    try:
        return written(operation, node.static, tuple(givens), plain)
    except Unwritable as error:
        raise Unwritable(
            f"the op {operation.name} cannot be written as JAX source: {error}\n"
            "Explain what comes before it or after it; `.cotangents()`, `.jacobian()` and `.picture()` go through it.",
            node.where,
        ) from error

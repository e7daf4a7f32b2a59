"""A custom `autograd.Function` as `jax.custom_vjp`: its forward, and the backward that the user wrote.

`custom` writes a call of one. The backward is written from the graph that the user's `backward` recorded; if it has not
run, it runs once, on cotangents without a value.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any

from jaxvjp.autograd.function_step import FunctionStep
from jaxvjp.core.record.graph import Node, reachable
from jaxvjp.core.record.modes import tracking
from jaxvjp.core.record.observers import Stepped
from jaxvjp.core.record.record import constant
from jaxvjp.explain.block import Expression, Step, Value
from jaxvjp.explain.literals import Unwritable, call
from jaxvjp.explain.names import numbered, safe
from jaxvjp.explain.scope import WRITERS, Scope, function
from jaxvjp.explain.text import NOWHERE
from jaxvjp.ops.identity import example, function_result, tuple_item

MODULE_HOOKS = "BackwardHookFunctionBackward"
"""The step of a Function that gives its arguments as they are: a module's backward hooks hang there."""


def custom(scope: Scope, node: Node) -> Value | None:
    """The value of one output of a custom Function, written as a call of a `jax.custom_vjp`.

    None if its backward cannot be written and no backward pass goes through it here: then its forward is enough.
    """
    step = node.python
    assert isinstance(step, FunctionStep)
    known = scope.calls.get(step)
    if step.name == MODULE_HOOKS and _unchanged(scope.text.story.stepped().get(step)):
        passed: Value = scope.value(step.edges[node.output_number])
        return passed
    if known is None:
        try:
            known = scope.calls[step] = _called(scope, step, node)
        except Unwritable:
            if scope.differentiated and (scope.text.story.hypothetical or step in scope.text.story.stepped()):
                raise
            return None
    place = list(step._values).index(node.output_number)
    value: Value = known.outputs[place]
    value.wanted = value.wanted or scope.text.name_of(node)
    return value


def _unchanged(ran: Stepped | None) -> bool:
    """Whether a backward step passed on what arrived: its hooks, such as those of a module, only looked."""
    if ran is None:
        return False
    given, returned = [[id(node) for node in nodes if node is not None] for nodes in (ran.cotangents, ran.results)]
    return given == returned


def _called(scope: Scope, step: FunctionStep, node: Node) -> Step:
    arguments = [edge for edge in step.edges if edge.requires_grad]
    arguments = list(dict.fromkeys(arguments))
    outputs = list(step._values.values())
    cotangents, gradients = _backward(scope, step)
    name, extra = _definition(scope, step, arguments, outputs, cotangents, gradients)
    inputs = [*[scope.value(argument) for argument in arguments], *extra]
    several = len(outputs) > 1
    made = Step(inputs, lambda e: call(name, *e), [None] * len(outputs), node.serial, node.where, unpacked=several)
    return scope.add(made)


def _backward(scope: Scope, step: FunctionStep) -> tuple[list[Node | None], list[Node | None]]:
    """The cotangents that the user's `backward` got, and the gradients that it returned."""
    ran = scope.text.story.stepped().get(step)
    if ran is not None:
        return list(ran.cotangents), list(ran.results)
    given = [
        None
        if aval is None or place not in step._values
        else Node(example, (), (constant(0, aval),), aval, where=NOWHERE)
        for place, aval in enumerate(step.output_avals)
    ]
    try:
        with tracking(False):
            return given, step(given, False)
    except RuntimeError as error:
        raise Unwritable(
            f"the backward of {step.name.removesuffix('Backward')} reads values, so it can only be shown in a "
            "recording: `with jaxvjp.explain.recording() as story:` around the computation and its backward"
        ) from error


def _definition(
    scope: Scope,
    step: FunctionStep,
    arguments: Sequence[Node],
    outputs: Sequence[Node],
    cotangents: Sequence[Node | None],
    gradients: Sequence[Node | None],
) -> tuple[str, list[Value]]:
    """Defines a `@jax.custom_vjp` with its forward and backward: its name, and the values that they read besides the
    arguments: these are computed outside and get no gradient."""
    text = scope.text
    names = _argument_names(step, arguments)
    # What the function around it is given, such as the cotangent of a backward that calls this Function, stays given.
    around = [each for each, value in scope.values.items() if isinstance(value, Value) and value.step is None]
    known = [*arguments, *around]
    given = [Value(each) for each in names]
    arrived = [each for each in cotangents if each is not None]
    before = {*arguments, *_computed(outputs, known)}
    returned = [each for each in gradients if each is not None]
    items = [each for each in reachable(returned, lambda node: node.inputs) if each.operation is tuple_item]
    before.update([each for each in items if each.inputs[0] in before])  # `values, vectors = eigh(a)`: each alone
    before = {each for each in before if type(each.aval) is not tuple}
    inside = _within(returned, [*before, *arrived])
    reads = [
        node
        for node in reachable(returned, lambda each: () if each in before or each in arrived else each.inputs)
        if node in before
    ]
    zeros = [
        argument
        for argument, gradient in zip(step.inputs, gradients, strict=True)
        if gradient is None and argument not in reads
    ]
    residuals = list(dict.fromkeys([*reads, *zeros]))
    saving = Scope(text, scope, _within([*outputs, *residuals], known), False)
    saving.values.update(zip(arguments, given, strict=True))
    both = [saving.value(each) for each in [*outputs, *residuals]]

    backward = Scope(text, scope, inside, False)
    backward.pulled = backward_code(step)
    own = [Value(each.wanted or f"saved_{place}") for place, each in enumerate(both[len(outputs) :])]
    for place, residual in enumerate(residuals):
        if residual in arguments:
            own[place].wanted = names[list(arguments).index(residual)]
    backward.values.update(zip(residuals, own, strict=True))
    grads = _gradient_names(step)
    incoming = [Value(grads[place] if place < len(grads) else f"grad_{place}") for place in range(len(outputs))]
    position = {place: number for number, place in enumerate(step._values)}
    for place, cotangent in enumerate(cotangents):
        if cotangent is not None and place in position:
            backward.values[cotangent] = incoming[position[place]]
    for each in inside:
        if each.operation is function_result and each.python is step:  # `ctx.y = x.exp()` of what forward returns
            backward.values[each] = backward.value(each.inputs[0])
    made: list[Value] = []
    for argument in arguments:
        total: Value | None = None
        for edge, gradient in zip(step.inputs, gradients, strict=True):
            if edge is argument and gradient is not None:
                value = backward.value(gradient)
                total = value if total is None else backward.add(Step([total, value], _sum)).outputs[0]
        if total is None:
            source = backward.value(argument)
            total = backward.add(Step([source], lambda e: call("jnp.zeros_like", e[0]))).outputs[0]
        made.append(total)
    extra = list(dict.fromkeys(each for part in (saving, backward) for each in part.reached if _varies(scope, each)))
    called = {
        scope.values.get(edge): name for edge, name in zip(step.edges, _argument_names(step, step.edges), strict=True)
    }
    labels = list(names)
    for value in extra:
        labels.append(numbered(safe(value.wanted or called.get(value, "constant")), labels))
    name, single = _lower(step.name.removesuffix("Backward")), len(outputs) == 1

    def defined(part: Scope, wanted: str, params: Sequence[Value], results: Sequence[Value], **more: Any) -> str:
        outside = {outer: _outside(scope, outer) for outer in part.reached if outer not in extra}
        made = function(part, params, results, outside, wanted, **more)
        scope.called.add(made)
        return made

    def parameters(part: Scope) -> list[Value]:
        for each, label in zip(extra, labels[len(names) :], strict=True):
            part._reach(each).wanted = label
        return [*given, *[part.reached[each] for each in extra]]

    before_it = {*text.definitions}
    needed = [place for place, each in enumerate(extra, len(given)) if each in backward.reached]
    own += [parameters(backward)[place] for place in needed]
    made += [backward.add(Step([], _none, free=True)).outputs[0] for _ in extra]
    back = [_together(backward, "residuals", own), _together(backward, "cotangents", incoming)]
    pulled = defined(backward, f"{name}_backward", back, made, single=False)
    left = [*both[len(outputs) :], *[parameters(saving)[place] for place in needed]]
    left = left or saving.add(Step([], _none, free=True)).outputs
    saved = defined(saving, f"{name}_forward", parameters(saving), both[: len(outputs)], single=single, returned=left)
    keys = {known_as: key for key, known_as in text.definitions.items()}
    forward = Scope(text, scope, _within(outputs, known), False)
    long = bool(text.lines[keys[saved]][0])
    if long:  # it is written once
        whole = Step(parameters(forward), lambda e: ast.Subscript(call(saved, *e), ast.Constant(0), ast.Load()))
        results = forward.add(whole).outputs
    else:
        forward.values.update(zip(arguments, given, strict=True))
        results = [forward.value(output) for output in outputs]
    name = defined(forward, name, parameters(forward), results, single=single or long, custom=f"{saved}, {pulled}")
    line = f"{name}.defvjp({saved}, {pulled})"
    if line not in text.definitions:
        for made_as in (saved, pulled):  # they stand below
            if keys[made_as] not in before_it:
                text.definitions[keys[made_as]] = text.definitions.pop(keys[made_as])
        text.definitions[line], text.texts[line], text.lines[line] = name, line, None
    return name, extra


def _together(scope: Scope, name: str, values: Sequence[Value]) -> Value:
    """The parameter that a function unpacks into values; a single value itself."""
    if len(values) == 1:
        return values[0]
    whole = Value(name)
    step = scope.add(Step([whole], lambda e: e[0], [each.wanted for each in values], -1, unpacked=True))
    step.outputs = list(values)
    for each in values:
        each.step = step
    return whole


def _none(_: Sequence[Expression]) -> Expression:
    return ast.Constant(None)


def _varies(scope: Scope, value: Value) -> bool:
    """Whether a value from outside a function is computed or given, or has a name, which a later value may get as well,
    and is not a constant that is written in its place."""
    made = _origin(scope, value)
    return made.step is None or bool(made.step.inputs) or (made.wanted is not None and not made.step.free)


def _origin(scope: Scope, value: Value) -> Value:
    """The value that a value stands for in a scope, in those around it."""
    while value.step is None and scope.outer is not None:
        outer = next((each for each, here in scope.reached.items() if here is value), None)
        if outer is None:
            break
        value, scope = outer, scope.outer
    return value


def _outside(scope: Scope, value: Value) -> Expression:
    """A constant of the program as the function writes it out."""
    step = _origin(scope, value).step
    assert step is not None
    return step.write([])


def _within(outputs: Sequence[Node], given: Sequence[Node]) -> set[Node]:
    known = set(given)
    nodes = reachable(outputs, lambda each: () if each in known else each.inputs)
    return {node for node in nodes if node not in known and (node.inputs or _without_operands(node))}


def _without_operands(node: Node) -> bool:
    """Whether a node is computed from nothing, such as `arange(3)`, and not given: a value from a step before."""
    return node.value is None and node.operation is not None and not node.operation.operands


def _computed(outputs: Sequence[Node], arguments: Sequence[Node]) -> set[Node]:
    """The nodes that the forward computes."""
    return {each for each in _within(outputs, arguments) if each.operation is not None}


def _sum(e: Sequence[Expression]) -> Expression:
    return ast.BinOp(e[0], ast.Add(), e[1])


def backward_code(step: FunctionStep) -> Any:
    """The code of the user's `backward`; None if it is no function of Python's."""
    return getattr(inspect.unwrap(step.ctx._forward_cls.__backward_method__()), "__code__", None)


def _lower(name: str) -> str:
    """`MyCube` as `my_cube`."""
    spaced = "".join(f"_{each.lower()}" if each.isupper() else each for each in name)
    return spaced.lstrip("_")


def _argument_names(step: FunctionStep, arguments: Sequence[Node]) -> list[str]:
    """The names of `forward`'s parameters that are differentiated."""
    own = step.ctx._forward_cls
    parameters = list(inspect.signature(own.forward).parameters.values())
    if not own.__separates_context__():
        parameters = parameters[1:]
    plain = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]
    places = [place for place, aval in enumerate(step.input_avals) if aval is not None]
    named = dict(
        zip(step.edges, [plain[place] if place < len(plain) else f"x{place}" for place in places], strict=False)
    )
    return [safe(named.get(each, f"x{place}")) for place, each in enumerate(arguments)]


def _gradient_names(step: FunctionStep) -> list[str]:
    parameters = list(inspect.signature(step.ctx._forward_cls.__backward_method__()).parameters.values())[1:]
    return [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]


WRITERS["function"] = custom

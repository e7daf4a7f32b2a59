"""A custom `autograd.Function` as `jax.custom_vjp`: its forward, and the backward that the user wrote.

`custom` writes a call of one. The backward is written from the graph that the user's `backward` recorded; if it has not
run, it runs once, on cotangents without a value.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence

from jaxvjp.autograd.function_step import FunctionStep
from jaxvjp.core.record.graph import Node, reachable
from jaxvjp.core.record.modes import tracking
from jaxvjp.core.record.observers import Stepped
from jaxvjp.core.record.record import constant
from jaxvjp.explain.block import Block, Expression, Step, Value
from jaxvjp.explain.literals import Unwritable, call, parsed
from jaxvjp.explain.names import numbered, safe
from jaxvjp.explain.scope import WRITERS, Scope
from jaxvjp.explain.text import NOWHERE
from jaxvjp.ops.identity import example, function_result

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
    text, extra = _definition(scope, step, arguments, outputs, cotangents, gradients)
    name = scope.define(_lower(step.name.removesuffix("Backward")), text)
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
    """The text of a `@jax.custom_vjp` with its forward and backward, where NAME stands for its name; and the values
    that they read besides the arguments: these are computed outside and get no gradient."""
    text = scope.text
    names = _argument_names(step, arguments)
    # What the function around it is given, such as the cotangent of a backward that calls this Function, stays given.
    around = [each for each, value in scope.values.items() if isinstance(value, Value) and value.step is None]
    known = [*arguments, *around]
    forward = Scope(text, scope, _within(outputs, known), False)
    given = [Value(each) for each in names]
    forward.values.update(zip(arguments, given, strict=True))
    results = [forward.value(output) for output in outputs]

    arrived = [each for each in cotangents if each is not None]
    before = {*arguments, *_computed(outputs, known)}
    returned = [each for each in gradients if each is not None]
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
    extra = list(dict.fromkeys(each for part in (forward, saving, backward) for each in part.reached if _varies(each)))
    called = {
        scope.values.get(edge): name for edge, name in zip(step.edges, _argument_names(step, step.edges), strict=True)
    }
    labels = list(names)
    for value in extra:
        labels.append(numbered(safe(value.wanted or called.get(value, "constant")), labels))
    outside = dict(zip(extra, labels[len(names) :], strict=True))
    primal = _body(forward, given, names, outside, results, len(outputs) == 1)
    needed = [each for each in extra if each in backward.reached]
    saved = _body(
        saving, given, names, outside, both, len(outputs) == 1, len(residuals), [outside[each] for each in needed]
    )
    local = [*[safe(each.wanted or "t") for each in own], *[outside[each] for each in needed]]
    heads = [safe(each.wanted or "g") for each in incoming]
    unpack = [f"    {', '.join(local)}{',' if len(local) == 1 else ''} = residuals"] if local else []
    head = heads[0]
    if len(heads) > 1:
        unpack.append(f"    {', '.join(heads)} = cotangents")
        head = "cotangents"
    pulled = _body(backward, [*own, *incoming], [*local[: len(own)], *heads], outside, made, False, nones=len(extra))
    parameters = ", ".join(labels)
    text_of_it = "\n".join(
        [
            "@jax.custom_vjp",
            f"def NAME({parameters}):",
            *primal,
            "",
            "",
            f"def NAME_forward({parameters}):",
            *saved,
            "",
            "",
            f"def NAME_backward(residuals, {head}):",
            *unpack,
            *pulled,
            "",
            "",
            "NAME.defvjp(NAME_forward, NAME_backward)",
        ]
    )
    return text_of_it, extra


def _varies(value: Value) -> bool:
    """Whether a value from outside a function is computed, and not a constant that can be written in its place."""
    return value.step is None or bool(value.step.inputs)


def _body(
    scope: Scope,
    given: Sequence[Value],
    names: Sequence[str],
    outside: Mapping[Value, str],
    results: Sequence[Value],
    single: bool,
    residuals: int = -1,
    more: Sequence[str] = (),
    nones: int = 0,
) -> list[str]:
    known: dict[Value, Expression] = {value: parsed(each) for value, each in zip(given, names, strict=True)}
    for outer, inner in scope.reached.items():
        known[inner] = parsed(outside[outer]) if outer in outside else _outside(outer)
    read = {each.id for text in known.values() for each in ast.walk(text) if isinstance(each, ast.Name)}
    own = {*names, *outside.values()} - {*more}  # these are returned, and so never assigned
    block = Block(scope.steps, results, known, {"jax", "jnp", *scope.called, *read} - own)
    texts = [*[ast.unparse(result) for result in block.results], *more, *["None"] * nones]
    residuals += len(more)
    count = len(texts) if residuals < 0 else len(texts) - residuals
    returned = texts[0] if single else f"({', '.join(texts[:count])}{',' if count == 1 else ''})"
    if residuals >= 0:
        rest = texts[count:]
        returned += f", ({', '.join(rest)}{',' if len(rest) == 1 else ''})"
    return [*[f"    {line.text}" for line in block.lines], f"    return {returned}"]


def _outside(value: Value) -> Expression:
    """A constant of the program as the function reads it: a number is written out, others by name."""
    if value.step is not None and not value.step.inputs and (value.wanted is None or value.step.free):
        return value.step.write([])
    return parsed(safe(value.wanted or "t"))


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


def _lower(name: str) -> str:
    """`MyCube` as `my_cube`."""
    spaced = "".join(f"_{each.lower()}" if each.isupper() else each for each in name)
    return spaced.lstrip("_")


def _argument_names(step: FunctionStep, arguments: Sequence[Node]) -> list[str]:
    """The names of `forward`'s parameters that are differentiated."""
    function = step.ctx._forward_cls
    parameters = list(inspect.signature(function.forward).parameters.values())
    if not function.__separates_context__():
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

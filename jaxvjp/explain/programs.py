"""Writes nodes that carry a whole program: `jax.vjp`, `jax.jvp`, `jax.vmap` and `jax.checkpoint` of a function.

Such nodes come from `create_graph=True`, from transforms, loops and checkpoints; `transformed` writes one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from jaxvjp.core.derive.dependences import Positions
from jaxvjp.core.derive.pullback import pullback
from jaxvjp.core.derive.transforms import jvp, vmap
from jaxvjp.core.record.graph import Node, Number, reachable, recording_order
from jaxvjp.core.record.observers import Transformed
from jaxvjp.core.record.record import signature_of
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.program import Program, called
from jaxvjp.explain.block import Expression, Step, Value
from jaxvjp.explain.calls import FunctionCall
from jaxvjp.explain.literals import Unwritable, batched, call, literal, name, parsed
from jaxvjp.explain.scope import WRITERS, Scope, function, partial
from jaxvjp.explain.story import passed_on
from jaxvjp.explain.text import NOWHERE, Text
from jaxvjp.ops.creation import full
from jaxvjp.ops.identity import example, tuple_item
from jaxvjp.pure.loops import cond_, scan_, while_loop_
from jaxvjp.utils.checkpoint import checkpointed, checkpointed_reentrant

CALLS = {checkpointed: "jax.checkpoint", checkpointed_reentrant: "jax.checkpoint", called: "jax.jit"}
"""Ops that only call a program, and the transform they are written as."""
LAMBDA = 50
"""A function of one or two arguments whose result is written in fewer characters is a `lambda`."""
LOOPS = frozenset([scan_, while_loop_, cond_])


def transformed(scope: Scope, node: Node) -> Any:
    """A transform of a program: `jax.vjp`, `jax.jvp`, `jax.vmap` or `jax.checkpoint` of a function."""
    if node.operation in LOOPS:
        return _loop(scope, node)
    # Results that depend on other operands are nodes of their own: all are of one transform.
    alike = _alike(scope, node)
    if alike[0] not in scope.transforms:
        pulled = [place for each in alike for place in each.static[1]] if node.operation is pullback else ()
        scope.transforms[alike[0]] = _transform(scope, alike[0], tuple(sorted({*pulled})))
    values = scope.transforms[alike[0]]
    if node.operation is not pullback:
        return values
    wrt, outputs = sorted({place for each in alike for place in each.static[1]}), len(node.static[0].outputs)
    return [*values[:outputs], *[values[outputs + wrt.index(each)] for each in node.static[1]]]


def _alike(scope: Scope, node: Node) -> list[Node]:
    """The nodes, of those that are written in a scope, that are of one call of a transform."""

    def key(each: Node) -> Any:
        own = id(each.inputs) if each.where is not NOWHERE else (*map(id, each.inputs),)
        return each.operation, *(each.static[::2] if each.operation is pullback else each.static), own

    if scope.alike is None:
        nodes = scope.text.transforms if scope.inside is None else filter(_program_of, scope.inside)
        scope.alike = {}
        for each in sorted(nodes, key=recording_order):
            scope.alike.setdefault(key(each), []).append(each)
    found = scope.alike.get(key(node), [])
    return found if node in found else [node]


def _transform(scope: Scope, node: Node, wrt: Positions) -> Any:
    """A transform; of a pullback the outputs of its program, and the cotangents of its arguments `wrt`."""
    operation, static = node.operation, node.static
    if operation is vmap and (found := _jacobian(scope, node)) is not None:
        return found
    program: Program = static[0]
    count = len(program.arguments)
    axes: Any = static[1] if operation is vmap else [None] * count
    varied: Positions = () if operation in CALLS or operation is vmap else wrt or static[1]
    kept = [
        type(each) is Number
        or (operation not in CALLS and axes[place] is None and place not in varied and _fixed(each, node))
        for place, each in enumerate(node.inputs[:count])
    ]
    operands = [*node.inputs[:count], *_read_by_user(scope, node, kept, varied)]
    places = _places(scope, program, node, operands, kept, varied)
    function = _function_of(scope, program, node, operands, places=places)
    leaves = [scope.value(operands[place]) for place in places]
    rest = [scope.value(operand) for operand in node.inputs[count:]]
    order, where = node.serial, node.where
    if operation in CALLS:
        wrapper = CALLS[operation]
        options = {}
        if len(static) > 1 and isinstance(static[1], str):
            options["policy"] = name(f"jax.checkpoint_policies.{static[1]}")
        result = Step(
            leaves,
            lambda e: call(call(wrapper, parsed(function), **options), *e),
            [None] * len(node.aval),
            order,
            where,
            unpacked=len(node.aval) > 1,
        )
        return scope.add(result).outputs
    if operation is vmap:
        _, in_axes, out_axes, _, _ = static
        in_axes = tuple([in_axes[place] if place < count else None for place in places])
        axes = {"in_axes": literal(in_axes)} if set(in_axes) != {0} else {}
        axes.update(
            {"out_axes": literal(out_axes if len(out_axes) > 1 else out_axes[0])} if set(out_axes) != {0} else {}
        )
        mapped = call("jax.vmap", parsed(function), **axes)
        result = Step(
            leaves, lambda e: call(mapped, *e), [None] * len(node.aval), order, where, unpacked=len(node.aval) > 1
        )
        return scope.add(result).outputs
    wrt = tuple(sorted(varied, key=places.index))  # in the order of the function's parameters
    turned = [varied.index(each) for each in wrt]
    outputs = len(program.outputs)
    known = scope.text.story.transformed.get(node)
    computed = () if known is None else known.outputs

    def partly(expressions: Sequence[Expression]) -> tuple[Expression, list[Expression]]:
        """The function of only the leaves `wrt`, and those leaves."""
        chosen = [expressions[places.index(position)] for position in wrt]
        wanted = [_called(scope, cast(Node, operands[each]), place, len(wrt)) for place, each in enumerate(wrt)]
        return partial(function, expressions[: len(places)], [places.index(each) for each in wrt], wanted), chosen

    def value_only(expressions: Sequence[Expression]) -> Expression:
        return call(parsed(function), *expressions[: len(places)])

    if operation is jvp:

        def pushed(e: Sequence[Expression]) -> Expression:
            part, chosen = partly(e)
            tangents = ast.Tuple([e[len(places) + each] for each in turned], ast.Load())
            return call("jax.jvp", part, ast.Tuple(chosen, ast.Load()), tangents)

        def tangents_only(e: Sequence[Expression]) -> Expression:
            return ast.Subscript(pushed(e), ast.Constant(1), ast.Load())

        result = Step([*leaves, *rest], pushed, [None] * 2 * outputs, order, where)
        result.grouped = [(0, outputs), (outputs, 2 * outputs)] if outputs > 1 else []
        result.primal, result.shorter, result.values = (value_only, computed), tangents_only, outputs
        return scope.add(result).outputs[outputs:]
    if operation is pullback and outputs == 1 and _is_one(node.inputs[count:]) and not static[2]:
        own = tuple([places.index(position) for position in wrt])
        options = {} if own == (0,) else {"argnums": literal(own[0] if len(own) == 1 else own)}

        def both(e: Sequence[Expression]) -> Expression:
            return call(call("jax.value_and_grad", parsed(function), **options), *e)

        step = Step(leaves, both, [None] * (1 + len(wrt)), order, where, unpacked=True)
        step.grouped = [(1, 1 + len(wrt))] if len(wrt) > 1 else []
        step.primal = value_only, computed
        step.shorter = lambda e: call(call("jax.grad", parsed(function), **options), *e)
        value, *gradients = scope.add(step).outputs
        return [value, *[gradients[turned.index(each)] for each in range(len(wrt))]]
    if operation is pullback:

        def taken(e: Sequence[Expression]) -> Expression:
            part, chosen = partly(e)
            return call("jax.vjp", part, *chosen)

        vjp = Step(leaves, taken, [*[None] * outputs, "pullback"], order, where, unpacked=True)
        vjp.grouped = [] if outputs == 1 else [(0, outputs)]
        vjp.primal = value_only, computed
        scope.add(vjp)

        def pulled(e: Sequence[Expression]) -> Expression:
            given = [
                call("jnp.conj", each) if aval.dtype.is_complex else each
                for each, aval in zip(e[1:], [operand.aval for operand in node.inputs[count:]], strict=True)
            ]
            v = given[0] if not vjp.grouped else ast.Tuple(given, ast.Load())
            return call(batched(e[0], static[2]), v)

        result = Step([vjp.outputs[-1], *rest], pulled, [None] * len(wrt), order + 0.1, where, unpacked=True)
        scope.add(result)
        gradients = [
            scope.conjugated(each, order + 0.2) if program.arguments[place].dtype.is_complex else each
            for each, place in zip(result.outputs, wrt, strict=True)
        ]
        return [*vjp.outputs[:-1], *[gradients[turned.index(each)] for each in range(len(wrt))]]
    raise Unwritable(f"{operation} is written nowhere")


def _is_one(given: Sequence[Any]) -> bool:
    """Whether a pullback is called with the number 1."""
    (v,) = given if len(given) == 1 else (None,)
    if type(v) is not Node or v.aval.shape or v.aval.dtype.is_complex:
        return False
    if v.operation is full:
        return type(v.inputs[0]) is Number and v.inputs[0].value == 1
    return v.operation is None and v.value is not None and bool(np.asarray(v.value) == 1)


def _loop(scope: Scope, node: Node) -> Any:
    """A `torch.scan`, `while_loop` or `cond`, as JAX's function of what its bodies recorded."""
    assert node.operation is not None
    static = dict(zip(node.operation.static_names, node.static, strict=True))
    first = 1 if node.operation is cond_ else 0  # `pred` is no argument of the branches
    inputs = node.inputs[first:]
    bodies: list[tuple[str, list[int]]] = []
    for key, its_places in (("program", "places"), ("body", "body_places"), ("other", "other_places")):
        if key in static:
            operands = [inputs[place] for place in static[its_places]]
            arrays = [
                place for place, each in zip(static[its_places], operands, strict=True) if type(each) is not Number
            ]
            bodies.append((_function_of(scope, static[key], node, operands, single=False), arrays))
    used = [place for place, each in enumerate(inputs) if type(each) is not Number]
    values = [scope.value(each) for each in [*node.inputs[:first], *[inputs[place] for place in used]]]

    def write(e: Sequence[Expression]) -> Expression:
        texts = dict(zip(used, map(ast.unparse, e[first:]), strict=True))
        carried, scanned = static.get("carried", 0), static.get("scanned", 0)
        carry, xs = _listed(texts[each] for each in range(carried)), [texts[carried + each] for each in range(scanned)]
        names = {each: f"carry[{each}]" for each in range(carried)}
        names |= {carried + each: f"x[{each}]" for each in range(scanned)}
        called = [body if body.isidentifier() else f"({body})" for body, _ in bodies]
        given = [", ".join(names.get(each, texts[each]) for each in reads) for _, reads in bodies]
        calls = [f"{body}({own})" for body, own in zip(called, given, strict=True)]
        if node.operation is scan_:
            step = f"lambda carry, x: (lambda r: (r[:{carried}], r[{carried}:]))({calls[0]})"
            backwards = ", reverse=True" if static["reverse"] else ""
            return parsed(f"jax.tree.leaves(jax.lax.scan({step}, {carry}, {_listed(xs)}{backwards}))")
        if node.operation is cond_:
            return parsed(f"jax.lax.cond({ast.unparse(e[0])}, lambda: {calls[0]}, lambda: {calls[1]})")
        return parsed(f"jax.lax.while_loop(lambda carry: {calls[0]}[0], lambda carry: {calls[1]}, {carry})")

    result = Step(values, write, [None] * len(node.aval), node.serial, node.where, unpacked=True)
    return scope.add(result).outputs


def _listed(texts: Iterable[str]) -> str:
    """A tuple as text."""
    return f"({''.join(text + ', ' for text in texts).rstrip()})"


def _fixed(node: Any, transform: Node) -> bool:
    """Whether an operand is a constant that a transform made, such as the v of a gradient, and no data of the user's,
    which another line made."""
    made = reachable([node], lambda each: [source for source in each.inputs if type(source) is Node])
    if any(each.operation is not None and each.operation.operands and not each.inputs for each in made):
        return False  # it is cut off: a step of a port is given it
    known = all(each.operation is not None or each.value is not None for each in made)
    known = known and all(each.operation or each.where in (transform.where, NOWHERE, None) for each in made)
    return known and not any(each.requires_grad or each.leaf is not None or each.tensor is not None for each in made)


def _one_hots(node: Any, transform: Node) -> bool:
    """Whether an operand has all one-hot vectors as its rows."""
    if type(node) is not Node or not _fixed(node, transform):
        return False
    evaluate([node])
    rows = np.asarray(node.value).reshape(node.aval.shape[0], -1)
    return bool(np.array_equal(rows, np.eye(len(rows))))


def _jacobian(scope: Scope, node: Node) -> list[Value] | None:
    """`jax.jacrev(f)(x)` or `jax.jacfwd(f)(x)`: a pullback or pushforward of all one-hot vectors; None for others."""
    program, in_axes, out_axes, *_ = node.static
    leaves, outputs = _graph_of(scope, program, node, node.inputs)
    sources: list[Any] = [each.inputs[0] if each.operation is tuple_item else None for each in outputs]
    source = sources[0]
    if type(source) is not Node or source.operation not in (pullback, jvp):
        return None
    inner, *rest = source.static
    *arguments, v = source.inputs
    reverse = source.operation is pullback
    mapped = [each for each, axis in zip(leaves, in_axes, strict=True) if axis is not None]
    if len(inner.outputs) != 1 or mapped != [v] or not _one_hots(node.inputs[leaves.index(v)], node):
        return None
    if v in arguments or not all(type(argument) is Number or argument in leaves for argument in arguments):
        return None
    if reverse:
        if not all(each.static[::2] == source.static[::2] and each.inputs == source.inputs for each in sources):
            return None
        wrt = [each.static[1][output.static[0] - 1] for each, output in zip(sources, outputs, strict=True)]
    else:
        wrt = [*rest[0]]
    given = [argument if type(argument) is Number else node.inputs[leaves.index(argument)] for argument in arguments]
    kept = [type(each) is Number or (place not in wrt and _fixed(each, node)) for place, each in enumerate(given)]
    given += _read_by_user(scope, source, kept, wrt)
    places = _places(scope, inner, source, given, kept, wrt)
    numbers = sorted([places.index(each) for each in wrt])
    argnums = {"argnums": literal(tuple(numbers) if len(wrt) > 1 else numbers[0])} if numbers != [0] else {}
    if not reverse and (len(wrt) > 1 or len(arguments[wrt[0]].aval.shape) != 1):
        return None
    if reverse and len(v.aval.shape) > 1:
        return None
    if any(axis != (0 if reverse else len(each.shape) - 1) for axis, each in zip(out_axes, node.aval, strict=True)):
        return None
    function = _function_of(scope, inner, source, given, True, places)
    transform = "jax.jacfwd" if not reverse else "jax.jacrev" if v.aval.shape else "jax.grad"

    inside = parsed(function)
    of = inside.args[:1] if isinstance(inside, ast.Call) else []
    if transform == "jax.jacfwd" and ast.unparse(inside) == ast.unparse(call("jax.grad", *of, **argnums)):
        transform, function = "jax.hessian", ast.unparse(of[0])

    def write(e: Sequence[Expression]) -> Expression:
        return call(call(transform, parsed(function), **argnums), *e)

    leaves = [scope.value(given[each]) for each in places]
    made = scope.add(Step(leaves, write, [None] * len(wrt), node.serial, node.where))
    values = [made.outputs[numbers.index(places.index(each))] for each in wrt]
    for place, value in enumerate(values if transform == "jax.grad" else ()):
        row = Step([value], lambda e: ast.Subscript(e[0], ast.Constant(None), ast.Load()), order=node.serial)
        values[place] = scope.add(row).outputs[0]
        scope.only_rows[values[place]] = value
    return values


def _graph_of(scope: Scope, program: Program, node: Node, operands: Sequence[Any]) -> tuple[list[Any], Sequence[Any]]:
    """A program as nodes: its leaves and what else is among the `operands`, and its outputs."""
    known = scope.text.story.transformed.get(node)
    if known is None:
        return thawed(program, operands)
    return [*known.arguments, *operands[len(known.arguments) :]], known.outputs


def _function_of(
    scope: Scope,
    program: Program,
    node: Node,
    operands: Sequence[Any],
    single: bool | None = None,
    places: Sequence[int] | None = None,
) -> str:
    """Writes a program as a function of its leaves that are arrays; returns the function's name. Where `single` is
    False it returns a tuple also of one result. Operands that are at none of the `places` are written inside."""
    if places is None:
        places = [place for place, operand in enumerate(operands) if type(operand) is not Number]
    kept = [place not in places for place in range(len(operands))]
    leaves, outputs = _graph_of(scope, program, node, operands)
    if scope.text.story.transformed.get(node) is None:
        leaves, outputs = thawed(program, operands, kept)
    arrays = [leaves[place] for place in places]
    inside = set(reachable(outputs, lambda each: () if each in arrays else each.inputs)) - set(arrays)
    inner = Scope(scope.text, scope, inside, node.operation not in (vmap, jvp))
    inner.transform = scope.transform if scope.transform and node.where in (None, NOWHERE) else node
    of_user = [] if any(map(_program_of, inside)) else _calls_of(scope, node)
    wanted = of_user[0].name if of_user else "f"
    single = len(outputs) == 1 if single is None else single
    named = _parameters(scope, node, leaves, outputs)
    params = [Value(named.get(each) or _called(inner, each, place, len(arrays))) for place, each in enumerate(arrays)]
    inner.values.update(zip(arrays, params, strict=True))
    results = [inner.value(output) for output in outputs]
    defined = {*scope.text.definitions.values()}
    made = function(inner, params, results, {}, wanted, single)
    scope.called.add(made)
    return (
        made
        if (not single and len(results) == 1) or made in defined
        else _without_wrapper(scope.text, made, not of_user)
    )


def _places(
    scope: Scope, program: Program, node: Node, operands: Sequence[Any], kept: Sequence[bool], varied: Sequence[int]
) -> Sequence[int]:
    """Where the operands are that the function of a program takes, in the order of the user's parameters; where these
    are unknown, first those that are `varied`."""
    leaves, outputs = _graph_of(scope, program, node, operands)
    order = [*_parameters(scope, node, leaves, outputs)]

    def rank(place: int) -> int:
        return order.index(leaves[place]) if leaves[place] in order else len(order) + (place not in varied)

    return sorted([place for place in range(len(operands)) if not kept[place]], key=rank)


def _read_by_user(scope: Scope, node: Node, kept: list[bool], varied: Sequence[int]) -> list[Node]:
    """What a transformed function of the user's reads besides the arguments of the program: an argument that is
    computed in that function, `x.unsqueeze(0)`, is written in it (is `kept`), and what that is computed of is read."""
    known = scope.text.story.transformed.get(node)
    if known is None:
        return []
    last = _recorded_last(scope, known)
    calls = [each for each in _calls_of(scope, node, last) if each.first < last < each.last]
    own = [each for each, given in zip(known.arguments, node.inputs, strict=False) if each is not given]
    own += [known.arguments[place] for place in varied]
    begun = max([each.serial for each in own], default=1 << 62)  # of a call that the transform is within it is later
    of_user = next((each for each in calls if each.where == node.where or each.first > begun), None)
    if of_user is None:
        return []
    found: dict[Node, None] = {}
    for place, argument in enumerate(known.arguments):
        if type(argument) is not Node or kept[place] or place in varied or argument is not node.inputs[place]:
            continue
        if not of_user.first < argument.serial < of_user.last or not argument.inputs:
            continue

        def sources(each: Any, first: float = of_user.first) -> Sequence[Any]:
            return each.inputs if type(each) is Node and each.serial > first and each not in known.arguments else ()

        behind = reachable([each for each in argument.inputs if type(each) is Node], sources)
        made = [argument, *[each for each in behind if sources(each)]]
        if any(each.python is not None or each.operation is example for each in made):
            continue
        kept[place] = True
        found.update({each: None for each in behind if not sources(each) and each not in known.arguments})
    kept += [False] * len(found)
    return [*found]


def _recorded_last(scope: Scope, known: Transformed) -> int:
    """When the last operation was recorded of what is transformed: of `grad(grad(f))` that of f."""
    while True:
        given: set[Any] = {*known.arguments}
        nodes = reachable(known.outputs, lambda each, given=given: () if each in given else each.inputs)  # type: ignore[misc]
        inner = [each for each in nodes if each in scope.text.story.transformed and each not in given]
        if not inner:
            return int(max([each.serial for each in known.outputs]))
        known = scope.text.story.transformed[inner[-1]]


def _parameters(scope: Scope, node: Node, leaves: Sequence[Any], outputs: Sequence[Node]) -> dict[Node, str]:
    """What the user's function that is transformed calls its tensors, in the order of its parameters."""
    known, given = scope.text.story.transformed, dict[Any, Any]()

    def behind(each: Any) -> Sequence[Any]:
        inner = known.get(each)
        if inner is None or each in leaves:
            return () if each in leaves else each.inputs
        passed = zip(inner.arguments, each.inputs, strict=False)
        given.update((own, outer) for own, outer in passed if own is not outer)
        return [*each.inputs, *inner.outputs]

    inside = {each.serial: each for each in [*reachable(outputs, behind), *leaves] if type(each) is Node}
    found: dict[Node, str] = {}
    for made in _calls_of(scope, node, max(inside)):
        for serial, own in () if found else made.names.items():
            each = inside.get(serial)
            while type(each) is Node:
                *passed, last = passed_on(each)
                found.update((one, own) for one in (*passed, last) if one in leaves)
                each = given.get(last)
    return found


def _program_of(node: Any) -> bool:
    return type(node) is Node and bool(node.static) and type(node.static[0]) is Program


def _calls_of(scope: Scope, node: Node, during: float = 0) -> list[FunctionCall]:
    """The calls of the user's functions that a transform may be of, the likeliest first: the last that its line has
    made, or that of the transform around it, and those that were under way `during` the recording of a node."""
    calls, found = scope.text.story.calls, list[FunctionCall]()
    for each in (node, scope.transform):
        found += [one for one in calls if each and one.where == each.where and one.last < each.serial][-1:]
    if (known := scope.text.story.transformed.get(node)) is not None:  # or that of which another line pulls back
        given = {each.serial for each in known.arguments if type(each) is Node}
        returned = [one for each in known.outputs for one in scope.text.returned.get(each.serial, ())]
        found += [one for one in returned if given <= {*one.names}]
    return found + [each for each in calls if each.first < during < each.last]


def _without_wrapper(text: Text, called: str, unnamed: bool) -> str:
    """A function's name; of one that only calls another with its arguments that other, `jax.grad(f)`; of a short one
    that is `unnamed`, as no function of the user's is it, a `lambda`."""
    key = next(key for key, name in text.definitions.items() if name == called)
    body, returned = [*text.lines[key][0]], text.lines[key][1]
    head = text.texts[key].removeprefix("def NAME").removesuffix(":")
    short = (
        unnamed
        and called.partition("_")[0] == "f"
        and head.count(",") < 2
        and not returned.sources
        and len(returned.text) < LAMBDA
    )
    if len(body) == 1 and body[0].text.startswith(f"{returned.text.removeprefix('return ')} = "):
        returned = body.pop()
        returned = returned._replace(text=f"return {returned.text.partition(' = ')[2]}")
    if body or not (short or returned.text.endswith(f"){head}")):
        return called
    del text.definitions[key], text.texts[key], text.lines[key]
    text.functions.discard(called)
    result = ast.unparse(parsed(returned.text.removeprefix("return ")))  # a tuple in parentheses
    return str(result.removesuffix(head)) if result.endswith(f"){head}") else f"lambda {head[1:-1]}: {result}"


def _called(scope: Scope, leaf: Node, place: int, count: int) -> str:
    """The name of a parameter."""
    names = map(scope.wanted, passed_on(leaf))
    return next(filter(None, names), f"x{place}" if count > 1 else "x")


def thawed(
    program: Program, operands: Sequence[Any], kept: Sequence[bool] | None = None
) -> tuple[list[Any], list[Any]]:
    """A program turned into nodes: its leaves, with the Python numbers and what else is `kept` from `operands`, and its
    outputs."""
    kept = [type(operand) is Number for operand in operands] if kept is None else kept
    leaves = [
        each if own else Node(None, (), (), aval, where=NOWHERE)
        for aval, each, own in zip(program.arguments, operands, kept, strict=True)
    ]
    nodes: list[Node] = []
    for operation, static, reads in program.equations:
        inputs = tuple([nodes[each] if each >= 0 else leaves[-1 - each] for each in reads])
        avals: Any = tuple([operand.aval for operand in inputs])
        aval: Any = avals[0][static[0]] if operation is tuple_item else signature_of(operation, static, avals).aval
        nodes.append(Node(operation, static, inputs, aval, where=NOWHERE))
    return leaves, [nodes[output] if output >= 0 else leaves[-1 - output] for output in program.outputs]


WRITERS["program"] = transformed

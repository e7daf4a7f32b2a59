"""Writes nodes that carry a whole program: `jax.vjp`, `jax.jvp`, `jax.vmap` and `jax.checkpoint` of a function.

Such nodes come from `create_graph=True`, from transforms and from checkpoints; `transformed` writes one.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, cast

from jaxvjp.core.derive.pullback import pullback
from jaxvjp.core.derive.transforms import jvp, vmap
from jaxvjp.core.record.graph import Node, Number, reachable
from jaxvjp.core.record.record import signature_of
from jaxvjp.core.run.program import Program
from jaxvjp.explain.block import Expression, Step, Value
from jaxvjp.explain.literals import Unwritable, batched, call, literal, name
from jaxvjp.explain.names import numbered
from jaxvjp.explain.scope import WRITERS, Scope, function
from jaxvjp.explain.text import NOWHERE
from jaxvjp.ops.identity import item
from jaxvjp.staging.graphs import compiled_function
from jaxvjp.utils.checkpoint import checkpointed, checkpointed_reentrant

CALLS = {checkpointed: "jax.checkpoint", checkpointed_reentrant: "jax.checkpoint", compiled_function: "jax.jit"}
"""Ops that only call a program, and the transform they are written as."""


def transformed(scope: Scope, node: Node) -> Any:
    """A transform of a program: `jax.vjp`, `jax.jvp`, `jax.vmap` or `jax.checkpoint` of a function."""
    operation, static = node.operation, node.static
    program: Program = static[0]
    count = len(program.arguments)
    function = _function_of(scope, program, node)
    places = [place for place, each in enumerate(node.inputs[:count]) if type(each) is not Number]
    leaves = [scope.value(node.inputs[place]) for place in places]
    rest = [scope.value(each) for each in node.inputs[count:]]
    order, where = node.serial, node.where
    if operation in CALLS:
        wrapper = CALLS[operation]
        result = Step(
            leaves,
            lambda e: call(call(wrapper, name(function)), *e),
            [None] * len(node.aval),
            order,
            where,
            unpacked=len(node.aval) > 1,
        )
        return scope.add(result).outputs
    if operation is vmap:
        _, in_axes, out_axes, _, _ = static
        in_axes = tuple([in_axes[place] for place in places])
        axes = {"in_axes": literal(in_axes)} if set(in_axes) != {0} else {}
        axes.update(
            {"out_axes": literal(out_axes if len(out_axes) > 1 else out_axes[0])} if set(out_axes) != {0} else {}
        )
        mapped = call("jax.vmap", name(function), **axes)
        result = Step(
            leaves, lambda e: call(mapped, *e), [None] * len(node.aval), order, where, unpacked=len(node.aval) > 1
        )
        return scope.add(result).outputs
    wrt = static[1]
    outputs = len(program.outputs)

    def partly(expressions: Sequence[Expression]) -> tuple[Expression, list[Expression]]:
        """The function of only the leaves `wrt`, and those leaves."""
        chosen = [expressions[places.index(each)] for each in wrt]
        if len(wrt) == len(places):
            return name(function), chosen
        inner = list(expressions[: len(places)])
        others = [text for place, text in zip(places, inner, strict=True) if place not in wrt]
        taken = [each.id for text in others for each in ast.walk(text) if isinstance(each, ast.Name)]
        params: list[str] = []
        for place, each in enumerate(wrt):
            params.append(numbered(_called(scope, node.inputs[each], place, len(wrt)), [*taken, *params]))
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

        result = Step([*leaves, *rest], pushed, [None] * len(node.aval), order, where, unpacked=len(node.aval) > 1)
        return scope.add(result).outputs
    if operation is pullback:

        def taken(e: Sequence[Expression]) -> Expression:
            part, chosen = partly(e)
            return call("jax.vjp", part, *chosen)

        vjp = Step(leaves, taken, [*[None] * outputs, "pullback"], order, where, unpacked=True)
        vjp.grouped = [] if outputs == 1 else [(0, outputs)]
        scope.add(vjp)

        def pulled(e: Sequence[Expression]) -> Expression:
            given = [
                call("jnp.conj", each) if aval.dtype.is_complex else each
                for each, aval in zip(e[1:], [each.aval for each in node.inputs[count:]], strict=True)
            ]
            v = given[0] if not vjp.grouped else ast.Tuple(given, ast.Load())
            return call(batched(e[0], static[2]), v)

        result = Step([vjp.outputs[-1], *rest], pulled, [None] * len(wrt), order + 0.1, where, unpacked=True)
        scope.add(result)
        pulled_avals = [program.arguments[place] for place in wrt]
        gradients = [
            scope.conjugated(each, order + 0.2) if aval.dtype.is_complex else each
            for each, aval in zip(result.outputs, pulled_avals, strict=True)
        ]
        return [*vjp.outputs[:-1], *gradients]
    raise Unwritable(f"{operation} is written nowhere")


def _function_of(scope: Scope, program: Program, node: Node) -> str:
    """Writes a program as a function of its leaves that are arrays; returns the function's name."""
    known = scope.text.story.pulled.get(node)
    operands = node.inputs[: len(program.arguments)]
    leaves, outputs = thawed(program, operands) if known is None else (list(operands), known)
    arrays = [each for each in leaves if type(each) is not Number]
    inside = set(reachable(outputs, lambda each: () if each in arrays else each.inputs)) - set(arrays)
    inner = Scope(scope.text, scope, inside)
    params = [Value(_called(scope, cast(Node, each), place, len(arrays))) for place, each in enumerate(arrays)]
    inner.values.update(zip(arrays, params, strict=True))
    results = [inner.value(each) for each in outputs]
    return function(inner, params, results, {}, "f", single=len(results) == 1)


def _called(scope: Scope, leaf: Node, place: int, count: int) -> str:
    """The name of a parameter."""
    return scope.text.name_of(leaf) or (f"x{place}" if count > 1 else "x")


def thawed(program: Program, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """A program turned into nodes: its leaves, with the Python numbers from `operands`, and its outputs."""
    leaves = [
        each if type(each) is Number else Node(None, (), (), aval, where=NOWHERE)
        for aval, each in zip(program.arguments, operands, strict=True)
    ]
    nodes: list[Node] = []
    for operation, static, reads in program.equations:
        inputs = tuple([nodes[each] if each >= 0 else leaves[-1 - each] for each in reads])
        avals: Any = tuple([each.aval for each in inputs])
        aval: Any = avals[0][static[0]] if operation is item else signature_of(operation, static, avals).aval
        nodes.append(Node(operation, static, inputs, aval, where=NOWHERE))
    return leaves, [nodes[each] if each >= 0 else leaves[-1 - each] for each in program.outputs]


WRITERS["program"] = transformed

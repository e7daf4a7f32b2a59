"""Writes an operation whose saved operands a hook replaced, as a `jax.custom_vjp` (`changed`).

Its value is computed from the operands; its residuals are what `unpack_hook` returned, and the pullback is taken there.
"""

from __future__ import annotations

import ast

from jaxvjp.core.record.graph import Node, gradient_edges, reachable
from jaxvjp.explain.block import Block, Step, Value
from jaxvjp.explain.literals import Unwritable, call, parsed
from jaxvjp.explain.names import numbered, safe
from jaxvjp.explain.scope import WRITERS, Scope


def changed(scope: Scope, node: Node) -> Value | list[Value]:
    """The value of an operation, written as a call of a `jax.custom_vjp`."""
    operation, given_back = node.operation, scope.text.changed[node]
    assert operation is not None
    walks = [event.what for event in scope.text.story.passes]
    if any(walk.create_graph and node in reachable(walk.roots, gradient_edges) for walk in walks):
        raise Unwritable(
            f"a saved-tensor hook changed what {node.gradient_name} is differentiated at, and so the gradient's own "
            "gradient, which cannot be written\nWithout create_graph=True it can."
        )
    operands = list(dict.fromkeys(operand for operand in node.inputs if type(operand) is Node))
    names: list[str] = []
    for each in operands:
        names.append(numbered(safe(scope.text.name_of(each) or "x"), names))
    kept = [operand for operand in operands if operand in given_back]
    saved = [f"{names[operands.index(each)]}_saved" for each in kept]

    inner = Scope(scope.text, scope, {node}, False)
    values = [Value(each) for each in names]
    inner.values.update(zip(operands, values, strict=True))
    made = inner.value(node)
    results = made if isinstance(made, list) else [made]
    for each in results:
        each.wanted = None  # the name belongs to the value outside
    block = Block(inner.steps, results, {value: parsed(each) for value, each in zip(values, names, strict=True)}, saved)
    returned = ", ".join(ast.unparse(result) for result in block.results)
    residuals = [saved[kept.index(each)] if each in kept else name for each, name in zip(operands, names, strict=True)]
    head, everything = ", ".join(names), ", ".join([*names, *saved])
    text = f"""\
def NAME_itself({head}):
    BODY
    return {f"({returned},)" if isinstance(made, list) and len(made) == 1 else returned}


@jax.custom_vjp
def NAME({everything}):
    return NAME_itself({head})


def NAME_forward({everything}):
    return NAME_itself({head}), ({", ".join(residuals)}{"," * (len(residuals) == 1)})


def NAME_backward(residuals, gradient):
    _, pullback = jax.vjp(NAME_itself, *residuals)
    return (*pullback(gradient){", None" * len(saved)})


NAME.defvjp(NAME_forward, NAME_backward)"""
    body = "\n    ".join(line.text for line in block.lines)
    text = text.replace("    BODY", f"    {body}") if body else text.replace("    BODY\n", "")
    called = scope.define(operation.torch_name, text)
    inputs = [scope.value(each) for each in [*operands, *[given_back[each] for each in kept]]]
    wanted = [None] * len(node.aval) if isinstance(node.aval, tuple) else [scope.text.name_of(node)]
    step = Step(inputs, lambda e: call(called, *e), wanted, node.serial, node.where, unpacked=isinstance(made, list))
    step.note = "its saved operands came back changed"
    scope.add(step)
    return step.outputs if isinstance(made, list) else step.outputs[0]


WRITERS["saved"] = changed

"""Writes a call of a wrapped JAX function (`torch.wrap`) as what it is: `jax.nn.gelu(x, approximate=False)`.

A function that is not one of JAX's is handed over to the program under its own name.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from jaxvjp.core.record.graph import Node
from jaxvjp.explain.block import Expression
from jaxvjp.explain.literals import call, literal, name
from jaxvjp.explain.names import numbered
from jaxvjp.explain.recorded_functions import path_of
from jaxvjp.explain.scope import WRITERS, Scope
from jaxvjp.pure.wrapping import ARRAY, Call, name_of


def wrapped(scope: Scope, node: Node) -> Any:
    """The value of a wrapped function's result, or a list of them."""
    called: Call = node.static[0]
    several = type(node.aval) is tuple

    def write(expressions: Sequence[Expression]) -> Expression:
        places = called.places
        args, kwargs = called.arguments([_given(each, to) for each, to in zip(expressions, places, strict=True)])
        named = {key: _spelled(scope, each) for key, each in kwargs.items()}
        written = call(_callee(scope, called.function), *[_spelled(scope, argument) for argument in args], **named)
        return call("jax.tree.leaves", written) if several else written

    write([ast.Name("x", ast.Load())] * len(node.inputs))  # raises Unwritable now, not later
    names = [None] * len(node.aval) if several else [scope.text.name_of(node)]
    return scope._finished(node, [scope.value(operand) for operand in node.inputs], write, names, several)


def _given(expression: Expression, place: Any) -> Expression:
    if place is ARRAY:
        return expression
    return call("jax.random.wrap_key_data", expression, impl=literal(place.kind))


def _callee(scope: Scope, function: Any) -> Expression:
    """The name of a function in the program."""
    path = path_of(function)
    if path is not None:
        return name(path)
    known = scope.text.handed_over
    own = next((each for each, value in known.items() if value is function), None)
    if own is None:
        own = numbered(name_of(function), {*known, *scope.text.taken, *scope.text.definitions, "jax", "jnp"})
        known[own] = function
    return name(own)


def _spelled(scope: Scope, value: Any) -> Expression:
    if isinstance(value, ast.expr):
        return value
    if type(value) in (tuple, list):
        make: Any = ast.Tuple if type(value) is tuple else ast.List
        return make([_spelled(scope, each) for each in value], ast.Load())  # type: ignore[no-any-return]
    if type(value) is dict:
        return ast.Dict([literal(each) for each in value], [_spelled(scope, each) for each in value.values()])
    return _callee(scope, value) if callable(value) and not isinstance(value, type) else literal(value)


WRITERS["call"] = wrapped

"""Writes a call of a wrapped JAX function (`torch.wrap`) as what it is: `jax.nn.gelu(x, approximate=False)`.

One of an installed library, such as optax, is imported. A function of the user's is copied into the program, if it
reads nothing but its arguments, `jax` and `jnp`. Any other is handed over to the program under its own name.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from types import CodeType
from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.core.record.graph import Node
from jaxvjp.explain.block import Expression
from jaxvjp.explain.calls import INSTALLED
from jaxvjp.explain.literals import call, literal, name
from jaxvjp.explain.names import numbered
from jaxvjp.explain.recorded_functions import path_of
from jaxvjp.explain.scope import WRITERS, Scope
from jaxvjp.pure.wrapping import ARRAY, Call, name_of

READ = {"jax": jax, "jnp": jnp}
"""What is read in a function that a program has a copy of, as all programs have it."""


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
    library = str(getattr(function, "__module__", "")).partition(".")[0]
    called = getattr(function, "__name__", "")
    if installed(function) and getattr(sys.modules.get(library), called, None) is function:
        scope.text.imports[f"import {library}"] = None
        return name(f"{library}.{called}")
    source = _source_of(function)
    if source is not None:
        return name(scope.text.define(*source))
    known = scope.text.handed_over
    own = next((each for each, value in known.items() if value is function), None)
    if own is None:
        own = numbered(name_of(function), {*known, *scope.text.taken, *scope.text.definitions, "jax", "jnp"})
        known[own] = function
    return name(own)


def installed(function: Any) -> bool:
    """Whether a function is one of an installed library, such as optax."""
    return inspect.isfunction(function) and function.__code__.co_filename.startswith(INSTALLED)


def _names_of(code: CodeType) -> set[str]:
    """The names that code reads, and the functions within it."""
    inner = [_names_of(each) for each in code.co_consts if isinstance(each, CodeType)]
    return {*code.co_names}.union(*inner)


def _source_of(function: Any) -> tuple[str, str] | None:
    """The name and the text, for `Text.define`, of a function that reads only its arguments, `jax` and `jnp`."""
    if not inspect.isfunction(function) or function.__closure__ or hasattr(function, "__wrapped__"):
        return None
    given = function.__globals__
    if any(given[each] is not READ.get(each) for each in _names_of(function.__code__) if each in given):
        return None
    found: list[Any] = []
    with suppress(OSError, SyntaxError):
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        every = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.Lambda)]
        within = {inner for each in every for inner in ast.walk(each) if inner is not each}
        found = [each for each in every if each not in within]
    if len(found) != 1:  # which of them it is cannot be told
        return None
    (made,) = found
    if not all(isinstance(each, ast.Constant | None) for each in (*made.args.defaults, *made.args.kw_defaults)):
        return None
    if isinstance(made, ast.FunctionDef):
        wanted, made.name, made.decorator_list, made.returns = made.name, "NAME", [], None
        for each in ast.walk(made):
            if isinstance(each, ast.arg):
                each.annotation = None
        return wanted, ast.unparse(made)
    first: Any = tree.body[0]  # `two = torch.wrap(lambda x: 2 * x)`
    named = (
        isinstance(first, ast.Assign)
        and isinstance(first.targets[0], ast.Name)
        and made in getattr(first.value, "args", ())
    )
    return first.targets[0].id if named else "function", f"NAME = {ast.unparse(made)}"


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

"""Writes a call of a wrapped JAX function (`torch.wrap`) as what it is: `jax.nn.gelu(x, approximate=False)`.

One of an installed library, such as optax, is imported. A function of the user's is copied into the program, with its
derivatives, if it reads nothing but its arguments, `jax` and `jnp`, numbers that never change, and such functions. Any
other is handed over to the program under its own name.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from functools import lru_cache
from types import CodeType, ModuleType
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

READ: dict[Any, str] = {jax: "jax", jnp: "jnp", **{getattr(jax, e): f"jax.{e}" for e in ("lax", "nn", "random")}}
"""Modules that a function reads of which a program has a copy, and what they are there."""
NO_COPY = (
    "there can be no copy of {}, a wrapped function: one of a function without a closure, or of a "
    "`jax.custom_vjp` or `jax.custom_jvp` of such, that reads only its arguments, jax, jnp, numbers that are set once, "
    "and functions like that"
)
RULES = {jax.custom_vjp: ("fwd", "bwd"), jax.custom_jvp: ("jvp",)}
"""The functions that a function with derivatives of the user's has besides its own."""


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
    copied = _copied(scope, function)
    if copied is not None:
        return name(copied)
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
    """The global names that code reads, and the functions within it."""
    inner = [_names_of(each) for each in code.co_consts if isinstance(each, CodeType)]
    return {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}.union(
        *inner
    )


def _copied(scope: Scope, function: Any, callers: tuple[Any, ...] = ()) -> str | None:
    """The name of a copy of a function in the program, which `callers` call; None if it can have none."""
    within = (*callers, function)
    if isinstance(function, jax.stages.Wrapped):  # the program needs no `jax.jit` within
        return _copied(scope, vars(function)["__wrapped__"], within)
    rules = RULES.get(type(function), ())
    if rules and (function.nondiff_argnums or getattr(function, "symbolic_zeros", False)):
        return None
    wanted, text = _source_of(scope, function.fun if rules else function, within)
    texts = [_source_of(scope, getattr(function, rule), within)[1] for rule in rules]
    if not text or not all(texts):
        return None
    if rules:
        kind = f"jax.{type(function).__name__}"
        text = re.sub(r"^NAME = (.*)", rf"NAME = {kind}(\1)", text) if text[:4] == "NAME" else f"@{kind}\n{text}"
        own = [each.replace("NAME", f"NAME_{rule}", 1) for each, rule in zip(texts, rules, strict=True)]
        given = ", ".join(f"NAME_{rule}" for rule in rules)
        text = "\n\n\n".join([text, *own, f"NAME.def{kind[-3:]}({given})"])
    return scope.text.define(wanted, text)


def _module_of(function: Any) -> ast.Module:
    """The syntax of the file that a function is from; an empty one if it is not known."""
    return _parsed("".join(linecache.getlines(function.__code__.co_filename)))


@lru_cache(maxsize=8)
def _parsed(text: str) -> ast.Module:
    with suppress(SyntaxError):
        return ast.parse(text)
    return ast.Module([], [])


def _made(function: Any) -> tuple[Any, str]:
    """The syntax of a function, and the name of what its line assigns, or its own; None if it is not known."""
    code, tree = function.__code__, _module_of(function)
    columns = {(line, column) for line, _, column, _ in code.co_positions()}
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            for made in getattr(each.value, "args", ()):
                made.assigned = each.targets[0].id  # `two = torch.wrap(lambda x: 2 * x)`
        if isinstance(each, ast.FunctionDef) and each.name == code.co_name:
            if code.co_firstlineno in (each.lineno, *[one.lineno for one in each.decorator_list]):
                return deepcopy(each), each.name
        elif isinstance(each, ast.Lambda) and (each.body.lineno, each.body.col_offset) in columns:
            return deepcopy(each), getattr(each, "assigned", "function")
    return None, ""


def _set_once(function: Any, called: str) -> bool:
    """Whether the module of a function assigns to a name in one line, which is in no loop and no function."""
    tree = _module_of(function)
    stored = [each for each in ast.walk(tree) if isinstance(each, ast.Name) and each.id == called]
    stored = [each for each in stored if not isinstance(each.ctx, ast.Load)]
    return len(stored) == 1 and any(stored[0] in ast.walk(each) for each in tree.body if isinstance(each, ast.Assign))


def _source_of(scope: Scope, function: Any, within: tuple[Any, ...]) -> tuple[str, str]:
    """The name and the text, for `Text.define`, of a function that reads only its arguments, `jax` and `jnp`, numbers
    that never change, and such functions; it may call the last one it is `within`, of which it is a part. Without a
    text, if it reads other things."""
    if not inspect.isfunction(function) or function.__closure__ or hasattr(function, "__wrapped__"):
        return "", ""
    made, wanted = _made(function)
    given, read = function.__globals__, _names_of(function.__code__)
    if made is None or not all(
        isinstance(e, ast.Constant | None) for e in (*made.args.defaults, *made.args.kw_defaults)
    ):
        return "", ""
    stands: dict[str, Expression] = {}
    for each in read & {*given}:
        value = given[each]
        if value is within[-1] or (isinstance(value, ModuleType) and value in READ):
            stands[each] = name("NAME" if value is within[-1] else READ[value])
        elif type(value) in (int, float, bool) and _set_once(function, each):
            stands[each] = literal(value)
        else:
            known = callable(value) and not any(value is each for each in within)
            own = (path_of(value) or _copied(scope, value, within)) if known else None
            if own is None:
                return "", ""
            stands[each] = name(own)
    local = {each.arg for each in ast.walk(made) if isinstance(each, ast.arg)}
    local |= {each.id for each in ast.walk(made) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> Any:
            return stands.get(node.id, node) if node.id not in local else node

        def visit_arg(self, node: ast.arg) -> Any:
            return ast.arg(node.arg)

    if local & {each for each, text in stands.items() if ast.unparse(text) != each}:
        return "", ""
    if isinstance(made, ast.FunctionDef):
        made.name, made.decorator_list, made.returns = "NAME", [], None
        return wanted, ast.unparse(Put().visit(made))
    return wanted, f"NAME = {ast.unparse(Put().visit(made))}"


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

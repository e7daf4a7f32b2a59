"""Prepares an op's function to run on symbols: JAX's functions in its globals and closures are recorded, not called.

`with_recorded_calls` returns such a function.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import sys
import textwrap
import types
from typing import Any

import jax
import jax.custom_derivatives
import jax.numpy as jnp

from jaxvjp.explain.literals import Unwritable
from jaxvjp.explain.symbols import Definition, Named, Symbol, tracing
from jaxvjp.ops.elementary import tanh
from jaxvjp.ops.identity import refusing
from jaxvjp.ops.op import Op, rounded_once

MODULES = {
    "jnp": jnp,
    "jax": jax,
    "jnp.linalg": jnp.linalg,
    "jnp.fft": jnp.fft,
    "jax.nn": jax.nn,
    "jax.lax": jax.lax,
    "jax.scipy.special": jax.scipy.special,
    "jax.scipy.linalg": jax.scipy.linalg,
    "jax.lax.linalg": jax.lax.linalg,
}


PLAIN: dict[Any, Any] = {}
"""The plain forms of ops, and of functions that ops call; set by `plain_forms`."""
PICKING: set[Any] = set()
"""Those that compute nothing, so that they round nothing: `relu`; set there, too."""
HALF = {"bfloat16", "float16"}


def _perhaps_plain(exact: Any, key: Any) -> Any:
    """A function with a plain form, which is taken in a trace that is `plain`. In 16 bits a plain form would round
    where the op does not, as torch computes the mean of `layer_norm` in 32."""

    def function(*arguments: Any, **named: Any) -> Any:
        half = not HALF.isdisjoint(str(getattr(each, "dtype", "")) for each in (*arguments, *named.values()))
        if tracing.plain and (not half or key in PICKING):
            found = with_recorded_calls(PLAIN[key])(*arguments, **named)
            if found is not NotImplemented:
                tracing.simplified = True
                return found
        return exact(*arguments, **named)

    return function


class Namespace:
    """A module of JAX with each function replaced by a `Named`."""

    def __init__(self, path: str, module: Any) -> None:
        self._path = path
        self._module = module

    def __getattr__(self, attribute: str) -> Any:
        return with_recorded_calls(getattr(self._module, attribute), f"{self._path}.{attribute}")


@functools.cache
def _paths() -> dict[int, str]:
    """The names of JAX's functions by `id`, for functions found in a table or a closure."""
    found: dict[int, str] = {}
    for path, module in reversed(MODULES.items()):
        for attribute in dir(module):
            value = getattr(module, attribute)
            if not attribute.startswith("_") and callable(value):
                found[id(value)] = f"{path}.{attribute}"
    return found


def path_of(function: Any) -> str | None:
    """The name of one of JAX's functions, `jax.nn.gelu`; None for any other."""
    return _paths().get(id(function))


def _ours(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    return module.startswith("jaxvjp.ops.") or module in ("jaxvjp.explain.short_forms", "jaxvjp.explain.plain_forms")


def with_recorded_calls(value: Any, path: str | None = None) -> Any:
    """`value` with JAX's functions replaced by `Named` ones, which record their calls."""
    if isinstance(value, types.ModuleType):
        known = next((name for name, module in MODULES.items() if module is value), None)
        return (
            Namespace(known or path or value.__name__, value) if value.__name__.startswith("jax.") or known else value
        )
    if isinstance(value, type) and value.__module__.startswith("jaxvjp.ops.") and value is not Op:
        return _class_with_recorded_calls(value)
    if isinstance(value, type | type(jnp.float32)):
        return value
    if isinstance(value, Op):
        return Row(value)
    if value is rounded_once:
        return _unrounded
    if value is refusing:  # its value depends on nothing, to JAX
        return _unrefused
    if value is tanh:  # the same as JAX's but for the last digits of its derivative
        return with_recorded_calls(jnp.tanh)
    if isinstance(value, jax.custom_jvp | jax.custom_vjp) and _ours(value.fun):
        exact = Named(value.fun.__name__, value, _bundled(value))
        return _perhaps_plain(exact, value) if value in PLAIN else exact
    if isinstance(value, functools.partial):
        given = [with_recorded_calls(each) for each in value.args]
        return functools.partial(with_recorded_calls(value.func), *given, **value.keywords)
    if isinstance(value, types.FunctionType) and _ours(value):
        return _perhaps_plain(_rebuilt(value), value) if value in PLAIN else _rebuilt(value)
    if isinstance(value, dict) and type(value) is dict:
        return {key: with_recorded_calls(each) for key, each in value.items()}
    if type(value) in (tuple, list):
        return type(value)(with_recorded_calls(each) for each in value)
    if callable(value) and not isinstance(value, Named | Symbol):
        known = path if path and path.startswith("j") else _paths().get(id(value))
        if known is None:
            known = _paths().get(id(value))
        return value if known is None else Named(known, value)
    return value


def _unrefused(source: Any, value: Any, error: Any) -> Any:
    return value


def _unrounded(function: Any, operands: Any, numbers: Any = ()) -> Any:
    return with_recorded_calls(function)(*operands)


class Row:
    """A stand-in for an op whose function runs on symbols, without the rounding to 16 bits around it."""

    rounds_once = False

    def __init__(self, row: Op) -> None:
        self._row = row

    @property
    def function(self) -> Any:
        exact = with_recorded_calls(self._row.function)
        return _perhaps_plain(exact, self._row) if self._row in PLAIN else exact

    @property
    def write(self) -> Any:
        return with_recorded_calls(self._row.write)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and other._row is self._row

    def __hash__(self) -> int:
        return hash(self._row)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._row, attribute)

    def call(self, static: tuple[Any, ...], operands: Any) -> Any:
        return Op.call(self, static, operands)  # type: ignore[arg-type]


@functools.cache
def _rebuilt(function: types.FunctionType) -> Any:
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None and not function.__code__.co_freevars:
        return function
    cells = None
    if function.__closure__:
        cells = tuple(types.CellType(with_recorded_calls(each.cell_contents)) for each in function.__closure__)
    made = types.FunctionType(function.__code__, _globals(function.__module__), function.__name__, None, cells)
    made.__defaults__ = function.__defaults__
    made.__kwdefaults__ = function.__kwdefaults__
    return made


@functools.cache
def _class_with_recorded_calls(value: type) -> type:
    """A class that an op's function uses, with its methods with_recorded_calls."""
    methods = {name: _rebuilt(each) for name, each in vars(value).items() if isinstance(each, types.FunctionType)}
    return type(value.__name__, (value,), methods) if methods else value


class _Globals(dict[str, Any]):
    """The globals of a module, with_recorded_calls at first use."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(__builtins__=module.__dict__["__builtins__"], __name__=module.__name__)
        self.module = module

    def __missing__(self, key: str) -> Any:
        if key not in self.module.__dict__:
            raise KeyError(key)
        self[key] = with_recorded_calls(self.module.__dict__[key])
        return self[key]


@functools.cache
def _globals(module: str) -> _Globals:
    return _Globals(sys.modules[module])


@functools.cache
def _bundled(value: Any) -> Definition:
    """A function with a custom derivative: the source of both."""
    parts = [value.fun, *[each for each in (getattr(value, "jvp", None),) if each is not None]]
    texts = [_undocumented(part) for part in parts]
    needed: set[str] = set()
    for text in texts:
        names = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
        needed |= {node.id for node in names} - {node.id for node in names if isinstance(node.ctx, ast.Store)}
    imports = []
    for key in sorted(needed):
        found = parts[0].__globals__.get(key)
        if isinstance(found, types.ModuleType) or found is value or found is None:
            continue
        public = next((each for each in PUBLIC if getattr(each, key, None) is found), None)
        if public is None:
            raise Unwritable(f"{key}, which {parts[0].__name__} uses")
        imports.append(f"from {public.__name__} import {key}")
    return Definition(parts[0].__name__, "\n\n\n".join(texts), tuple(imports))


def _undocumented(function: Any) -> str:
    """The source of a function without its docstring."""
    text = textwrap.dedent(inspect.getsource(function)).rstrip()
    (tree,) = ast.parse(text).body
    assert isinstance(tree, ast.FunctionDef)
    if ast.get_docstring(tree) is None or len(tree.body) == 1:
        return text
    lines = text.splitlines()
    return "\n".join([*lines[: tree.body[0].lineno - 1], *lines[tree.body[0].end_lineno :]])


PUBLIC = (functools, math, jax.custom_derivatives, jax, jnp)
"""Modules from which the names in a function's source may come."""

"""Python values as source text."""

from __future__ import annotations

import ast
import base64
import enum
import math
import re
from typing import Any

import jax
import numpy as np

from jaxvjp.explain.refusal import Refusal
from jaxvjp.types.dtypes import dtype

LONGEST, TABLE = 128, 4096
"""Arrays with more elements than this are not written as numbers: a user's, and an op's own table of positions."""


class Unwritable(Refusal, RuntimeError):  # noqa: N818 - see `Refusal`
    """A value without a source text, such as a function or a user's object."""


def parsed(text: str) -> ast.expr:
    """Source text parsed as an expression."""
    return ast.parse(text, mode="eval").body


def name(text: str) -> ast.expr:
    """A dotted name."""
    first, *rest = text.split(".")
    found: ast.expr = ast.Name(first, ast.Load())
    for each in rest:
        found = ast.Attribute(found, each, ast.Load())
    return found


def batched(function: ast.expr, dimensions: int) -> ast.expr:
    """`jax.vmap` of `function` over that many leading dimensions."""
    for _ in range(dimensions):
        function = call("jax.vmap", function)
    return function


def call(function: str | ast.expr, *arguments: ast.expr, **named: ast.expr) -> ast.expr:
    """A call."""
    callee = name(function) if isinstance(function, str) else function
    return ast.Call(callee, list(arguments), [ast.keyword(key, value) for key, value in named.items()])


def literal(value: Any) -> ast.expr:
    """The expression of a static argument; Unwritable if it has none."""
    if value is None or isinstance(value, bool | str) or value is Ellipsis:
        return ast.Constant(value)
    if isinstance(value, enum.Enum):
        return name(f"jax.lax.{type(value).__name__}.{value.name}")
    if isinstance(value, int | float | complex):
        return _number(value)
    if isinstance(value, slice):
        return ast.Slice(*[None if each is None else literal(each) for each in (value.start, value.stop, value.step)])
    if isinstance(value, tuple | range):
        return ast.Tuple([literal(each) for each in value], ast.Load())
    if isinstance(value, list):
        return ast.List([literal(each) for each in value], ast.Load())
    if isinstance(value, dict):
        return ast.Dict([literal(each) for each in value], [literal(each) for each in value.values()])
    if isinstance(value, dtype):
        return dtype_name(value.numpy)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic | bool | int | float)):
        return dtype_name(value)
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, np.ndarray | jax.Array):
        return array(np.asarray(value), explicit=True, longest=TABLE)
    if hasattr(value, "dtype") and isinstance(value, type(jax.numpy.float32)):
        return dtype_name(value.dtype)
    raise Unwritable(f"{type(value).__name__} {value!r}")


def dtype_name(own: Any) -> ast.expr:
    """`jnp.float32`."""
    text = np.dtype(own).name
    return name(f"jnp.{'bool_' if text == 'bool' else text}")


def _number(value: complex) -> ast.expr:
    if isinstance(value, complex):
        if math.isfinite(value.real) and math.isfinite(value.imag):
            return ast.Constant(value) if not value.real else parsed(repr(value))
        return call("complex", _number(value.real), _number(value.imag))
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return name("jnp.nan")
        return name("jnp.inf") if value > 0 else ast.UnaryOp(ast.USub(), name("jnp.inf"))
    return parsed(repr(value))


def shortest(value: Any) -> Any:
    """A NumPy number as the Python number with the fewest digits that rounds to it."""
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if isinstance(value, np.complexfloating):
        return complex(shortest(value.real), shortest(value.imag))
    return float(str(value))


def _nested(values: np.ndarray[Any, Any]) -> ast.expr:
    if values.ndim == 0:
        return _number(shortest(values[()]))
    return ast.List([_nested(value) for value in values], ast.Load())


def encoded(values: np.ndarray[Any, Any]) -> ast.expr:
    """An array of any length, by the bytes of its elements in base 64."""
    text = ast.Constant(base64.b64encode(np.ascontiguousarray(values).tobytes()).decode())
    flat = call("jnp.frombuffer", call("base64.b64decode", text), dtype_name(values.dtype))
    return call(ast.Attribute(flat, "reshape", ast.Load()), *[literal(each) for each in values.shape])


def shortened(text: str) -> str:
    """A text with only the beginning of each array that `encoded` wrote."""
    return re.sub(r"(b64decode\('[^']{16})[^']+'", r"\1...'", text)


def array(values: np.ndarray[Any, Any], explicit: bool, longest: int = LONGEST) -> ast.expr:
    """An array as `jnp.array([1.0, 2.0])` or `jnp.zeros((20, 30))`; `explicit` always adds the dtype.

    Unwritable if it is too long.
    """
    default = values.dtype in (np.float32, np.int32, np.bool_, np.complex64)
    named = {} if default and not explicit else {"dtype": dtype_name(values.dtype)}
    if values.size > 3 or values.size == 0:
        first = values.ravel()[0] if values.size else values.dtype.type(0)
        alike = (values == first).all() or (values != values).all()
        if alike and not (first == 0 and np.signbit(values.real).any()):
            shape = literal(values.shape[0] if values.ndim == 1 else values.shape)
            for number, maker in ((0, "jnp.zeros"), (1, "jnp.ones")):
                if first == number:
                    keeps = {} if values.dtype == np.float32 and not explicit else {"dtype": dtype_name(values.dtype)}
                    return call(maker, shape, **keeps)
            if values.size > 8:
                return call("jnp.full", shape, _number(shortest(first)), **named)
        counted = np.arange(values.size).astype(values.dtype) if values.ndim == 1 else None
        if values.size > 8 and counted is not None and values.dtype.kind in "if" and (values == counted).all():
            return call("jnp.arange", literal(values.dtype.type(values.size)), **named)
        if values.ndim == 2 and (values == np.eye(*values.shape, dtype=values.dtype)).all():
            keeps = {} if values.dtype == np.float32 and not explicit else {"dtype": dtype_name(values.dtype)}
            return call("jnp.eye", *[literal(each) for each in dict.fromkeys(values.shape)], **keeps)
    if values.size > longest:
        raise Unwritable(f"an array of {values.size} elements")
    return call("jnp.array", _nested(values), **named)

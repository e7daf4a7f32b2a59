"""Writes functions inside of an op's function, such as the body of a `jax.lax.scan`.

Like the op's function, such a function is run on symbols, with the shapes that JAX calls it with.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Sequence
from typing import Any

import jax

from jaxvjp.explain.block import Block, Expression, Step, Value
from jaxvjp.explain.literals import Unwritable, parsed
from jaxvjp.explain.names import numbered, safe
from jaxvjp.explain.symbols import INNER, Inner, Symbol, Trace, closed, spelled_tree, tracing

NESTED = "{expression}"
"""The form of a step that is the definition of a function."""


def nested(trace: Trace, inner: Inner) -> None:
    """Notes the definition of an inner function: a `lambda` where it is one expression, else a `def`."""
    if inner.seen is None:  # JAX never calls it, for example in a loop of no rounds
        words = [parameter.name for parameter in inspect.signature(inner.function).parameters.values()]
        text = parsed(f"lambda {', '.join(words)}: {words[0]}")
        unused = Step([], lambda _: text, order=len(trace.steps))
        trace.steps.append(unused)
        inner.value = unused.outputs[0]
        return
    own = Trace()
    params = [_Parameter(own, name, seen) for name, seen in zip(_names(inner), inner.seen, strict=True)]
    stands = {id(each): Symbol(own, Value(each.value.wanted), each.struct, each.kind) for each in inner.captured}
    outer, tracing.trace = tracing.trace, own
    try:
        result = closed(inner.function, lambda each: stands[id(each)])(*[parameter.tree for parameter in params])
    finally:
        tracing.trace = outer
    trace.definitions.update(own.definitions)
    results: list[Value] = []
    spelled_tree(result, lambda each: _collected(results, each))

    def write(inputs: Sequence[Expression]) -> Any:
        given = {stands[id(each)].value: text for each, text in zip(inner.captured, inputs, strict=True)}
        outside = [each.id for text in inputs for each in ast.walk(text) if isinstance(each, ast.Name)]
        reserved = {"jax", "jnp", *outside}
        unpacking: list[str] = []
        heads = [parameter.named(given, reserved, unpacking) for parameter in params]
        block = Block(own.steps, results, given, reserved)
        texts = dict(zip(map(id, results), block.results, strict=True))
        returned = spelled_tree(result, lambda each: texts[id(each.value)])
        arguments = ast.arguments([], [ast.arg(head) for head in heads], None, [], [], None, [])
        if not (unpacking or block.lines):
            return ast.Lambda(arguments, returned)
        body = ast.parse("\n".join([*unpacking, *[line.text for line in block.lines]])).body
        return ast.FunctionDef("f", arguments, [*body, ast.Return(returned)], [], type_params=[])

    values = [each.value for each in inner.captured]
    plain = isinstance(write([ast.Name(f"x{place}", ast.Load()) for place in range(len(values))]), ast.Lambda)
    called = inner.function.__name__.lstrip("_")
    step = Step(values, write, [called if called.isidentifier() else "g"], len(trace.steps))
    if plain:
        step.outputs[0].wanted = None
    else:
        step.form = NESTED
    trace.steps.append(step)
    inner.value = step.outputs[0]


class _Parameter:
    """A parameter of an inner function: a symbol, or a tuple of them that the text unpacks."""

    def __init__(self, trace: Trace, name: tuple[str, Any], seen: Any) -> None:
        self.name, parts = name
        leaves, structure = jax.tree.flatten(seen)
        if len(leaves) == 1 and leaves[0] is seen:
            labels = [self.name]
        elif parts is not None and len(parts) == len(leaves):
            labels = parts
        else:
            labels = [f"{self.name}_{place}" for place in range(len(leaves))]
        self.symbols = [
            Symbol(trace, Value(label), leaf) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf
            for label, leaf in zip(labels, leaves, strict=True)
        ]
        self.tree = jax.tree.unflatten(structure, self.symbols)

    def named(self, given: dict[Value, Expression], reserved: set[str], unpacking: list[str]) -> str:
        """The parameter's name in the text, once its parts have theirs."""
        for symbol in self.symbols:
            if isinstance(symbol, Symbol):
                text = numbered(safe(symbol.value.wanted or "x"), reserved)
                reserved.add(text)
                given[symbol.value] = ast.Name(text, ast.Load())
        if isinstance(self.tree, Symbol):
            return ast.unparse(given[self.tree.value])
        name = numbered(safe(self.name), reserved)
        reserved.add(name)
        if isinstance(self.tree, tuple) and self.symbols:
            pattern = spelled_tree(self.tree, lambda each: given[each.value])
            unpacking.append(f"{ast.unparse(pattern).removeprefix('(').removesuffix(')')} = {name}")
        return name


def _collected(results: list[Value], each: Symbol) -> Expression:
    if not isinstance(each, Symbol):
        raise Unwritable("a function that returns a function")
    results.append(each.value)
    return ast.Name("x", ast.Load())


def _names(inner: Inner) -> list[tuple[str, Any]]:
    """The names of the parameters, and of their parts: `time, scores = frame`."""
    parameters = list(inspect.signature(inner.function).parameters.values())
    names: list[str] = []
    for place in range(len(inner.seen)):
        each = parameters[min(place, len(parameters) - 1)]
        names.append(f"{each.name}_{place}" if each.kind is each.VAR_POSITIONAL else each.name)
    apart = _taken_apart(inner.function)
    return [(name, apart.get(name)) for name in names]


def _taken_apart(function: types.FunctionType) -> dict[str, list[str]]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):  # a lambda within an expression
        return {}
    found: dict[str, list[str]] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Name) and isinstance(each.targets[0], ast.Tuple):
            names = [part for part in ast.walk(each.targets[0]) if isinstance(part, ast.Name)]
            found.setdefault(each.value.id, [part.id for part in names])
    return found


INNER.append(nested)

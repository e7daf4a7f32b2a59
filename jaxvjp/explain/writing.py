"""Writes an op as a `jax.numpy` expression (`written`).

The op's function is run on symbols of given shapes and static arguments, which records the JAX functions that it calls,
without its checks and branches. So no op needs a second description. `short_forms` has simpler forms of some.
"""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jaxvjp.explain.block import Block, Expression, Step, Value
from jaxvjp.explain.literals import literal, parsed
from jaxvjp.explain.names import safe
from jaxvjp.explain.nesting import NESTED
from jaxvjp.explain.recorded_functions import Row, with_recorded_calls
from jaxvjp.explain.symbols import Definition, Symbol, Trace, tracing
from jaxvjp.ops.op import Aval, Op, counted_as

ALONE = 4
"""An op of more calls than this, or with parts that are read several times, is written as a named function."""
LOOP = re.compile(r"jax\.lax\.(scan|while_loop|fori_loop|map)\(")
WORDED: dict[Op, Callable[..., Any]] = {}
"""Simpler forms of ops, registered by `short_forms`."""


class Written(NamedTuple):
    """How an op is written.

    Attributes:
        steps, given, results: the steps that compute the results from the operands `given`.
        definitions: functions that it calls.
        uses: how often each operand is read.
        several: whether the result is a tuple, maybe of one.
        compact: whether it is short enough to be written in the line that uses it.
        simplified: whether it has a plain form in place of an op's own.
    """

    steps: list[Step]
    given: list[Value]
    results: list[Value]
    definitions: list[Definition]
    uses: list[int]
    compact: bool
    several: bool
    simplified: bool = False

    def inline(self, operands: Sequence[Expression]) -> Expression:
        """The expression of a compact op for these operands."""
        expressions = dict(zip(self.given, operands, strict=True))
        for step in self.steps:
            expressions[step.outputs[0]] = step.write([expressions[operand] for operand in step.inputs])
        return expressions[self.results[0]]


class Given(NamedTuple):
    """An operand: its abstract value, its type if it is a Python number, and its value if that is written out."""

    aval: Aval
    kind: type | None = None
    position: Any = None


@functools.lru_cache(maxsize=4096)
def written(operation: Op, static: tuple[Any, ...], operands: tuple[Given, ...], plain: bool = False) -> Written:
    """How `operation` is written, in its `plain` form if it has one; Unwritable if it cannot be."""
    trace = Trace()
    given = [Value(each) for each in _operand_names(operation, static, len(operands))]
    row: Any = Row(operation)
    if operation in WORDED:
        row = _Worded(operation, WORDED[operation])
    outer, tracing.trace = tracing.trace, trace
    tracing.plain, tracing.simplified = plain, False
    try:
        symbols = _symbols_of(trace, given, operands, operation.numbers_among(static, len(operands)))
        given_static = tuple([with_recorded_calls(each) if isinstance(each, Op) else each for each in static])
        result = Op.call(row, given_static, symbols)
    finally:
        tracing.trace, tracing.plain = outer, False
    if operation.check_result is not None and type(result) is tuple and operation.returns is None:
        *result, _ = result  # which only the check reads
        result = result[0] if len(result) == 1 else tuple(result)
    several = isinstance(result, tuple)
    results = [_as_symbol(trace, each).value for each in (result if several else (result,))]
    return _finished(trace, given, results, several)._replace(simplified=tracing.simplified)


def _symbols_of(trace: Trace, values: Sequence[Value], operands: Sequence[Given], numbers: Sequence[bool]) -> list[Any]:
    """The operands as symbols; positions unchanged. Rounding to 16 bits, and `numbers` in float32, are ignored."""
    types = counted_as([operand.aval.struct for operand in operands], numbers)
    symbols: list[Any] = []
    for value, each, own in zip(values, operands, types, strict=True):
        symbol = Symbol(trace, value, each.aval.struct, each.kind)
        if own != each.aval.dtype.numpy:
            number = each.kind is not None
            symbol = Symbol(trace, value, symbol.struct.update(dtype=own), each.kind) if number else symbol.astype(own)
        symbols.append(symbol if each.position is None else each.position)
    return symbols


class _Worded(Row):
    def __init__(self, row: Op, function: Callable[..., Any]) -> None:
        super().__init__(row)
        self._function = function

    @property
    def function(self) -> Any:
        return with_recorded_calls(self._function)


def _as_symbol(trace: Trace, result: Any) -> Symbol:
    if isinstance(result, Symbol):
        return result.strong() if result.kind is not None else result
    text = literal(result)
    made = trace.step([], lambda inputs: text, 1, False)
    return Symbol(trace, made.outputs[0], None)


def _operand_names(operation: Op, static: tuple[Any, ...], count: int) -> list[str]:
    plain = [operand.lstrip("*") for operand in operation.operands]
    if operation.structured:  # of those that are missing there are none, of a list several
        form = zip(plain, static[-1], strict=True)
        parts = [(name, each) for name, each in form if each is not None]
        return [own for name, each in parts for own in ([name] if each == () else [f"{name}_{k}" for k in range(each)])]
    if len(plain) >= count and not any(operand.startswith("*") for operand in operation.operands):
        return plain[:count]
    return [f"{plain[min(place, len(plain) - 1)]}_{place}" for place in range(count)]


def _finished(trace: Trace, given: list[Value], results: list[Value], several: bool) -> Written:
    """The trace without unread steps, and whether it is compact."""
    needed = set(results)
    steps: list[Step] = []
    for step in reversed(trace.steps):
        if any(output in needed for output in step.outputs):
            steps.append(step)
            needed.update(step.inputs)
    steps.reverse()
    uses: dict[Value, int] = {}
    for each in [value for step in steps for value in step.inputs] + results:
        uses[each] = uses.get(each, 0) + 1
    shared = any(uses.get(value, 0) > 1 or step.unpacked for step in steps for value in step.outputs)
    nested = any(step.form == NESTED for step in steps)
    compact = not (shared or several or nested) and len(steps) <= ALONE
    definitions = list(trace.definitions.values())
    return Written(steps, given, results, definitions, [uses.get(each, 0) for each in given], compact, several)


def definition(operation: Op, how: Written, taken: set[str]) -> str:
    """The text of a function for an op that is not compact, called NAME."""
    names = {each: safe(each.wanted or "x") for each in how.given}
    block = Block(how.steps, how.results, {each: parsed(name) for each, name in names.items()}, taken)
    returned = ", ".join(ast.unparse(result) for result in block.results) + (
        "," if how.several and len(block.results) == 1 else ""
    )
    body = "\n".join([line.text for line in block.lines] + [f"return {returned}"])
    head = ", ".join(names.values())
    body = re.sub("\n\n+", "\n\n", body)
    # Outside of `jit` each call has another inner function, and compiles the loop anew: 40 steps take 72 s, not 10.
    compiled = "@jax.jit\n" if LOOP.search(body) else ""
    return f"{compiled}def NAME({head}):\n{textwrap.indent(body, '    ')}"

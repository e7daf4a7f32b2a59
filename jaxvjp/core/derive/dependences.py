"""Which results of an op depend on which operands, read off jaxprs (`reads`).

A pullback, or another transform, is recorded as one node for each group of results that depend on the same operands
(`grouped`), so that no gradient flows to what a result does not depend on. Which operands these are is torch's rule:
where it is another than JAX's a column of the op's row says so (`slopes`). A negative number, `~3`, stands for operand
3 where a result requires a gradient if that does, and none flows to it (`in_one_step`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.run.expansion import Expansion
from jaxvjp.core.run.program import PROGRAM_CACHE, Program
from jaxvjp.ops.abstract_values import Aval
from jaxvjp.ops.op import Op

Positions = tuple[int, ...]


def grouped(
    results: Iterable[int],
    sources: Iterable[Positions],
    operands: Sequence[Node | Number],
    tracked: Callable[[Node | Number], bool],
) -> dict[tuple[tuple[Node, ...], bool], list[int]]:
    """The results, grouped by those `operands` which they depend on (`sources`) and which are `tracked`, and by whether
    they require a gradient."""
    groups: dict[tuple[tuple[Node, ...], bool], list[int]] = {}
    for result, positions in zip(results, sources, strict=True):
        found = [operands[position] for position in positions if position >= 0 and tracked(operands[position])]
        required = bool(found) or any(tracked(operands[~position]) for position in positions if position < 0)
        edges = tuple([each for each in found if isinstance(each, Node)])
        groups.setdefault((edges, required), []).append(result)
    return groups


def reads(operation: Op, static: tuple[Any, ...], avals: Sequence[Aval]) -> tuple[Positions, ...]:
    """For each array of the tuple that `operation` returns: the numbers of the operands that it depends on."""
    made = Expansion(avals)
    return _reads_in(made, made.opened(operation, static, [-1 - each for each in range(len(avals))]))


@lru_cache(maxsize=PROGRAM_CACHE)
def reads_of_program(program: Program) -> tuple[Positions, ...]:
    """For each output of a program: the numbers of the arguments that it depends on."""
    made = Expansion(program.arguments)
    return _reads_in(made, made.open(program, [-1 - each for each in range(len(program.arguments))]))


def through(read: Iterable[Positions], given: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """What results depend on that are made of operands which depend on what is `given` for each: `read` has the
    positions of those operands."""
    return [
        frozenset([at if each >= 0 or at < 0 else ~at for each in own for at in given[each if each >= 0 else ~each]])
        for own in read
    ]


def _reads_in(made: Expansion, results: Any) -> tuple[Positions, ...]:
    found: list[Any] = []  # for each equation a set of numbers, or a list of them for a tuple

    def of(place: int) -> Any:
        return found[place] if place >= 0 else frozenset([-1 - place])

    for (made_by, own, inputs), aval, closed in zip(made.equations, made.avals, made.jaxprs, strict=True):
        given = [of(operand) for operand in inputs]
        if closed is None:
            found.append(given[0][own[0]] if own and isinstance(given[0], list) else given[0])
        else:
            each_of = _reads(closed.jaxpr, given)
            if made_by.depends is not None:
                each_of = made_by.depends(own, each_of, given)
            found.append(each_of if type(aval) is tuple else each_of[0])
    items = list(map(of, results)) if isinstance(results, list) else of(results)
    return tuple(tuple(sorted(item)) for item in items)


def _reads(jaxpr: Any, arguments: list[frozenset[int]]) -> list[frozenset[int]]:
    """For each output of a jaxpr the union of the sets of those arguments that it depends on."""
    reach: dict[Any, frozenset[int]] = dict(zip(jaxpr.invars, arguments, strict=True))

    def of(variable: Any) -> frozenset[int]:
        # A `Literal` has `val` and cannot be hashed. `jax.extend` has the class, and takes 12 ms to import.
        return frozenset() if hasattr(variable, "val") else reach.get(variable, frozenset())

    for equation in jaxpr.eqns:
        results: list[frozenset[int]]
        given = [of(each) for each in equation.invars]
        inner = equation.params.get("jaxpr")
        if equation.primitive.name == "stop_gradient":
            results = [frozenset()] * len(equation.outvars)  # an op uses it where no gradient flows
        elif equation.primitive.name in ("jit", "pjit") and inner is not None:
            results = _reads(inner.jaxpr, given)
        else:
            results = [frozenset().union(*given)] * len(equation.outvars)
        reach.update(zip(equation.outvars, results, strict=True))
    return [of(each) for each in jaxpr.outvars]

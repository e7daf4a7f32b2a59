"""`jax.jvp` and `jax.vmap` of a program, each an op like any other.

`pushforward` records `jax.jvp` of a part of a graph (`between`), `record_vmap` records `jax.vmap` of it. The
results are nodes, so transforms nest: the gradient of a `vmap` of a gradient is a pullback of a vmap of a pullback.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.core.derive.between import Onward, between, leads_on, refuse_python_steps, severed
from jaxvjp.core.derive.dependences import Positions, grouped, reads, reads_of_program, through
from jaxvjp.core.derive.vjp import function_of
from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.modes import grad_mode, listening, tracking, transforming
from jaxvjp.core.record.observers import Transformed, tell
from jaxvjp.core.record.record import items
from jaxvjp.core.run.program import PROGRAM_CACHE, Program, freeze, replay
from jaxvjp.ops.op import Aval, Op, op

Axes = tuple[int | None, ...]


def _mapped(function: Callable[[Any], Any], arguments: Any, chunk: int | None) -> Any:
    """`function` over the first axis of `arguments`: all at once, or `chunk` at a time to save memory."""
    if chunk is None:
        return jax.vmap(function)(arguments)
    return jax.lax.map(function, arguments, batch_size=chunk)


@op(saves="residuals", public="")
def jvp(*operands: Any, program: Program, wrt: Positions, zeros: bool) -> tuple[Any, ...]:
    """The tangents of the outputs of `program`. The operands are its arguments, then a tangent for each of `wrt`.

    With `zeros` the tangent of what has none is 0 in torch, and those that it goes into depend on what it is multiplied
    by: that of `x * 3` is `3 * tangent + x * 0`. It is so for dual tensors.
    """
    arguments, tangents = operands[: len(program.arguments)], operands[len(program.arguments) :]
    primal, primals = function_of(program, arguments, wrt)
    _, pushed = jax.jvp(primal, tuple(primals), tangents)
    return tuple(pushed)


def _with_zeros(static: Any, found: Sequence[frozenset[int]], given: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    program, wrt, zeros = static
    count = len(program.arguments)
    moved = tuple([at for at, each in enumerate(program.arguments) if each.dtype.differentiable])
    if not zeros or wrt == moved:
        return list(found)
    read = sources(jvp, (program, moved, False), (*program.arguments, *[program.arguments[at] for at in moved]))
    reached = [not {*wrt}.isdisjoint(each) for each in reads_of_program(program)]
    primals = [tuple([at for at in each if at < count and goes]) for each, goes in zip(read, reached, strict=True)]
    return [own | also for own, also in zip(found, through(primals, given), strict=True)]


jvp.depends = _with_zeros


@op(saves="residuals", public="")
def vmap(*arguments: Any, program: Program, in_axes: Axes, out_axes: Positions, size: int, chunk: int | None) -> Any:
    """`jax.vmap` of `program` over the arguments with an axis in `in_axes`, `chunk` of `size` examples at once."""
    batched = {position: axis for position, axis in enumerate(in_axes) if axis is not None}

    def one(examples: tuple[Any, ...]) -> tuple[Any, ...]:
        given = list(arguments)
        for position, each in zip(batched, examples[1:], strict=True):
            given[position] = each
        return replay(program, given)

    # The numbers from 0 on are one batch more, so that there is one where no argument is batched.
    moved = [jnp.moveaxis(arguments[position], axis, 0) for position, axis in batched.items()]
    results = _mapped(one, (jnp.arange(size), *moved), chunk)
    return tuple(jnp.moveaxis(each, 0, axis) for each, axis in zip(results, out_axes, strict=True))


vmap.depends = lambda static, _, given: through(reads_of_program(static[0]), given)


def transformed(
    operation: Op,
    static: tuple[Any, ...],
    operands: Sequence[Node | Number],
    avals: tuple[Aval, ...],
) -> list[Node]:
    """A node for each array that `operation`, a transform, returns. `avals` are theirs. Each node has edges to just
    those operands that it depends on."""
    inputs = tuple(operands)
    tracked = {operand for operand in inputs if isinstance(operand, Node) and grad_mode().enabled and leads_on(operand)}
    if not tracked:
        return items(Node(operation, static, inputs, avals))
    results: dict[int, Node] = {}
    read = sources(operation, static, tuple([operand.aval for operand in operands]))
    depends = [each if avals[at].dtype.differentiable else () for at, each in enumerate(read)]
    groups = grouped(range(len(avals)), depends, inputs, tracked.__contains__)
    for (edges, required), positions in groups.items():
        node = Node(operation, static, inputs, avals, requires_grad=required)
        node.edges = edges
        given = items(node)
        results.update((position, given[position]) for position in positions)
    return [results[position] for position in range(len(avals))]


@lru_cache(maxsize=PROGRAM_CACHE)
def sources(operation: Op, static: tuple[Any, ...], avals: tuple[Aval, ...]) -> tuple[Positions, ...]:
    return reads(operation, static, avals)


def pushforward(
    outputs: Sequence[Node],
    starts: Collection[Node],
    onward: Onward,
    what: str,
    zeros: bool = False,
) -> Callable[[Mapping[Node, Node]], list[Node | None]]:
    """The function from tangents of `starts` to tangents of `outputs`; None for an output that depends on no start.

    The program is frozen once; each call of the function records a `jvp` of it.
    """
    nodes = between(outputs, starts, onward)
    depend = {*starts, *nodes}
    depends = [output in depend for output in outputs]
    wanted = [output for output in outputs if output in depend]
    if not wanted:
        return lambda tangents: [None] * len(outputs)
    refuse_python_steps(nodes, what)
    program, arguments = freeze(nodes, wanted)
    differentiated = {
        number: each for number, each in enumerate(arguments) if isinstance(each, Node) and each in starts
    }
    tracked = not all(severed(each) for each in wanted)
    avals = tuple([each.aval for each in wanted])

    def push(tangents: Mapping[Node, Node]) -> list[Node | None]:
        given = [tangents[each] for each in differentiated.values()]
        with tracking(grad_mode().enabled and tracked):
            static = (program, tuple(differentiated), zeros)
            pushed = transformed(jvp, static, [*arguments, *given], avals)
        if listening():  # rare: `explain` listens
            tell(Transformed(arguments, wanted, pushed))
        results = iter(pushed)
        return [next(results) if each else None for each in depends]

    return push


@lru_cache(maxsize=PROGRAM_CACHE)
def batch_of(example: Aval, axis: int, size: int) -> Aval:
    """The aval of a batch of `size` examples along an axis."""
    return example.shaped((*example.shape[:axis], size, *example.shape[axis:]))


@lru_cache(maxsize=PROGRAM_CACHE)
def example_of(batch: Aval, axis: int) -> Aval:
    """The aval of one example of a batch along an axis."""
    return batch.shaped((*batch.shape[:axis], *batch.shape[axis + 1 :]))


def record_vmap(
    nodes: Sequence[Node],
    outputs: Sequence[Node],
    examples: Mapping[Node, tuple[Node, int]],
    out_axes: Sequence[int],
    size: int,
    chunk: int | None,
) -> list[Node]:
    """For each output, which is of one example, the node of its batch. One that depends on no example is repeated.

    Args:
        nodes: those `between` the examples and the outputs.
        outputs: nodes of one example.
        examples: maps a node that stands for one example to the node of its batch and the axis there.
        out_axes: for each output, the axis of the batch.
        size: the number of examples.
        chunk: how many examples are computed at once; None for all.
    """
    steps = [node for node in nodes if node.python is not None and not node.python.lifted]
    refuse_python_steps([step for step in steps if step.requires_grad or transforming().forward], "vmap")
    program, arguments = freeze(nodes, outputs)
    batches = [examples.get(each, (each, None)) if isinstance(each, Node) else (each, None) for each in arguments]
    static = (program, tuple([axis for _, axis in batches]), tuple(out_axes), size, chunk)
    avals = tuple([batch_of(each.aval, axis, size) for each, axis in zip(outputs, out_axes, strict=True)])
    results = transformed(vmap, static, [each for each, _ in batches], avals)
    if listening():  # rare: `explain` listens
        tell(Transformed(arguments, outputs, results))
    return results

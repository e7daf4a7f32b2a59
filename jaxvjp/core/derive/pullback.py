"""`jax.vjp` of a program (`vjp`), as an op like any other.

The op `pullback` runs a program forward and then back, so nothing is kept from an earlier forward run.
`record_pullback` records it as a node, which can be differentiated again, by another pullback. Recording traces
nothing, as the avals are known: a cotangent has the aval of its argument. (With `create_graph` a jaxpr tells which
operands each cotangent depends on: `dependences`, once per program.)

For `y = 3 * x**2` the program has the arguments x and 3, the equations power and mul, and the output y. The operands of
the pullback are x, 3 and v, and `wrt` is (0,): its results are y and the cotangent of x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from jaxvjp.core.derive.chain_rule import opened
from jaxvjp.core.derive.dependences import Positions, grouped, reads
from jaxvjp.core.derive.vjp import begin
from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.modes import grad_mode
from jaxvjp.core.record.record import items, tracks
from jaxvjp.core.run.expansion import Expansion
from jaxvjp.core.run.program import PROGRAM_CACHE, Program
from jaxvjp.ops.op import op


@op(saves="residuals", public="", grad_fn="PullbackBackward0")  # `saves`, as torch's steps do
def pullback(*operands: Any, program: Program, wrt: Positions, batched: int) -> tuple[Any, ...]:
    """The outputs of `program`, then the cotangents of its arguments `wrt`.

    The operands are the program's arguments and a cotangent for each output. Usually `batched` is 0, and this is
    `outputs, pull = jax.vjp(primal, *primals)`, with `primal` and `primals` from `vjp.function_of`, and then
    `(*outputs, *pull(cotangents))`. NumPy computes the same by the `chain_rule`.

    If the cotangents are batches, those given and those returned have `batched` more dimensions in front. A complex
    cotangent is torch's: the conjugate of JAX's.
    """
    count = len(program.arguments)
    _, outputs_and_cotangents = begin((program, wrt, batched), operands[:count], ())  # (): they alone are wanted
    return outputs_and_cotangents(operands[count:])


pullback.begin = begin
pullback.opened = opened


def record_pullback(
    program: Program,
    arguments: Sequence[Node | Number],
    wrt: Sequence[int],
    cotangents: Sequence[Node],
    create_graph: bool,
    batch: tuple[int, ...] = (),
) -> tuple[list[Node], list[Node]]:
    """Nodes for the outputs of `program`, and for the cotangents of its arguments `wrt`; with `create_graph` these can
    be differentiated again."""
    operands = (*arguments, *cotangents)
    # An output has the aval of its cotangent, without the batch.
    output_avals = tuple([cotangent.aval.shaped(cotangent.aval.shape[len(batch) :]) for cotangent in cotangents])

    # Called once, for all of `wrt`. With `create_graph` it is called for each group of cotangents with equal edges.
    def apply(positions: Positions, edges: tuple[Node, ...], required: bool = False) -> list[Node]:
        cotangent_avals = [arguments[position].aval for position in positions]
        avals = (*output_avals, *[each.shaped((*batch, *each.shape)) for each in cotangent_avals])
        static = (program, positions, len(batch))
        node = Node(pullback, static, operands, avals, requires_grad=required)
        node.edges = edges
        saving = grad_mode().saving
        if edges and saving is not None:
            node.packed = saving(
                node, [position for position, each in enumerate(operands) if each.aval.dtype.differentiable]
            )
        return items(node)

    if create_graph and not grad_mode().inference:
        return _with_own_edges(apply, program, wrt, operands)
    results = apply(tuple(wrt), ())
    return results[: len(output_avals)], results[len(output_avals) :]


def _with_own_edges(
    apply: Callable[[Positions, tuple[Node, ...], bool], list[Node]],
    program: Program,
    wrt: Sequence[int],
    operands: Sequence[Node | Number],
) -> tuple[list[Node], list[Node]]:
    """`record_pullback` with `create_graph`: each cotangent has edges to just those operands that it depends on.

    For y = 2x + w² the cotangent of x is 2: to differentiate that is an error, as in torch, and not zero.
    """
    count = len(program.outputs)
    of_argument: dict[int, Node] = {}
    outputs: list[Node] = []
    groups = grouped(wrt, dependences(program, tuple(wrt)), operands, lambda each: tracks((each,)))
    for (edges, required), positions in groups.items():
        results = apply(tuple(positions), edges, required)
        outputs = results[:count]
        of_argument.update(zip(positions, results[count:], strict=True))
    return outputs, [of_argument[position] for position in wrt]


@lru_cache(maxsize=PROGRAM_CACHE)
def dependences(program: Program, wrt: Positions) -> tuple[Positions, ...]:
    """For the cotangent of each argument `wrt`: the operands of the pullback that it depends on, by their numbers."""
    inner = Expansion(program.arguments)
    outputs = inner.open(program, [-1 - each for each in range(len(program.arguments))])
    avals = [*program.arguments, *[inner.aval(output) for output in outputs]]
    made_from = reads(pullback, (program, wrt, 0), avals)[len(outputs) :]
    # JAX computes an array without elements from nothing; it is taken to depend on everything.
    everything = tuple(range(len(avals)))
    empty = [0 in program.arguments[position].shape for position in wrt]
    return tuple(each or (everything if none else ()) for each, none in zip(made_from, empty, strict=True))

"""Whole Jacobians: `rows` by `jax.vmap` of the pullback, `columns` by `jax.vmap` of the pushforward.

Either goes over the standard basis: the cotangents, or tangents, (1, 0, 0), (0, 1, 0) and (0, 0, 1) for 3 elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from jaxvjp.core.derive.engine import walk_back
from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.modes import tracking
from jaxvjp.core.record.record import record
from jaxvjp.ops.creation import one_hot
from jaxvjp.ops.identity import shaped
from jaxvjp.ops.layouts import contiguous_strides
from jaxvjp.ops.strided import laid
from jaxvjp.ops.view import slice_
from jaxvjp.tensor.batches import Batch
from jaxvjp.tensor.duals import Duals
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.dtypes import int32


def one_hots(nodes: Sequence[Node]) -> list[Tensor]:
    """The standard basis of all elements of `nodes` taken together: for each node, along a first axis, its part."""
    total, offset, parts = sum(_size(node) for node in nodes), 0, []
    for node in nodes:
        parts.append(
            wrap(record(one_hot, (Number(1, node.aval.dtype, node.device),), ((total,), node.aval.shape, offset)))
        )
        offset += _size(node)
    return parts


def parts(block: Node, nodes: Sequence[Node], axis: int, other: Node) -> list[Node]:
    """Splits `block` into the Jacobian of (or with respect to) each of `nodes`: it has one row (or column) for each of
    their elements along `axis`; its other dimensions are those of `other`."""
    offset, found = 0, []
    for node in nodes:
        part = record(slice_, (block, Number(offset, int32)), (axis, _size(node), 1))
        shapes = (other.aval.shape, node.aval.shape) if axis else (node.aval.shape, other.aval.shape)
        whole = record(shaped, (part,), (shapes[0] + shapes[1],))
        # Torch computes a column at a time, and has the rows of what it computed as the last dimensions.
        strides = contiguous_strides(shapes[1] + shapes[0])
        turned = strides[len(shapes[1]) :] + strides[: len(shapes[1])]
        found.append(record(laid, (whole,), (turned,)) if axis and turned != whole.aval.layout.strides else whole)
        offset += _size(node)
    return found


def _size(node: Node) -> int:
    return math.prod(node.aval.shape)


def rows(
    outputs: Sequence[Node], inputs: Sequence[Node], create_graph: bool, chunk: int | None = None
) -> list[list[Node | None]]:
    """For each output its Jacobian with respect to each input, of the output's shape and then the input's; None for
    an input that no output depends on. Underneath: `jax.vmap` of the pullback over the standard basis."""
    basis = one_hots(outputs)
    with Batch(sum(_size(output) for output in outputs), "same", chunk) as batch, tracking(create_graph):
        examples = [batch.example(each, 0).__node__ for each in basis]
        found = walk_back(outputs, examples, inputs, create_graph).gradients
        reached = [operand for operand in inputs if operand in found]
        blocks = dict(zip(reached, batch.batches([found[each] for each in reached], [0] * len(reached)), strict=True))
        by_input = [parts(blocks[operand], outputs, 0, operand) if operand in blocks else None for operand in inputs]
    return [[None if column is None else column[number] for column in by_input] for number in range(len(outputs))]


def columns(
    run: Callable[[list[Tensor]], Sequence[Tensor]], inputs: Sequence[Tensor], randomness: str = "error"
) -> list[list[Node | None]]:
    """For each tensor that `run` returns for dual tensors of `inputs` its Jacobian with respect to each of them, as
    `rows` has it. Underneath: `jax.vmap` of the pushforward over the standard basis."""
    nodes = [operand.__node__ for operand in inputs]
    with Batch(sum(_size(node) for node in nodes), randomness, None) as batch, Duals() as duals:
        tangents = [batch.example(each, 0) for each in one_hots(nodes)]
        made = [duals.make(each, tangent) for each, tangent in zip(inputs, tangents, strict=True)]
        outputs = [each.__node__ for each in run(made)]
        pushed = duals.tangents_of(outputs)
        reached = [each for each in pushed if each is not None]
        blocks = iter(batch.batches(reached, [len(each.aval.shape) for each in reached]))
    return [
        [None] * len(nodes) if tangent is None else [*parts(next(blocks), nodes, len(output.aval.shape), output)]
        for output, tangent in zip(outputs, pushed, strict=True)
    ]

"""Derivatives of a function rather than of a graph. `backward` comes before this room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxvjp.autograd.backward import Tensors, grad
from jaxvjp.core.engine import gradient_edges
from jaxvjp.core.evaluation import evaluate
from jaxvjp.core.graph import Node, items, reachable, record, recording, variable_of
from jaxvjp.core.program import freeze
from jaxvjp.core.pullback import jacobian as jacobian_op
from jaxvjp.creation import tensor, zeros
from jaxvjp.ops.identity import shaped
from jaxvjp.ops.joining import stack
from jaxvjp.ops.op import Aval
from jaxvjp.tensor import Tensor, wrap


def jacobian(func: Callable[..., Tensors], inputs: Tensors, create_graph: bool = False, strict: bool = False) -> Any:
    """The Jacobian of `func` at `inputs`: every row that a one-hot `gradient` would give, at once.

    Args:
        func: takes as many tensors as there are `inputs` and returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of them.
        create_graph: whether the Jacobian shall be differentiable in turn.
        strict: RuntimeError for an output that does not depend on an input, instead of zeros.

    Returns:
        For one output and one input a tensor of shape output.shape + input.shape; a tuple of those where there are
        several inputs, and of those where there are several outputs.

    Counterpart of `torch.autograd.functional.jacobian`. Underneath: `jax.jacrev` of the program that `func` recorded.
    """
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    with recording(True):
        fresh = [each.clone() if create_graph and each.requires_grad else _fresh_leaf(each) for each in arguments]
        returned = func(*fresh)
    outputs = (returned,) if isinstance(returned, Tensor) else tuple(returned)
    rows = _rows(outputs, [each.node for each in fresh], create_graph)
    for i, row in enumerate(rows):
        for j, each in enumerate(row):
            if each is None and strict:
                raise RuntimeError(
                    f"Output {i} of the user-provided function is independent of input {j}. This is not allowed in "
                    "strict mode."
                )
    filled = tuple(
        tuple(
            zeros(*output.shape, *argument.shape, dtype=output.dtype) if each is None else each
            for argument, each in zip(arguments, row, strict=True)
        )
        for output, row in zip(outputs, rows, strict=True)
    )
    per_output = tuple(row[0] if isinstance(inputs, Tensor) else row for row in filled)
    return per_output[0] if isinstance(returned, Tensor) else per_output


def _fresh_leaf(argument: Tensor) -> Tensor:
    return wrap(variable_of(argument.detach().node))


def _rows(outputs: Sequence[Tensor], inputs: Sequence[Node], create_graph: bool) -> list[list[Tensor | None]]:
    """For each output its Jacobian with respect to each input, None where it does not depend on it."""
    stops = set(inputs)
    reached = reachable([each.node for each in outputs], lambda node: () if node in stops else gradient_edges(node))
    used = [position for position, node in enumerate(inputs) if node in reached]
    between = [node for node in reached if node not in stops and not node.is_leaf]
    if any(node.python is not None for node in between):
        return [[_row_by_row(output, each, create_graph) for each in inputs] for output in outputs]
    program, leaves = freeze(between, [each.node for each in outputs])
    wrt = tuple(leaves.index(inputs[position]) for position in used)
    avals = tuple(
        Aval((*output.shape, *inputs[position].aval.shape), output.dtype) for output in outputs for position in used
    )
    tracked = create_graph and any(each.requires_grad for each in leaves)
    results = items(Node(jacobian_op, (program, wrt), tuple(leaves), avals, tracked))
    if not create_graph:
        evaluate(results)
    rows: list[list[Tensor | None]] = []
    for number in range(len(outputs)):
        row: list[Tensor | None] = [None] * len(inputs)
        for place, position in enumerate(used):
            row[position] = wrap(results[number * len(used) + place])
        rows.append(row)
    return rows


def _row_by_row(output: Tensor, argument: Node, create_graph: bool) -> Tensor | None:
    """The Jacobian of a graph with Python in its backward pass: one pull-back per element of the output."""
    target = wrap(argument)
    rows = []
    for one_hot in np.eye(output.numel()):
        v = tensor(one_hot.reshape(output.shape), dtype=output.dtype)
        (row,) = grad(output, target, v, retain_graph=True, create_graph=create_graph, allow_unused=True)
        if row is None:
            return None
        rows.append(row.node)
    with recording(create_graph):
        stacked = record(stack, tuple(rows), (0,))
        return wrap(record(shaped, (stacked,), ((*output.shape, *argument.aval.shape),)))

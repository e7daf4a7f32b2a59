"""The part of a graph between given nodes (`between`), to be differentiated or mapped as one program.

JAX knows no `no_grad` and nothing of a custom `Function`. So here is also what such a part may not contain
(`refuse_python_steps`), and how it is frozen so that JAX stops where torch does (`frozen_for_jax`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from jaxvjp.core.record.graph import Node, Number, gradient_edges, reachable
from jaxvjp.core.record.record import tracks
from jaxvjp.core.run.program import Program, freeze
from jaxvjp.ops.identity import detach, transform_argument, transform_result, tuple_item, variable

Onward = Callable[[Node], Iterable[Any]]
DOUBLE_DTYPES = (np.dtype(np.float64), np.dtype(np.complex128))


def between(outputs: Iterable[Node], starts: Iterable[Node], onward: Onward) -> list[Node]:
    """The nodes that depend on `starts`, and that `outputs` depend on, in the order of recording; without `starts`.

    `onward(node)` gives the nodes that a node depends on.
    """
    depend = set(starts)
    if not depend:
        return []
    first = min([node.serial for node in depend])

    def back(node: Node) -> list[Node]:
        return [] if node in depend else [each for each in onward(node) if type(each) is Node and each.serial >= first]

    found = []
    for node in reachable(outputs, back):
        if node not in depend and not depend.isdisjoint(onward(node)):
            depend.add(node)
            found.append(node)
    return found


def inputs_of(node: Node) -> tuple[Node | Number, ...]:
    """`node.inputs`, as a function."""
    return node.inputs


def leads_on(node: Node) -> bool:
    """Whether a cotangent of `node` reaches a leaf, and not only the arguments of a transform that has returned."""
    if not tracks((node,)):
        return False
    found = reachable([node], _required_by)
    return any(each.operation is not transform_argument and not _required_by(each) for each in found)


def _required_by(node: Node) -> list[Node]:
    """The nodes that have `node` require a gradient: `gradient_edges`, or what it reads, if no gradient flows there."""
    if node.edges != ():
        return gradient_edges(node)
    return [operand for operand in node.inputs if isinstance(operand, Node) and operand.requires_grad]


def refuse_python_steps(nodes: Iterable[Node], what: str) -> None:
    """RuntimeError where a custom `Function` is among `nodes`: `what` would ignore the derivative that it defines."""
    for node in nodes:
        if node.python is not None:
            raise RuntimeError(
                f"{what} cannot go through the custom autograd.Function behind {node.python.name}: it has a backward, "
                f"but jaxvjp knows no rule of it for {what}.\n"
                "Outside of that, reverse mode (backward, autograd.grad, func.grad, func.vjp) uses it. Or write the "
                "function with tensor operations, whose derivatives need no rule."
            )


def severed(node: Node, among: Collection[Node] | None = None) -> bool:
    """Whether `node` was computed under `no_grad` (or `detach`) from nodes (`among` these) that require a gradient.

    Part of a program, it would let the gradient through, as JAX knows no `no_grad`. So it becomes an operand.
    """
    if node.requires_grad or type(node.aval) is tuple or not node.aval.dtype.differentiable:
        return False
    if node.operation is None or node.operation is transform_result or not node.operation.differentiable:
        return False
    source = node.inputs[0] if node.operation is tuple_item else node
    operands = source.inputs if isinstance(source, Node) else ()
    return any(operand.requires_grad and (among is None or operand in among) for operand in operands)


def frozen_for_jax(outputs: Sequence[Node], starts: Collection[Node]) -> tuple[Program, list[Node | Number], bool]:
    """The part of a graph from `starts` to `outputs` as a program, as JAX may differentiate it; the program's
    arguments; and whether it computes in double precision.

    JAX knows no `no_grad`. So where torch stops, at what was computed without a gradient, at leaves that were written
    and at inputs that are no `edges`, so does the program, by `jax.lax.stop_gradient`.
    """
    nodes: list[Node] = []
    now: dict[Any, Node] = {}
    within = between(outputs, starts, inputs_of)
    depend = {*within, *starts}  # what else requires a gradient is a constant of the program
    refuse_python_steps(within, "a JAX function")

    def stopped(node: Any) -> Node:
        nodes.append(Node(detach, (), (node,), node.aval))
        return nodes[-1]

    for node in within:
        inputs = tuple([now.get(operand, operand) for operand in node.inputs])
        if node.edges is not None:
            behind = zip(node.inputs, inputs, strict=True)
            inputs = tuple([stopped(to) if at.requires_grad and at not in node.edges else to for at, to in behind])
        if inputs != node.inputs:
            now[node] = Node(node.operation, node.static, inputs, node.aval)
        nodes.append(now.get(node, node))
        if severed(node, depend) or node.operation is variable:
            now[node] = stopped(nodes[-1])
    program, arguments = freeze(nodes, [now.get(output, output) for output in outputs])
    avals = [each.aval for each in (*within, *outputs, *arguments)]
    parts = [part for aval in avals for part in (aval if type(aval) is tuple else (aval,))]
    return program, arguments, any(each.dtype.numpy in DOUBLE_DTYPES for each in parts)

"""The backward pass, on nodes: from cotangents of some roots to cotangents of what they were made from.

In this room one can walk a recorded graph backwards (`pull_back`) and give it up (`release`). `pullback` comes before
it; what a Tensor is, it does not know.

The graph's operations, in the order of recording, are cut into **segments**. A segment is one program, and its
backward step one recorded `pullback`, so the whole walk is again a graph, which `evaluation` runs as one dispatch. It
is cut where something other than `jax.vjp` has to happen, or has to be able to: around a Python backward (a custom
`Function`), after a node whose own cotangent was asked for, with `create_graph` after a node that the user still
holds (and may later differentiate with respect to), and where a segment would grow too long to compile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from jaxvjp.core.graph import Node, Number, PythonBackward, reachable, record, recording, transforming
from jaxvjp.core.program import freeze, runs
from jaxvjp.core.pullback import record_pullback
from jaxvjp.ops.pointwise import add

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)


class Cotangents(NamedTuple):
    """What a walk found.

    Attributes:
        gradients: the cotangent of every leaf that was reached, or of every target that was.
        values: for each root that was not known yet, a node that gives its value from the same program.
        walked: the nodes that the walk went through, for `release`.
    """

    gradients: dict[Node, Node]
    values: dict[Node, Node]
    walked: list[Node]


def pull_back(
    roots: Sequence[Node], cotangents: Sequence[Node], targets: Sequence[Node] | None = None, create_graph: bool = False
) -> Cotangents:
    """Records the cotangents of `targets` (None: of every leaf that requires a gradient) given those of `roots`.

    A target that no root depends on is absent from the result. RuntimeError, before anything is recorded, where the
    way leads through a node that an earlier backward freed. Nothing is computed here.
    """
    walked = _needed(reachable(roots, gradient_edges), targets)
    for node in walked:
        if node.freed:
            raise freed_error(node)
    with recording(create_graph):
        return _sweep(roots, cotangents, walked, targets, create_graph)


def gradient_edges(node: Node) -> Iterable[Node]:
    """The nodes to which `node` passes cotangents on; none for a leaf."""
    if node.is_leaf:
        return ()
    edges = node.inputs if node.edges is None else node.edges
    return [each for each in edges if type(each) is Node and each.requires_grad]


def _needed(nodes: list[Node], targets: Sequence[Node] | None) -> list[Node]:
    """Of the nodes that require a gradient, those through which a cotangent must pass to reach a target."""
    if targets is None:
        return [node for node in nodes if node.requires_grad]
    needed = set(targets)
    for node in nodes:
        if node not in needed and any(each in needed for each in gradient_edges(node)):
            needed.add(node)
    return [node for node in nodes if node in needed]


def _sweep(
    roots: Sequence[Node],
    cotangents: Sequence[Node],
    walked: list[Node],
    targets: Sequence[Node] | None,
    create_graph: bool,
) -> Cotangents:
    on_the_way = set(walked)
    arrived: dict[Node, Node] = {}
    values: dict[Node, Node] = {}

    def arrive(node: Node | Number, cotangent: Node) -> None:
        if isinstance(node, Node) and node in on_the_way:
            known = arrived.get(node)
            arrived[node] = cotangent if known is None else record(add, (known, cotangent))

    for root, cotangent in zip(roots, cotangents, strict=True):
        arrive(root, cotangent)
    for segment in reversed(_segments(walked, set(targets or ()), create_graph)):
        step = segment[0].python
        if step is not None:
            given = step([arrived.get(each) for each in step.outputs], create_graph)
            for each, result in zip(step.inputs, given, strict=True):
                if result is not None:
                    arrive(each, result)
            continue
        outputs = [node for node in segment if node in arrived]
        program, leaves = freeze(segment, outputs)
        wrt = [position for position, each in enumerate(leaves) if each in on_the_way]
        if create_graph and not wrt:
            continue  # it ends at a node whose own cotangent was asked for
        primals, pulled = record_pullback(program, leaves, wrt, [arrived[node] for node in outputs], create_graph)
        for position, result in zip(wrt, pulled, strict=True):
            arrive(leaves[position], result)
        values.update((node, primal) for node, primal in zip(outputs, primals, strict=True) if node in roots)
    wanted = [node for node in walked if node.is_leaf] if targets is None else targets
    pending = {node: primal for node, primal in values.items() if node.value is None}
    return Cotangents({node: arrived[node] for node in wanted if node in arrived}, pending, walked)


def _segments(walked: list[Node], targets: set[Node], create_graph: bool) -> list[list[Node]]:
    """The operations that were walked, cut as the module's docstring says; a Python step stands alone."""
    segments: list[list[Node]] = []
    steps: set[PythonBackward] = set()
    operations = [node for node in walked if not node.is_leaf]
    for python, group in groupby(operations, lambda node: node.python is not None):
        if not python:
            segments += runs(group, lambda node: node in targets or (create_graph and node.held))
            continue
        for node in group:
            # A step with several outputs runs once, where the walk back meets the last of them.
            if node.python is not None and node.python not in steps:
                steps.add(node.python)
                segments.append([node])
    return segments


def release(nodes: Iterable[Node]) -> None:
    """Frees what a backward without `retain_graph` went through: torch's meaning of freed, op by op.

    What the user still holds and has the value of keeps its place in the backward graph, but nothing to compute with:
    of `loss = (h * h).sum()` the sum, which saved nothing, may be walked again, up to the product, which is freed.
    """
    walked = [node for node in nodes if not node.is_leaf]
    for node in walked:
        node.free()
    if transforming.forward:
        return
    stripped: dict[Node, Node] = {}
    pending = [node for node in walked if not node.freed and node.value is not None and node.held]
    while pending:
        node = pending.pop()
        inputs: list[Node | Number] = []
        for each in node.inputs:
            if isinstance(each, Node) and each.requires_grad and not each.is_leaf and each.python is None:
                if each not in stripped:
                    stripped[each] = each.stripped()
                    if not each.freed:
                        pending.append(each)
                each = stripped[each]
            inputs.append(each)
        stripped.get(node, node).inputs = tuple(inputs)


def freed_error(node: Node) -> RuntimeError:
    """torch's sentence, then the line that recorded the node and what to write instead."""
    lines = [FREED]
    if node.location is not None:
        filename, number, text = node.location
        lines.append(f"The freed node is {node.gradient_name}, recorded by line {number} of {filename}:")
        lines.append(f"    {text}")
    lines.append(
        "If that line stands before a loop that calls backward each time round, move it inside the loop, so that each "
        "round records its own graph; or keep the graph with `y.backward(..., retain_graph=True)`."
    )
    return RuntimeError("\n".join(lines))

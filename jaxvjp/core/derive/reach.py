"""Which nodes a walk back goes through: what is behind the roots and on the way to a target, and may be passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from jaxvjp.core.derive.anomaly import blame
from jaxvjp.core.derive.saved import check_unchanged, freed_error
from jaxvjp.core.record.graph import (
    LeafIdentity,
    Node,
    gradient_edges,
    hooks_of,
    reachable,
    recording_order,
)
from jaxvjp.core.record.lifetime import original_of
from jaxvjp.core.record.modes import tracking
from jaxvjp.ops.identity import tuple_item
from jaxvjp.ops.op import Aval


def check_passable(operations: Sequence[Node], targets: Sequence[Node] | None) -> None:
    """RuntimeError where a walk must not go through one of `operations`, in torch's order: of two nodes that are freed,
    or saved what was written since, it names the one recorded last."""
    node: Node
    if targets is not None:
        for node in operations:
            if node.operation is not None and node.operation.refuses_inputs_error:  # a reentrant checkpoint
                raise RuntimeError(node.operation.refuses_inputs_error)
    freed = max([at for at, node in enumerate(operations) if node.freed], default=-1)  # the one recorded last
    check_unchanged(operations[freed + 1 :])
    if freed >= 0:
        blame(operations[freed])
        raise freed_error(operations[freed], operations)


def fill_lost_originals(reached: list[Node]) -> None:
    """Gives NaN as value to each stripped copy whose original is freed and gone.

    A copy by `lifetime.copy_without_inputs` stands for its original. Once that is gone, nothing is left to compute the
    value from, and a program that contains the copy needs some. What reads it saves nothing (or it would have been
    freed as well, and the walk refused), so no derivative depends on the number.
    """
    for node in reached:
        if node.value is None and node.original is not None and whole(node).freed and type(node.aval) is Aval:
            node.value = np.broadcast_to(np.asarray(np.nan, node.aval.dtype.numpy), node.aval.shape)


def passed_through(nodes: list[Node], targets: Sequence[Node] | None, accumulating: bool) -> list[Node]:
    """The operations among `nodes` that the walk goes through: a target only if another target is behind it, or if
    its step has hooks that are to be called (`accumulating`)."""
    if targets is None:
        return [node for node in nodes if not node.is_leaf]
    ends, inside = set(targets), set(nodes)

    def goes_on(node: Node) -> bool:
        behind = node.freed and node.passed is not None and node.passed.leads(node, ends - {node})
        called = accumulating and whole(node).step_hooks is not None
        return behind or called or any(edge in inside for edge in gradient_edges(node))

    return [node for node in nodes if not node.is_leaf and (node not in ends or goes_on(node))]


def calls_python(roots: Sequence[Node], targets: Sequence[Node] | None) -> bool:
    """Whether the walk from `roots` calls hooks or custom Functions. Those take one cotangent and no batch."""
    reached, current_of = reachable_from(roots)
    nodes = needed(reached, targets, current_of)
    return any(hooks_of(node) or (node.stands_alone and not node.is_leaf) for node in nodes)


def reachable_from(roots: Iterable[Node]) -> tuple[list[Node], dict[Node, Node]]:
    """The nodes that a cotangent of `roots` may reach; and for each leaf that was written since, the current node
    of its tensor (`current_of`).

    After `y = w * x` and `w -= 1`, y has w's old node as an input, and its cotangent arrives at w's new node.
    A copy that `release` made is replaced by its original, if that still exists.
    """
    reached = reachable(roots, _onward)
    current_of: dict[Node, Node] = {}
    last: dict[LeafIdentity, Node] = {}
    node: Node
    for node in reached:
        if node.leaf is not None and node.is_leaf:
            last[node.leaf] = node
    for node in reached:
        if node.stale and node.leaf is not None and node.is_leaf:
            with tracking(False):  # also of a view that may not be read where gradients are recorded
                current = None if node.tensor is None else node.tensor.__gradient_node__
            if current is None or current.leaf is not node.leaf:
                current = last[node.leaf]
            if current is not node:
                current_of[node] = current
    return reached, current_of


def _onward(node: Node) -> list[Node]:
    """The edges of a node, which has originals as inputs from then on."""
    for operand in node.inputs:
        if type(operand) is Node and original_of(operand) is not operand:
            node.inputs = tuple([original_of(each) if isinstance(each, Node) else each for each in node.inputs])
            break
    return gradient_edges(node)


def needed(nodes: list[Node], targets: Sequence[Node] | None, current_of: Mapping[Node, Node]) -> list[Node]:
    """The nodes that a cotangent has to pass to reach a target, with the leaves of
    `current_of` and freed nodes of which nobody knows whether they lead to a target."""
    nodes = sorted({*nodes, *current_of.values()}, key=recording_order) if current_of else nodes
    if targets is None:
        return [each for each in nodes if each.requires_grad]
    on_the_way = {*targets, *[current_of.get(node, node) for node in targets]}
    node: Node
    for node in nodes:
        if node not in on_the_way and (
            current_of.get(node) in on_the_way
            or any(edge in on_the_way for edge in gradient_edges(node))
            or (node.passed is not None and node.freed and node.passed.leads(node, targets))
        ):
            on_the_way.add(node)
    return [node for node in nodes if node in on_the_way]


def whole(node: Node) -> Node:
    """The node of an op that returns several arrays, of the node of one of them; of any other node itself."""
    behind = node.inputs[0] if node.operation is tuple_item and node.inputs else node
    return behind if isinstance(behind, Node) else node

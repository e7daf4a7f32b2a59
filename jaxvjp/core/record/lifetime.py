# cython: annotation_typing=False
"""The life of a node, once it is recorded: when it drops its inputs, and with them what only they held.

* `record` makes it, with inputs and without a value.
* `evaluation`, or a walk that is remembered, sets `value` and calls `drop_inputs_if_done`: if no gradient can flow
  through the node, it drops its inputs, and with them what only they held.
* A `backward` without `retain_graph` calls `saved.release`. A node whose op saves tensors is `freed`, as in torch: a
  second backward raises an error. Once it has a value it drops its inputs.
* A node whose op saves nothing, such as a sum, stays usable. If the user holds it, its inputs become copies without
  values (`copy_without_inputs`), which lead to the originals (`original`) while those exist.
* In forward mode nothing is dropped: a tangent may be pushed through a node later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jaxvjp.core.record.collector import leave_uncollected, uncollected_ref
from jaxvjp.core.record.graph import Node, gradient_edges, reachable
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.saves import count_writes
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.ops.identity import rebind


def drop_inputs_if_done(node: Node) -> None:
    """Drops the inputs, if the value is known and no gradient can flow through here any more: saves memory."""
    if node.value is not None and (node.freed or node.is_leaf) and not transforming().forward:
        if node.freed:
            node.input_avals = node.avals_read()
            node.passed = node.passed or TensorsBehind(NodesMet(reachable([node], gradient_edges)))
        elif node.versions is None and node.inputs:  # a view has to notice writes also without its inputs
            count_writes(node, node)
        node.inputs = node.inputs[:1] if node.operation is rebind else ()  # `made_by` follows the first one
        if node.edges is not None:
            node.edges = ()


def copy_without_inputs(node: Node, passed: TensorsBehind | None) -> Node:
    """A copy of `node` without inputs: `release` keeps such copies, so that the values that it frees are freed."""
    copy = Node(node.operation, node.static, (), node.aval, node.requires_grad, None, node.where)
    leave_uncollected(copy)  # `saved._strip` has it visited again if that is needed
    copy.serial = node.serial
    copy.passed = passed
    copy.original = uncollected_ref(node)
    copy.special = True
    copy._hooks = node._hooks
    if node._retains:
        copy._retains, copy.holder = True, node.holder
    if node.freed:  # what was not gets inputs, stripped ones
        copy.freed = True
        copy.input_avals = node.avals_read()
    return copy


def original_of(node: Node) -> Node:
    """`node`, or its original if it is a copy by `copy_without_inputs` and the original still exists."""
    original = None if node.original is None else node.original()
    return node if original is None else original


class NodesMet:
    """All nodes and numbers that a backward pass met.

    `onward` is filled by `ways`; graphs of one structure share it (`WalkPlan.onward`).
    """

    def __init__(self, nodes: Iterable[Any], onward: list[tuple[int, ...]] | None = None) -> None:
        self.nodes = nodes if isinstance(nodes, list) else list(nodes)
        self.onward = [] if onward is None else onward

    def ways(self) -> list[tuple[int, ...]]:
        """For each node the indices in `nodes` of those that it passes cotangents to."""
        if not self.onward:
            index_of = {node: at for at, node in enumerate(self.nodes)}
            for node in self.nodes:
                behind = gradient_edges(node) if type(node) is Node else []
                way = tuple([index_of[each] for each in behind if each in index_of])
                leave_uncollected(way)
                self.onward.append(way)
        return self.onward


def noted(nodes: list[Any], holders: dict[int, Any], earlier: dict[int, TensorsBehind]) -> list[int]:
    """The serials of `nodes`; by index, puts what `TensorsBehind` keeps of them into `holders` and `earlier`."""
    serials: list[int] = []
    for each in nodes:
        serial = 0
        if type(each) is Node:
            node = each
            serial = node.serial
            if node.holder is not None and node.holder() is not None:
                holders[len(serials)] = node.holder
            if node.passed is not None:
                earlier[len(serials)] = node.passed
        serials.append(serial)
    return serials


class TensorsBehind:
    """Which tensors are behind a freed node that has dropped its inputs, of those that the freeing pass met; `where`
    is the user's line of that pass."""

    def __init__(self, met: NodesMet, where: UserLine = None) -> None:
        self.where = where
        # By index, and only where there are any: of 10,000 nodes few have a tensor that is still there.
        self.holders: dict[int, Any] = {}
        self.earlier: dict[int, TensorsBehind] = {}
        self.serials = noted(met.nodes, self.holders, self.earlier)
        self.onward = met.ways()

    def behind(self, serial: int) -> list[Any]:
        """Weak references to the tensors behind the node with this number."""
        pending = [index for index, each in enumerate(self.serials) if each == serial]
        found: list[Any] = []
        seen = set(pending)
        for index in pending:  # `pending` grows while the loop runs
            found += [self.holders[index]] if index in self.holders else []
            found += self.earlier[index].behind(self.serials[index]) if index in self.earlier else []
            pending += [each for each in self.onward[index] if each not in seen]
            seen.update(self.onward[index])
        return found

    def leads(self, node: Node, targets: Iterable[Node]) -> bool:
        """Whether the gradient of `node` may lead to one of `targets`."""
        # By identity: == of weak references compares the tensors.
        known = {id(each) for each in self.behind(node.serial)}
        return any(id(target.holder) in known and (target.is_leaf or target.serial < node.serial) for target in targets)

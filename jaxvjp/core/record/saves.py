"""What a node saves for its backward step, by torch's rules, and whether that was written in place since.

JAX's arrays never change and nothing is saved twice: a node saves its operands or its result by staying in the graph.
`derive.saved` raises torch's errors from what is found here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from jaxvjp.core.record.graph import Node, Number, gradient_edges, reachable
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.versions import Versions
from jaxvjp.ops.identity import detach, dual, primal, transform_argument, tuple_item, variable
from jaxvjp.ops.view import placed
from jaxvjp.types.dtypes import int64

SAME_MEMORY = frozenset((detach, variable, placed, transform_argument, dual, primal))
"""Ops, besides views, whose result shows the memory of their operand."""


def saved_positions(node: Node) -> list[int | None]:
    """What torch would have saved for the backward step of `node`: positions among `inputs`; None means its result."""
    operation = node.operation
    if operation is None:
        return []
    positions: list[int | None] = []
    for name, needed_for in operation.saves:
        count = len(node.inputs)
        if needed_for is not None:
            wanted = [node.inputs[position] for position in operation.positions(needed_for, node.static, count)]
            if not [each for each in wanted if isinstance(each, Node) and each.requires_grad and not each.lost]:
                continue
        if name == "result":
            positions.append(None)
        elif name != "residuals":
            positions += operation.positions(name, node.static, count)
    return list(dict.fromkeys(positions))


def saves_something(node: Node) -> bool:
    """Whether `saved_positions` of a node with an op are any, told quickly; or it saves "residuals"."""
    assert node.operation is not None
    freed_for = node.operation.freed_for
    if freed_for is True:
        return True
    if freed_for is None:
        return bool(saved_positions(node))
    return bool([position for position in freed_for if node.inputs[position].requires_grad])


def saved_inputs(node: Node) -> list[Node | Number]:
    """The operands among what `node` saves; all of them where that is only known to be "residuals"."""
    assert node.operation is not None
    if "residuals" in [name for name, _ in node.operation.saves]:
        return list(node.inputs)
    return [node.inputs[position] for position in saved_positions(node) if position is not None]


def check_savable(saved: Iterable[Node | Number], inputs: Iterable[Node | Number] = ()) -> None:
    """RuntimeError where one of `saved` was recorded in inference mode, unless the gradient flows to no leaf, only to
    the arguments of a transform such as `func.vjp`: in torch that saves tensors of its own, for those made
    outside. `inputs` are what the gradient flows to, if that is more."""
    levels = transforming().variables
    for each in saved:
        if each.inference and not (levels and each.serial < levels[-1].first and not _lead_to_a_leaf(inputs or saved)):
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode "
                "in computation tracked by autograd. To work around this, you can make a clone to get a normal tensor "
                "and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
            )


def _lead_to_a_leaf(inputs: Iterable[Node | Number]) -> bool:
    """Whether a gradient flows to a leaf that is there outside of the transforms under way."""
    outside = {fresh: outer for level in transforming().variables for fresh, outer in level.entries}

    def onward(node: Node) -> list[Node]:
        return [each for each in (outside[node],) if each.requires_grad] if node in outside else gradient_edges(node)

    found = reachable([operand for operand in inputs if type(operand) is Node], onward)
    return any(each.is_leaf and each.requires_grad and each not in outside for each in found)


def changed_in_place(node: Node) -> Node | None:
    """What torch would have saved for the backward step of `node` and was written in place since, or None."""
    for position in () if node.packed else saved_positions(node):
        if position == 0 and node.in_place:
            continue
        saved = node if position is None else node.inputs[position]
        if isinstance(saved, Node) and shows_overwritten(saved) is not None:
            return saved
    if node.operation is tuple_item and node.inputs and shows_overwritten(node) is not None and _is_saved(node):
        return node
    return None


def _is_saved(node: Node) -> bool:
    """Whether the op that returned several arrays saved this one, `node`, of them: it saved all, or, if there are some,
    the indices, as `sort` does."""
    several = cast(Node, node.inputs[0])
    result_saved = several.operation is not None and "result" in [each.name for each in several.operation.saves]
    return result_saved and not [each for each in several.aval if each.dtype is int64]


def shows_overwritten(node: Node) -> Node | None:
    """The node whose contents `node` shows (`origin_of`), if they were written in place since; else None."""
    origin = origin_of(node)
    return origin if origin.versions is not None and origin.versions.count > origin.version else None


def origin_of(node: Node) -> Node:
    """The node whose memory `node` shows: itself, or what it is a view of."""
    while node.versions is None and node.operation is not None and node.inputs:
        operation = node.operation
        if not (operation.write or operation in SAME_MEMORY):
            break
        behind = node.inputs[1 if operation is placed else 0]  # `placed(whole, part)` shows the part
        if not isinstance(behind, Node):
            break
        node = behind
    return node


def count_of_writes(node: Node) -> Versions:
    """The count of writes to what `node` shows (`origin_of`), which begins here if nobody has counted them yet."""
    for each in (node, origin_of(node)):
        if each.versions is None and each.tensor is not None:
            each.tensor.__begin_count__()
    return origin_of(node).versions or Versions()


def count_writes(node: Node, shown: Node) -> None:
    """Has `node` count the writes to what `shown` shows (`origin_of`), to be seen without that."""
    count_of_writes(shown)
    origin = origin_of(shown)
    if origin is not node:
        node.versions, node.version = origin.versions, origin.version

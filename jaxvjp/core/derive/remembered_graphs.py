"""Remembers the nodes that backward passes with `create_graph` recorded, for graphs of the same structure.

`differentiable_gradients` does what `engine.walk_back` does with `create_graph`. Where a graph of that structure was
walked before, it records the same nodes again, on the nodes of this graph, without cutting the graph and freezing
programs. Nothing is computed here; `remembered_walks` remembers passes whose gradients are computed at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jaxvjp.core.derive.engine import WalkResult, walk_back
from jaxvjp.core.derive.remembered_walks import BackwardRequest, places_with, request_of
from jaxvjp.core.derive.saved import check_unchanged
from jaxvjp.core.record.graph import Node, Number, reachable
from jaxvjp.core.record.lifetime import NodesMet
from jaxvjp.core.record.modes import grad_mode, staging
from jaxvjp.core.record.observers import observers
from jaxvjp.core.record.user_lines import user_line
from jaxvjp.core.record.versions import next_serial
from jaxvjp.core.run.memory import Memory
from jaxvjp.types.accelerators import is_on


class Recipe:
    """How to record one node. Places are those of the survey of the graph, then those of `constants`, then those of the
    nodes that the recipes record.

    Attributes:
        operation, static, aval: those of the node.
        tracked: whether the node requires a gradient.
        inputs: the places of its operands.
        edges: the places of its `edges`, or None.
    """

    def __init__(self, node: Node, inputs: tuple[int, ...], edges: tuple[int, ...] | None) -> None:
        self.operation = node.operation
        self.static = node.static
        self.aval = node.aval
        self.tracked = node.requires_grad
        self.inputs = inputs
        self.edges = edges


class WalkNodes:
    """The nodes that a walk recorded.

    Attributes:
        constants: Python numbers that the walk recorded.
        recipes: how to record its nodes, in their order.
        gradients: for each target its place and the place of its gradient.
        walked: the places of the operations that the walk went through.
    """

    def __init__(
        self,
        constants: tuple[Number, ...],
        recipes: tuple[Recipe, ...],
        gradients: tuple[tuple[int, int], ...],
        walked: tuple[int, ...],
    ) -> None:
        self.constants = constants
        self.recipes = recipes
        self.gradients = gradients
        self.walked = walked


memory: Memory[WalkNodes] = Memory(is_on("remembered graphs"))


def differentiable_gradients(
    roots: Sequence[Node], cotangents: Sequence[Node | None], targets: Sequence[Node]
) -> WalkResult:
    """`engine.walk_back` with `create_graph`. A remembered walk has no `retained` and no `values`."""
    mode = grad_mode()
    if mode.saving is not None or mode.inference or observers.listening or staging().journal is not None:
        return walk_back(roots, cotangents, targets, create_graph=True)  # these look at each step of a walk
    request = request_of(roots, cotangents, targets, create_graph=True)
    known = _recreated(request)
    if known is not None:
        return known
    begin = next_serial()
    walk = walk_back(roots, cotangents, targets, create_graph=True)
    _learn(request, walk, begin)
    return walk


def _recreated(request: BackwardRequest) -> WalkResult | None:
    """Records a remembered walk again; None if there is none. RuntimeError where a saved tensor was written since."""
    created: WalkNodes | None = memory.get(request.survey.key) if request.may_be_remembered else None
    if created is None:
        return None
    nodes = request.survey.nodes
    walked = [nodes[each] for each in created.walked]
    check_unchanged(walked)
    table: list[Any] = [*nodes, *[each.again() for each in created.constants]]
    where = user_line()
    for recipe in created.recipes:
        inputs = tuple([table[each] for each in recipe.inputs])
        node = Node(recipe.operation, recipe.static, inputs, recipe.aval, recipe.tracked, None, where)
        if recipe.edges is not None:
            node.edges = tuple([table[each] for each in recipe.edges])
        table.append(node)
    gradients = {nodes[at]: table[place] for at, place in created.gradients}
    return WalkResult(gradients, {}, {}, walked, NodesMet(nodes))


def _learn(request: BackwardRequest, walk: WalkResult, begin: int) -> None:
    """Remembers the nodes of `walk`, which are those with a `serial` from `begin` on, if all come from this graph."""
    if not request.may_be_remembered:
        return
    found = _recorded_since(walk.gradients.values(), begin)
    constants, place_of = places_with(request.survey, found)
    recipes: list[Recipe] = []
    for node in found:
        read = (*node.inputs, *(node.edges or ()))
        if node.python is not None or node.value is not None or any(each not in place_of for each in read):
            return
        edges = None if node.edges is None else tuple([place_of[each] for each in node.edges])
        recipes.append(Recipe(node, tuple([place_of[each] for each in node.inputs]), edges))
    if any(each not in place_of for each in [*walk.gradients, *walk.gradients.values(), *walk.operations]):
        return
    gradients = tuple([(place_of[node], place_of[gradient]) for node, gradient in walk.gradients.items()])
    walked = tuple([place_of[node] for node in walk.operations])
    memory.learn(request.survey.key, WalkNodes(tuple(constants), tuple(recipes), gradients, walked))


def _recorded_since(nodes: Iterable[Node], begin: int) -> list[Node]:
    """Of `nodes` and all that they are computed from, those with a `serial` from `begin` on, in that order."""

    def behind(node: Node) -> list[Any]:
        return [each for each in (*node.inputs, *(node.edges or ())) if type(each) is Node and each.serial >= begin]

    return reachable([node for node in nodes if node.serial >= begin], behind)

"""Remembers walks back through a graph, and repeats them on the nodes of a graph of the same structure.

The key is that of the survey of what is walked (`autograd.backward_pass`). What was computed at once is a
`ComputedWalk`: the plan is run again, with other values. What was left lazy, as with `create_graph`, is a
`RecordedWalk`: the same nodes are recorded again, without cutting the graph and freezing programs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jaxvjp.core.derive.engine import WalkResult
from jaxvjp.core.derive.saved import check_unchanged
from jaxvjp.core.record.graph import Node, Number, reachable
from jaxvjp.core.record.lifetime import NodesMet, drop_inputs_if_done
from jaxvjp.core.record.record import node_of_value
from jaxvjp.core.record.user_lines import user_line
from jaxvjp.core.run.evaluation import deferred, values_of
from jaxvjp.core.run.memory import Memory
from jaxvjp.core.run.plan import Plan, ShortPiecesPlan
from jaxvjp.core.run.survey import Survey
from jaxvjp.ops.op import Aval
from jaxvjp.types.accelerators import is_on

memory: Memory[Any] = Memory(is_on("remembered walks"))
"""A `ComputedWalk` or `RecordedWalk` by the key of the walk, in docs/architecture.md."""


def known_walk(found: Survey) -> Any:
    """The remembered walk through a graph of the structure that was `found`; None if there is none, or if its plan in
    short pieces has run for long enough."""
    known = memory.get(found.key)
    if type(known) is ComputedWalk:
        computed: ComputedWalk = known
        if type(computed.plan) is ShortPiecesPlan and computed.plan.is_over():
            memory.forget(found.key)
            return None
    return known


class ComputedWalk:
    """A walk whose gradients were computed at once.

    Attributes:
        plan: the plan of the evaluation. Its places are those of the survey of the walk, and then go on (`further`).
            For `y = x * 0.5; y.backward(v)`: y, v, x and 0.5; then the cotangent of x, the value of y, the pullback.
        further: the values of these: Python numbers that the walk recorded, such as the 1 that a loss's cotangent is;
            and None, to be filled by the plan, for each node that the walk recorded.
        gradients: for each leaf or target (its place, the place of its gradient, the aval of the gradient).
        values: for each node that gets a value as well, such as the loss, its place and that of the value.
        walked: the places of the operations that the walk went through.
        onward: `NodesMet.onward`, once it was asked for.
    """

    def __init__(
        self,
        plan: Plan,
        further: list[Any],
        gradients: tuple[tuple[int, int, Aval], ...],
        values: tuple[tuple[int, int], ...],
        walked: tuple[int, ...],
    ) -> None:
        self.plan = plan
        self.further = further
        self.gradients = gradients
        self.values = values
        self.walked = walked
        self.onward: list[tuple[int, ...]] = []

    def again(self, found: Survey) -> WalkResult:
        """The computed gradients of another graph; where one goes to a leaf that has a `grad`, the sum. No `grad` has
        changed yet. RuntimeError where a saved tensor was written in place since."""
        nodes = found.nodes
        walked = [nodes[each] for each in self.walked]
        check_unchanged(walked)
        values = values_of(nodes, self.plan) + self.further
        self.plan.run(values, True)
        node: Node
        for at, place in self.values:
            node = nodes[at]
            if values[place] is None:  # its program computed the gradients alone (`Plan.run`, `deferring`)
                deferred.plans[node] = self.plan  # rare: computed when it is read
            else:
                node.value = values[place]
                drop_inputs_if_done(node)
        where = user_line()
        gradients: dict[Node, Node] = {}
        for at, place, aval in self.gradients:
            gradients[nodes[at]] = node_of_value(values[place], aval, where=where)
        return WalkResult(gradients, {}, {}, walked, NodesMet(nodes, self.onward))

    @classmethod
    def learn(cls, found: Survey, walk: WalkResult, results: dict[Node, Node], further: Survey, plan: Plan) -> None:
        """Remembers the plan that computed the `results` of a walk; `further` goes on from the survey that was
        `found`."""
        place_of = further.place_of
        outputs = {further.nodes[output] for output in plan.outputs}
        values = {**{node: node for node in outputs if node in found.place_of}, **walk.value_nodes}
        if not outputs.issuperset(results.values()) or any(each not in found.place_of for each in walk.operations):
            return
        if type(plan) is ShortPiecesPlan:
            plan.spent = 0.0  # this run has traced its pieces, too
        memory.learn(
            found.key,
            cls(
                plan,
                [each.value if type(each) is Number else None for each in further.nodes[len(found.nodes) :]],
                tuple([(place_of[node], place_of[result], result.aval) for node, result in results.items()]),
                tuple([(place_of[node], place_of[value]) for node, value in values.items() if value in outputs]),
                tuple([place_of[node] for node in walk.operations]),
            ),
        )


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


class RecordedWalk:
    """The nodes that a walk recorded, of which nothing was computed.

    Attributes:
        constants: Python numbers that the walk recorded.
        recipes: how to record its nodes, in their order.
        gradients: for each target its place and the place of its gradient.
        walked: the places of the operations that the walk went through.
    """

    def __init__(
        self,
        constants: list[Number],
        recipes: list[Recipe],
        gradients: list[tuple[int, int]],
        walked: list[int],
    ) -> None:
        self.constants = constants
        self.recipes = recipes
        self.gradients = gradients
        self.walked = walked

    def again(self, found: Survey) -> WalkResult:
        """Records the walk through another graph. RuntimeError where a saved tensor was written since."""
        nodes = found.nodes
        walked = [nodes[each] for each in self.walked]
        check_unchanged(walked)
        table: list[Any] = [*nodes, *[constant.like(constant.value) for constant in self.constants]]
        where = user_line()
        recipe: Recipe
        for recipe in self.recipes:
            inputs = tuple([table[operand] for operand in recipe.inputs])
            node = Node(recipe.operation, recipe.static, inputs, recipe.aval, recipe.tracked, None, where)
            if recipe.edges is not None:
                node.edges = tuple([table[edge] for edge in recipe.edges])
            table.append(node)
        gradients = {nodes[at]: table[place] for at, place in self.gradients}
        return WalkResult(gradients, {}, {}, walked, NodesMet(nodes))

    @classmethod
    def learn(cls, found: Survey, walk: WalkResult, begin: int) -> None:
        """Remembers the nodes of `walk`, which are those with a `serial` from `begin` on, if all come from the graph
        that was `found`."""
        recorded = _recorded_since(walk.gradients.values(), begin)
        place_of: dict[Any, int] = dict(found.place_of)
        numbers = dict.fromkeys([operand for node in recorded for operand in node.inputs if type(operand) is Number])
        constants = [number for number in numbers if number not in place_of]
        for each in (*constants, *recorded):
            place_of.setdefault(each, len(place_of))
        read = [each for node in recorded for each in (*node.inputs, *(node.edges or ()))]
        if any(each not in place_of for each in [*read, *walk.gradients, *walk.gradients.values(), *walk.operations]):
            return
        if any(node.python is not None or node.value is not None for node in recorded):
            return

        def places(nodes: Iterable[Any]) -> tuple[int, ...]:
            return tuple([place_of[each] for each in nodes])

        recipes = [
            Recipe(node, places(node.inputs), None if node.edges is None else places(node.edges)) for node in recorded
        ]
        gradients = [(place_of[node], place_of[gradient]) for node, gradient in walk.gradients.items()]
        memory.learn(found.key, cls(constants, recipes, gradients, [place_of[node] for node in walk.operations]))


def _recorded_since(nodes: Iterable[Node], begin: int) -> list[Node]:
    """Of `nodes` and all that they are computed from, those with a `serial` from `begin` on, in that order."""

    def behind(node: Node) -> list[Any]:
        return [each for each in (*node.inputs, *(node.edges or ())) if type(each) is Node and each.serial >= begin]

    return reachable([node for node in nodes if node.serial >= begin], behind)

"""Remembers the plans of backward passes, for graphs of the same structure.

`request_of(roots, cotangents, targets)` surveys a graph. `recalled()` gives the gradients, if a graph of that structure
was walked before: it runs the remembered plan. If not, the caller has `engine.walk_back` walk and `evaluation` compute,
and `learn` remembers the plan that was run. So how a walk goes is known to `engine` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxvjp.core.derive.anomaly import anomaly
from jaxvjp.core.derive.engine import WalkResult
from jaxvjp.core.derive.saved import check_unchanged
from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.lifetime import NodesMet, drop_inputs_if_done
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.record import node_of_value
from jaxvjp.core.record.user_lines import user_line
from jaxvjp.core.run.evaluation import deferred, heavy, values_of
from jaxvjp.core.run.memory import Memory
from jaxvjp.core.run.plan import Plan, ShortPiecesPlan, choose_short_pieces
from jaxvjp.core.run.survey import Survey, survey
from jaxvjp.ops.op import Aval
from jaxvjp.types.accelerators import is_on


class WalkPlan:
    """The plan of a walk.

    Attributes:
        plan: the plan of the evaluation. That surveyed another graph, the pullbacks as well; `learn` gave the plan the
            places of the survey of the walk, then one for each of `constants`, then one for each of `own`. For
            `y = x * 0.5; y.backward(v)`: y, v, x and 0.5; then the cotangent of x, the value of y, and the pullback.
        constants: the Python numbers that the walk recorded, such as the 1 that a loss's cotangent is.
        own: a None, to be filled by the plan, for each node that the walk recorded.
        gradients: for each leaf or target (its place, the place of its gradient, the aval of the gradient).
        values: for each node that gets a value as well, such as the loss, its place and that of the value.
        walked: the places of the operations that the walk went through.
    """

    def __init__(
        self,
        plan: Plan,
        constants: list[Any],
        own: list[None],
        gradients: tuple[tuple[int, int, Aval], ...],
        values: tuple[tuple[int, int], ...],
        walked: tuple[int, ...],
    ) -> None:
        self.plan = plan
        self.constants = constants
        self.own = own
        self.gradients = gradients
        self.values = values
        self.walked = walked
        self.onward: list[tuple[int, ...]] = []  # `NodesMet.onward`, once it was asked for


class RecalledGradients:
    """What `BackwardRequest.recalled` found.

    Attributes:
        gradients: pairs of a leaf or target and its gradient, or the sum of `grad` and that (`grad_node_of`).
        walked: the operations that the gradients went through.
        met: all nodes that the roots lead to.
    """

    def __init__(self, gradients: list[tuple[Node, Node]], walked: list[Node], met: NodesMet) -> None:
        self.gradients = gradients
        self.walked = walked
        self.met = met


memory: Memory[WalkPlan] = Memory(is_on("remembered walks"))
"""Plans by the keys of surveys of what is walked back: the key of the walk, in docs/architecture.md."""


class BackwardRequest:
    """A backward pass that is asked for.

    Attributes:
        survey: that of its graph.
        may_be_remembered: whether a plan may be remembered for graphs of that structure.
    """

    def __init__(self, found: Survey, may_be_remembered: bool) -> None:
        self.survey = found
        self.may_be_remembered = may_be_remembered

    def runs_in_short_pieces(self) -> bool:
        """Whether the graph is to run in short pieces; notes that it came (`plan.choose_short_pieces`)."""
        return choose_short_pieces(self.survey)

    def recalled(self) -> RecalledGradients | None:
        """The computed gradients, if such a walk is remembered, and is to be run as it is; None if not. Where a
        gradient goes to a leaf that has a `grad`, it is the sum already. No `grad` has changed yet.

        RuntimeError where a saved tensor was written in place since.
        """
        remembered: WalkPlan | None = memory.get(self.survey.key) if self.may_be_remembered else None
        if remembered is None:
            return None
        if type(remembered.plan) is ShortPiecesPlan and remembered.plan.is_over():
            memory.forget(self.survey.key)
            return None
        nodes = self.survey.nodes
        walked = [nodes[each] for each in remembered.walked]
        check_unchanged(walked)
        values = values_of(nodes, remembered.plan) + remembered.constants + remembered.own
        remembered.plan.run(values, True)
        node: Node
        for at, place in remembered.values:
            node = nodes[at]
            if values[place] is None:  # its program computed the gradients alone (`Plan.run`, `deferring`)
                deferred.plans[node] = remembered.plan  # rare: computed when it is read
            else:
                node.value = values[place]
                drop_inputs_if_done(node)
        where = user_line()
        gradients = []
        for at, place, aval in remembered.gradients:
            gradients.append((nodes[at], node_of_value(values[place], aval, where=where)))
        return RecalledGradients(gradients, walked, NodesMet(nodes, remembered.onward))

    def learn(self, walk: WalkResult, results: dict[Node, Node], computed: Sequence[tuple[Survey, Plan]]) -> None:
        """Remembers the plan that was run for `walk`, if one evaluation gave all `results` from this graph alone."""
        if not self.may_be_remembered or len(computed) != 1:
            return
        ((inner, plan),) = computed
        constants, place_of = places_with(self.survey, inner.operations)
        if any(each not in place_of for each in inner.nodes):
            return  # a value came from elsewhere: a hook may use a tensor that it keeps
        outputs = {inner.nodes[each] for each in plan.outputs}
        values = {**{node: node for node in outputs if node in self.survey.place_of}, **walk.value_nodes}
        if not outputs.issuperset(results.values()) or any(
            each not in self.survey.place_of for each in walk.operations
        ):
            return
        memory.learn(
            self.survey.key,
            WalkPlan(
                plan.renumbered(lambda place: place_of[inner.nodes[place]]),
                [each.value for each in constants],
                [None] * (len(place_of) - len(self.survey.nodes) - len(constants)),
                tuple((place_of[node], place_of[result], result.aval) for node, result in results.items()),
                tuple((place_of[node], place_of[value]) for node, value in values.items() if value in outputs),
                tuple(place_of[node] for node in walk.operations),
            ),
        )


def request_of(
    roots: Sequence[Node],
    cotangents: Sequence[Node | None],
    targets: Sequence[Node] | None,
    grad_node_of: Callable[[Node], Node | str] | None = None,
    batch: tuple[int, ...] = (),
    create_graph: bool = False,
) -> BackwardRequest:
    """Surveys the graph that a backward pass goes through; computes what waited (`deferred`, `heavy`) first.

    `roots`, `cotangents`, `targets`, `batch` and `create_graph` are the arguments of `engine.walk_back`.
    `grad_node_of` is called with a leaf; it returns the node that the gradient will be added to, or a word if there is
    none.

    For `y = x * 0.5` and `y.backward(v)` the nodes of the survey are y, v, x, 0.5, and its key is what was `asked`,
    then (mul, (), 2, 3, KEPT_AND_TRACKED, aval of v, aval of x, "fresh", aval of 0.5). "fresh" says that x has no
    `grad`; if it has one, that is another node, and its place is there.
    """
    if not create_graph:
        deferred.settle()
        heavy.settle()
    start = [*roots]
    asked: list[Any] = [batch, len(roots)]
    for each in cotangents:
        asked.append(each is None)
        if each is not None:
            start.append(each)
    if targets is not None:
        sums = [] if grad_node_of is None else [grad_node_of(each) for each in targets]
        start += [*targets, *[each for each in sums if isinstance(each, Node)]]
        asked += [len(targets), *["node" if isinstance(each, Node) else each for each in sums]]
        grad_node_of = None
    if len(set(start)) < len(start):  # a node that is there twice has one place in the survey
        asked += [start.index(each) for each in start]
    found = survey(start, (), asked, grad_node_of, True, create_graph)
    transform = transforming()
    # Inside a transform nothing is computed, so there is no plan; with `create_graph` none is needed.
    apart = transform.forward or (transform.depth and not create_graph)
    return BackwardRequest(found, found.key_is_complete and not (anomaly.enabled or apart))


def places_with(found: Survey, recorded: Sequence[Node]) -> tuple[list[Number], dict[Any, int]]:
    """The Python numbers that a walk of the graph `found` brought in, and the places of all nodes and numbers: those of
    the survey first, then those numbers, then the nodes that it recorded."""
    place_of: dict[Any, int] = dict(found.place_of)
    read = dict.fromkeys([each for node in recorded for each in node.inputs if type(each) is Number])
    constants = [each for each in read if each not in place_of]
    for each in (*constants, *recorded):
        place_of.setdefault(each, len(place_of))
    return constants, place_of

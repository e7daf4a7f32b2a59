"""Walks back, remembered by the structure that was walked.

In this room one can ask whether a graph like this one was walked back before (`Question`), and so get its gradients
by one look-up and the same dispatches, without recording a pullback anew. `engine` stays the one place that
knows how a walk goes: what is remembered here is which programs a walk of the engine's came to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from jaxvjp.core.derive.engine import Walk, anomaly, check_unchanged
from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.record import leaf
from jaxvjp.core.record.user_lines import user_line
from jaxvjp.core.run.evaluation import Computed, deferred, heavy, operand_of
from jaxvjp.core.run.plan import Memory, Plan, first_sight, survey
from jaxvjp.ops.op import Aval


class Remembered:
    """What a walk came to, in the numbers of the graph that was walked.

    Attributes:
        plan: what computes its results, on a table of the graph's values, then `constants`, then the plan's own.
        constants: Python numbers that the walk itself brought in.
        own: how many places the plan needs for itself.
        gradients: the number of each leaf or target, and the place of its gradient in the table with what that is.
        values: the number of each node that became known on the way, and the place of its value.
        walked: the numbers of the operations that the gradients went through.
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


class Answer:
    """The gradient of each leaf or target, with what it was added to, the operations walked through, and all else."""

    def __init__(self, gradients: list[tuple[Node, Node]], walked: list[Node], met: list[Any]) -> None:
        self.gradients = gradients
        self.walked = walked
        self.met = met


memory: Memory[Remembered] = Memory()


class Question:
    """Which gradients `roots` have, given `cotangents` (None for 1), of `targets` or of every leaf.

    `added_to` says what a gradient will be added to: a node, or a word that tells the cases apart in which it is none.
    `batch` are the dimensions, before its own, along which each of `cotangents` holds several. With `create_graph` the
    gradients shall be differentiable again, and nothing is computed.
    """

    def __init__(
        self,
        roots: Sequence[Node],
        cotangents: Sequence[Node | None],
        targets: Sequence[Node] | None,
        added_to: Callable[[Node], Node | str] | None = None,
        batch: tuple[int, ...] = (),
        create_graph: bool = False,
    ) -> None:
        if not create_graph:
            deferred.settle()
            heavy.settle()
        start = [*roots]
        question: list[Any] = [batch, len(roots)]
        for each in cotangents:
            question.append(each is None)
            if each is not None:
                start.append(each)
        if targets is not None:
            sums = [] if added_to is None else [added_to(each) for each in targets]
            start += [*targets, *[each for each in sums if isinstance(each, Node)]]
            question += [len(targets), *["node" if isinstance(each, Node) else each for each in sums]]
            added_to = None
        if len(set(start)) < len(start):  # a node that is asked for twice is one node of the graph
            question += [start.index(each) for each in start]
        self.survey = survey(start, (), question, added_to, True, create_graph)
        transform = transforming()
        # Inside a transform nothing is computed; gradients are recorded there as anywhere.
        apart = transform.forward or (transform.depth and not create_graph)
        self.regular = self.survey.regular and not (anomaly.enabled or apart)

    def unseen(self) -> bool:
        """Whether the graph is long and was never asked about before."""
        return self.regular and first_sight(self.survey)

    def recalled(self) -> Answer | None:
        """The answer, where such a walk is remembered; computed, and every node known that became known then.

        RuntimeError where what was saved has been written in place since.
        """
        remembered: Remembered | None = memory.get(self.survey.key) if self.regular else None
        if remembered is None:
            return None
        nodes = self.survey.nodes
        walked = [nodes[each] for each in remembered.walked]
        check_unchanged(walked)
        values = _values(nodes) + remembered.constants + remembered.own
        remembered.plan.run(values, deferring=True)
        node: Node
        for number, place in remembered.values:
            node = nodes[number]
            if values[place] is None:
                deferred.plans[node] = remembered.plan
            else:
                node.value = values[place]
                node.forget()
        where = user_line(sys._getframe())
        gradients = []
        for number, place, aval in remembered.gradients:
            gradients.append((nodes[number], leaf(values[place], aval, where=where)))
        return Answer(gradients, walked, nodes)

    def learn(self, walk: Walk, results: dict[Node, Node], computed: Sequence[Computed]) -> None:
        """Remembers what a walk of the engine's came to, if one evaluation gave its `results` from this graph alone."""
        if not self.regular or len(computed) != 1:
            return
        ((inner, plan),) = computed
        number = dict(self.survey.number)
        inside = set(inner.operations)
        leaves = [each for each in inner.nodes if each not in inside]
        constants: list[Any] = [each for each in leaves if isinstance(each, Number) and each not in number]
        if any(each not in number for each in leaves if isinstance(each, Node)):
            return  # something came from elsewhere, such as what a hook keeps
        for each in [*constants, *inner.operations]:
            number.setdefault(each, len(number))
        outputs = {inner.nodes[each] for each in plan.outputs}
        values = {**{node: node for node in outputs if node in self.survey.number}, **walk.values}
        if not outputs.issuperset(results.values()) or any(each not in self.survey.number for each in walk.operations):
            return
        memory.learn(
            self.survey.key,
            Remembered(
                plan.renumbered(lambda place: number[inner.nodes[place]]),
                [each.value for each in constants],
                [None] * (len(number) - len(self.survey.nodes) - len(constants)),
                tuple((number[node], number[result], result.aval) for node, result in results.items()),
                tuple((number[node], number[value]) for node, value in values.items() if value in outputs),
                tuple(number[node] for node in walk.operations),
            ),
        )


def _values(nodes: list[Any]) -> list[Any]:
    """What is known of each: the value of a node, or of a number."""
    values: list[Any] = []
    for each in nodes:
        if type(each) is Node:
            node: Node = each
            values.append(operand_of(node))
        else:
            values.append(each.value)
    return values

"""Walks back, remembered by the structure that was walked.

In this room one can ask whether a graph like this one was walked back before (`Question`), and so get its gradients
by one look-up and the same dispatches, without recording a pullback anew. `engine` comes before it; it stays the one
place that knows how a walk goes, for what is remembered here is which programs a walk of the engine's came to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from jaxvjp.core.engine import Walk, anomaly, check_unchanged
from jaxvjp.core.evaluation import Computed
from jaxvjp.core.graph import Node, Number, leaf
from jaxvjp.core.modes import transforming
from jaxvjp.core.plan import Memory, Plan, discover, survey


class Remembered(NamedTuple):
    """What a walk came to, in the numbers of the graph that was walked.

    Attributes:
        plan: what computed its results.
        constants: Python numbers that the walk itself brought in; they are numbered after the operations.
        operands: for each leaf of the plan the number of what it was.
        gradients: the number of each leaf or target, and the place of its gradient among the plan's outputs.
        values: the number of each node that became known on the way, and the place of its value.
        walked: the numbers of the operations that the gradients went through.
    """

    plan: Plan
    constants: list[Number]
    operands: tuple[int, ...]
    gradients: tuple[tuple[int, int], ...]
    values: tuple[tuple[int, int], ...]
    walked: tuple[int, ...]


class Answer(NamedTuple):
    """The gradient of each leaf or target, with what it was added to, and the operations walked through."""

    gradients: list[tuple[Node, Node]]
    walked: list[Node]


memory: Memory[Remembered] = Memory()


class Question:
    """Which gradients `roots` have, given `cotangents` (None for 1), of `targets` or of every leaf.

    `added_to` says what a gradient will be added to: a node, or a word that tells the cases apart in which it is none.
    `batch` is how many cotangents each of `cotangents` holds, if they are batched.
    """

    def __init__(
        self,
        roots: Sequence[Node],
        cotangents: Sequence[Node | None],
        targets: Sequence[Node] | None,
        added_to: Callable[[Node], Node | str] = lambda node: "",
        batch: int | None = None,
    ) -> None:
        seen: set[Any] = set()
        operations, ends = discover(roots, seen, differentiated=True)
        sums = {node: added_to(node) for node in (ends if targets is None else targets)}
        given = [each for each in cotangents if each is not None]
        given += [each for each in sums.values() if isinstance(each, Node)]
        also, _ = discover(given, seen)
        self.survey = found = survey(operations + also, (), differentiated=True)
        number, key = found.number, found.key
        for each in given:
            if each not in number:
                found.leaves.append(each)
                number[each] = -len(found.leaves)
                key.append(each.aval)
        key.append(len(roots))
        key += [number.get(each) for each in roots]
        key += [each and number[each] for each in cotangents]
        key.append("leaves" if targets is None else "targets")
        key.append(batch)
        asked = [(number.get(node), each) for node, each in sums.items()]
        plain = not (anomaly.enabled or transforming.depth or transforming.forward)
        self.regular = plain and found.regular and all(each in number for each in (*roots, *sums))
        for place, into in sorted(asked, key=itemgetter(0)) if targets is None and self.regular else asked:
            key.append(place)
            key.append(number[into] if isinstance(into, Node) else into)
        self.key = tuple(key)

    def recalled(self) -> Answer | None:
        """The answer, where such a walk is remembered; computed, and every node known that became known then.

        RuntimeError where what was saved has been written in place since.
        """
        remembered = memory.get(self.key) if self.regular else None
        if remembered is None:
            return None
        nodes = self.survey.nodes(remembered.constants)
        walked = [nodes[each] for each in remembered.walked]
        check_unchanged(walked)
        outputs = remembered.plan.run([nodes[each].value for each in remembered.operands])
        for number, place in remembered.values:
            nodes[number].value = outputs[place]
            nodes[number].forget()
        gradients = []
        for number, place in remembered.gradients:
            node = nodes[number]
            gradients.append((node, leaf(outputs[place], node.aval)))
        return Answer(gradients, walked)

    def learn(self, walk: Walk, results: dict[Node, Node], computed: Sequence[Computed]) -> None:
        """Remembers what a walk of the engine's came to, if one evaluation gave its `results` from this graph alone."""
        if not self.regular or len(computed) != 1:
            return
        number = dict(self.survey.number)
        ((inner, plan),) = computed
        constants = [each for each in inner.leaves if each not in number and isinstance(each, Number)]
        number.update((each, len(self.survey.operations) + place) for place, each in enumerate(constants))
        place = {inner.operations[each]: position for position, each in enumerate(plan.outputs)}
        values = {**{node: node for node in place if node in number}, **walk.values}
        try:
            remembered = Remembered(
                plan,
                constants,
                tuple(number[each] for each in inner.leaves),
                tuple((number[node], place[result]) for node, result in results.items()),
                tuple((number[node], place[value]) for node, value in values.items() if value in place),
                tuple(number[node] for node in walk.nodes if not node.is_leaf),
            )
        except KeyError:
            return  # something came from elsewhere, such as what a hook keeps
        memory.learn(self.key, remembered)

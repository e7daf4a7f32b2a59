"""Values for nodes: what is pending behind them is surveyed, planned and dispatched.

In this room one can make nodes known (`evaluate`), and watch which plans that runs (`watching`). `plan` comes before
it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from jaxvjp.core.graph import Node
from jaxvjp.core.plan import Memory, Plan, Survey, plan_of, survey

plans: Memory[Plan] = Memory()


class Computed(NamedTuple):
    """One evaluation: the graph as it was before, and the plan that was run."""

    survey: Survey
    plan: Plan


class Watching(threading.local):
    """Who in this thread wants to be told of evaluations."""

    def __init__(self) -> None:
        self.lists: list[list[Computed]] = []


_watching = Watching()


class watching:  # noqa: N801 - reads as a word: `with watching() as computed:`
    """Collects the evaluations made in a block."""

    def __enter__(self) -> list[Computed]:
        self.seen: list[Computed] = []
        _watching.lists.append(self.seen)
        return self.seen

    def __exit__(self, *_: object) -> None:
        _watching.lists.remove(self.seen)


def evaluate(wanted: Iterable[Node]) -> None:
    """Gives every node of `wanted` its value: one dispatch for all that is pending below them.

    Nodes on the way that the user still holds become known too; a long graph runs in pieces.
    """
    nodes = [node for node in wanted if node.value is None]
    if not nodes:
        return
    found = survey(nodes, nodes)
    plan = plans.get(found.key) or plans.learn(found.key, plan_of(found))
    values = [each.value for each in found.nodes]
    plan.run(values)
    for number in plan.outputs:
        node = found.nodes[number]
        node.value = values[number]
        node.forget()
    for each in _watching.lists:
        each.append(Computed(found, plan))

"""Values for nodes: what is pending behind them is surveyed, planned and dispatched.

In this room one can make nodes known (`evaluate`), hand what is known to a program (`operand_of`), and watch which
plans an evaluation runs (`watching`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import jax
import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import staging, transforming
from jaxvjp.core.run.plan import Dispatch, Memory, Plan, Survey, first_sight, plan_of, survey
from jaxvjp.core.run.rolled_loops import rolled
from jaxvjp.core.run.tiers import Waiting
from jaxvjp.types.devices import Placed, put

plans: Memory[Plan] = Memory()
HEAVY = 1 << 20
"""Bytes from which on a leaf is large."""


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
    """Collects the evaluations made in a block, of graphs that were not seen for the first time."""

    def __enter__(self) -> list[Computed]:
        self.seen: list[Computed] = []
        _watching.lists.append(self.seen)
        return self.seen

    def __exit__(self, *_: object) -> None:
        _watching.lists.pop()


class Deferred(threading.local):
    """Values that a backward pass of this thread left to be computed when they are read, with the plan that did.

    Where nobody reads the loss, nothing is spent on it; once somebody has, or keeps it, that plan leaves it no more.
    """

    def __init__(self) -> None:
        self.plans: WeakKeyDictionary[Node, Plan] = WeakKeyDictionary()

    def wanted(self, nodes: Iterable[Node]) -> None:
        """Notes that the values of `nodes` are wanted after all."""
        for node in nodes:
            plan = self.plans.pop(node, None)
            for dispatch in () if plan is None else plan.dispatches:
                dispatch.executable.deferring = None

    def settle(self) -> None:
        """Computes what is still held: before the next backward pass, so that it is never more than one of them."""
        if self.plans:
            evaluate([node for node in self.plans if node.held])
            self.plans.clear()


deferred = Deferred()


class Heavy(threading.local):
    """Large leaves of this thread whose new contents are pending: `w -= 0.1 * w.grad`.

    They are computed before the next backward pass and not together with it: its program would have the old contents,
    the old gradients, the new contents and the new gradients in memory at the same time.
    """

    def __init__(self) -> None:
        self.nodes: list[ref[Node]] = []

    def add(self, node: Node) -> None:
        """Notes a leaf that was written, if it is large."""
        if node.aval.nbytes >= HEAVY and not transforming().depth:
            self.nodes.append(ref(node))

    def settle(self) -> None:
        """Computes those that are still wanted."""
        if self.nodes:
            nodes = [node for each in self.nodes if (node := each()) is not None and node.held]
            self.nodes.clear()
            evaluate(nodes)


heavy = Heavy()


class Once(np.ndarray[Any, Any]):
    """NumPy's numbers that a program has had as an operand."""


def operand_of(node: Node) -> Any:
    """What is known of a node, as an operand of a program.

    A leaf of few numbers has them as NumPy's. To hand those to a program takes 2 µs, to put them on the device 18,
    which are spent when a second program wants them.
    """
    value = node.value
    if type(value) is np.ndarray:
        node.value = value.view(Once)
    elif type(value) is Once:
        value = array_of(node)
    return value


def array_of(node: Node) -> Any:
    """What is known of a node, as an array of JAX's."""
    value = node.value
    if isinstance(value, np.ndarray):
        with jax.enable_x64(True):
            node.value = value = put(value.view(np.ndarray), node.device)
    return value


def numbers_of(node: Node) -> np.ndarray[Any, Any]:
    """What is known of a node, as an array of NumPy's that cannot be written."""
    array: np.ndarray[Any, Any] = np.asarray(node.value)
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def operands_of(nodes: list[Any], plan: Plan) -> list[Any]:
    """What is known of each node or number, as an operand of a plan: as it is while NumPy runs its programs."""
    dispatch: Dispatch
    for dispatch in plan.dispatches:
        if type(dispatch.executable.compiled) is Waiting:
            return [each.value for each in nodes]
    values: list[Any] = []
    for each in nodes:
        if type(each) is Node:
            node: Node = each
            values.append(operand_of(node))
        else:
            values.append(each.value)
    return values


def evaluate(wanted: Iterable[Node], unseen: bool | None = None) -> None:
    """Gives every node of `wanted` its value: one dispatch for all that is pending below them.

    Nodes on the way that the user still holds become known too; a long graph runs in pieces, in shorter ones where it
    is `unseen`, if the caller knows.
    """
    nodes = [node for node in wanted if node.value is None]
    if not nodes:
        return
    if deferred.plans:
        deferred.wanted(nodes)
    if staging().journal is not None:
        staging().journal.refuse("reads the value of a tensor")
    if Placed.anywhere:  # no program spans two devices, and what is pending behind a node is on its own
        for place in {node.device for node in nodes}:
            _evaluate([node for node in nodes if node.device is place], unseen)
    else:
        _evaluate(nodes, unseen)


def _evaluate(nodes: list[Node], unseen: bool | None) -> None:
    found = survey(nodes, nodes)
    plan = plans.get(found.key)
    if plan is None:
        unseen = first_sight(found) if unseen is None else unseen
        plan = plan_of(found, unseen)
        if not unseen:
            plan = plans.learn(found.key, rolled(plan))
    values = operands_of(found.nodes, plan)
    plan.run(values)
    for number in plan.outputs:
        node = found.nodes[number]
        node.value = values[number]
        node.forget()
    for each in () if unseen else _watching.lists:
        each.append(Computed(found, plan))

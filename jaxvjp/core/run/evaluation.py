"""Computes the values of nodes: `evaluate([node])` sets `node.value`.

It surveys the part of the graph that has no values yet, makes a plan for it or finds the plan of an equal graph, and
runs the plan. Mostly nothing is computed until somebody reads a value or wants
gradients.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary, ref

import jax

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.lifetime import drop_inputs_if_done
from jaxvjp.core.record.modes import staging, transforming
from jaxvjp.core.run.memory import Memory
from jaxvjp.core.run.plan import Dispatch, Plan, ShortPiecesPlan, choose_short_pieces, plan_of
from jaxvjp.core.run.program import Frozen
from jaxvjp.core.run.survey import Survey, survey
from jaxvjp.core.run.tiers import Compiling, Waiting
from jaxvjp.core.run.values import operand_of
from jaxvjp.types.accelerators import is_on
from jaxvjp.types.devices import Elsewhere, program_place

plans: Memory[Plan] = Memory(is_on("plans"))
"""Plans by the keys of surveys of what had no value: the key of the values, in docs/architecture.md."""


def evaluate(
    wanted: Iterable[Node],
    short_pieces: bool | None = None,
    frozen: Sequence[Frozen] = (),
    first: Survey | None = None,
) -> tuple[Survey, Plan] | None:
    """Sets the `value` of every node of `wanted` that has none, by one call of one `Executable` if it can.

    Nodes on the way that the user still holds get their values, too. A long graph is several calls; in `short_pieces`
    if none of this structure came before (None: `choose_short_pieces` decides), of which a walk back has `frozen` some.

    `first` is the survey of a graph that was walked back, whose gradients are wanted. Then the places of the plan go on
    from those of `first`, and it is returned, to be remembered, with the survey that has these places; None if the plan
    is not to be remembered: it reads values that the walk did not bring, runs on several devices, or in short pieces
    that may never come again.

    Who asks:

    * whoever reads a value: `y.tolist()`, `print(y)`, `if y > 0:` (`Tensor.__evaluated__`); an op whose errors
      depend on values, such as an index out of range (`tensor.apply.inspect`); a move to another device (`transfer`);
    * a backward pass: for the gradients, and for the roots, whose values the same programs give
      (`autograd.backward_pass`; for an equal graph `remembered_walks` runs the plan that was found here);
    * the next backward pass, before all else, for what waits (`Deferred`, `Heavy`); and long graphs that nobody reads
      (`tensor.apply.limit_untracked_graph`).
    """
    nodes = [node for node in wanted if node.value is None]
    if not nodes:
        return None
    if deferred.plans:
        deferred.include_from_now_on(nodes)
    if staging().journal is not None:
        staging().journal.refuse("reads the value of a tensor")
    if transforming().pure:  # inside of a function that JAX traces: what does not depend on its arguments
        with jax.ensure_compile_time_eval():
            return _evaluate(nodes, short_pieces, frozen, None)
    if Elsewhere.used:  # no program spans two devices, and a node without a value is computed on its own device
        devices = {program_place(node.device) for node in nodes}
        if len(devices) > 1:
            for device in devices:
                here = [node for node in nodes if program_place(node.device) == device]
                _evaluate(here, short_pieces, frozen, None)
            return None
    return _evaluate(nodes, short_pieces, frozen, first)


def _evaluate(
    nodes: list[Node], short_pieces: bool | None, frozen: Sequence[Frozen], first: Survey | None
) -> tuple[Survey, Plan] | None:
    """Sets their values."""
    reading = first is None
    found = survey(start=nodes, wanted=nodes, reading=reading)  # it begins at these nodes, and their values are wanted
    further = None if first is None else first.continued(found)
    plan = None if further is not None else plans.get(found.key)
    if type(plan) is ShortPiecesPlan and plan.is_over():
        plans.forget(found.key)
        plan = None
    remembered = True
    if plan is None:  # no equal graph came before
        short_pieces = choose_short_pieces(found) if short_pieces is None else short_pieces
        plan = plan_of(further or found, short_pieces, frozen)
        remembered = not short_pieces or Compiling.when_it_pays()
        if remembered and further is None:
            plan = plans.learn(found.key, plan)
    found = further or found
    values = values_of(found.nodes, plan)
    plan.run(values)
    for place in plan.outputs:
        node = found.nodes[place]
        node.value = values[place]
        drop_inputs_if_done(node)
    if reading:
        for node in found.operations:
            if node.value is None:
                node.passed_by = True
    return (further, plan) if remembered and further is not None else None


def values_of(nodes: list[Any], plan: Plan) -> list[Any]:
    """The value of each node or number, to run `plan` with.

    While one of its programs still runs in NumPy, values are passed as they are: none is moved to the device for
    nothing.
    """
    dispatch: Dispatch
    for dispatch in plan.dispatches:
        if type(dispatch.executable.call) is Waiting:
            return [each.value for each in nodes]
    values: list[Any] = []
    for each in nodes:
        if type(each) is Node:
            node: Node = each
            values.append(operand_of(node))
        else:
            values.append(each.value)
    return values


class Deferred(threading.local):
    """Nodes of this thread, such as the loss, whose values the last backward pass did not compute, with its plan.

    They are computed when somebody reads them, or still holds them at the next backward pass. From then on the plan
    computes them in the backward pass, as the user will probably read them again: `print(loss)` in each step of a loop.
    """

    def __init__(self) -> None:
        self.plans: WeakKeyDictionary[Node, Plan] = WeakKeyDictionary()

    def include_from_now_on(self, nodes: Iterable[Node]) -> None:
        """Has the plans that left out one of `nodes` compute it from now on."""
        for node in nodes:
            plan = self.plans.pop(node, None)
            for dispatch in () if plan is None else plan.dispatches:
                dispatch.executable.deferring = None


deferred = Deferred()


HEAVY = 1 << 20
"""Bytes. A leaf of at least this size is large."""


class Heavy(threading.local):
    """Large leaves of this thread that were written and not yet computed: w after `w -= 0.1 * w.grad`.

    They are computed before the next backward pass. Computed together with it, the old w, the old gradient, the new w
    and the new gradient would be in memory at the same time.
    """

    def __init__(self) -> None:
        self.nodes: list[ref[Node]] = []

    def add(self, node: Node) -> None:
        """Adds a leaf that was written, if it is large."""
        if node.aval.nbytes >= HEAVY and not transforming().depth:
            self.nodes.append(ref(node))


heavy = Heavy()


def settle() -> None:
    """Computes what is `deferred` or `heavy`, and still held. It is called before each backward pass, so that the
    graphs of at most one pass are kept for what is deferred."""
    if deferred.plans:
        evaluate([node for node in deferred.plans if node.held()])
        deferred.plans.clear()
    if heavy.nodes:
        nodes = [node for each in heavy.nodes if (node := each()) is not None and node.held()]
        heavy.nodes.clear()
        evaluate(nodes)

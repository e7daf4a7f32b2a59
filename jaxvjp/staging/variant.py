"""One program of a staged function: `Variant`.

`builder` makes it from what a step recorded. `tensors` tells whether it fits a call; `run` runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.record import detached, node_of_value
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.plan import Plan
from jaxvjp.core.run.values import operand_of
from jaxvjp.ops.op import Aval
from jaxvjp.staging.graphs import Graph
from jaxvjp.staging.results import Result, Returned, Write, leaves_made, rewritten
from jaxvjp.staging.seen import Place, Seen
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.trees import unflattened

Check = Callable[[np.ndarray[Any, Any]], Any]
"""Raises torch's error if the values are not such as the step needs."""


class Outside(NamedTuple):
    """A tensor from outside the step: where each call finds it, and which properties it must still have (`has_grad` is
    None if the step does not depend on that).

    It is an argument, the `grad` of another tensor outside (in the slot `owner`), found at a place in the surroundings,
    or always the same tensor.
    """

    argument: int | None
    owner: int | None
    found: Place | None
    tensor: Tensor | None
    aval: Aval
    requires_grad: bool
    has_grad: bool | None
    hooks: tuple[Any, ...]


@dataclass(eq=False)
class Variant:
    """One program of a staged function, for one signature of the arguments and one state of the tensors outside.

    A "slot" is an index into `outside`, an "output" one into the program's outputs, a "number" one into its nodes.
    """

    plan: Plan  # how to compute the program; it has no dispatches where there is a `graph`
    graph: Graph | None  # the program as nodes to record, where the step's result can be differentiated
    avals: list[Aval]  # for each output its shape and dtype
    tracked: list[bool]  # for each output, whether the step differentiates through it
    table: list[Any]  # values of the program's nodes that are constants, by number
    reads: list[tuple[int, int]]  # slots, with the numbers of the nodes that take their values
    draws: list[Callable[[], Tensor]]  # draw the random numbers of a call
    drawn: list[tuple[int, int]]  # indices into `draws`, with the numbers of the nodes that take what is drawn
    inspected: list[tuple[int, Check]]  # slots, with checks of the values of the tensors there
    inspected_draws: list[tuple[int, Check]]  # indices into `draws`, with checks of what is drawn
    # Outputs, with checks of their values, and the numbers of what they are computed from; None if that may differ.
    inspected_results: list[tuple[int, Check, tuple[int, ...] | None]]
    inspection: Graph | None  # where there is a `graph`, the nodes that are checked
    checks: list[Check]  # their checks
    writes: list[Write]  # storages with new contents after the step
    replaced: list[tuple[int, int, int]]  # slots whose `data` is set, with the output and the writes that it counts
    counted: list[tuple[int, int]]  # slots whose `_version` rises though nothing is written, and by how much
    required: list[tuple[int, bool]]  # slots whose `requires_grad` changes, and what it is after the step
    grads: list[tuple[int, int | None, UserLine]]  # slots whose `grad` is set, with the output or None, and the line
    returned: list[Returned]  # the leaves of the step's result
    structure: Any  # the tree that they are leaves of
    alone: bool  # whether the result is one leaf and no tree
    outside: list[Outside]  # the tensors that the step reads or changes
    aliases: list[int]  # for each of them the slot of the first that shares its storage
    first: dict[int, ref[Tensor]]  # those of the first call, by slot
    tied: list[tuple[Place, int]]  # where in the surroundings some of them were found, and their slot
    seen: list[Seen]  # what the step's code led to besides them
    calls: int = 0  # how often `run` was called
    spent: float = 0.0  # how many seconds that took
    compiled: Any = None  # what its warm path calls: the program compiled, with all numbers as constants
    warm_path: Any = None  # the function that `write_warm_path` wrote last

    def tensors(self, arguments: list[Any]) -> list[Tensor] | None:
        """The tensors outside at this call; None if a property of one, or anything around, has changed."""
        for each in self.seen:
            if not each.same():
                return None
        found: list[Any] = []
        for argument, owner, place, tensor, aval, requires_grad, has_grad, hooks in self.outside:
            if argument is not None:
                tensor = arguments[argument]
            elif owner is not None:
                tensor = found[owner]._grad
            elif place is not None:
                tensor = place.read()
            if not isinstance(tensor, Tensor):
                return None
            node = tensor.__node__
            if (
                node.aval is not aval
                or node.requires_grad is not requires_grad
                or (has_grad is not None and (tensor._grad is not None) is not has_grad)
                or hooks_of(tensor, node) != hooks
            ):
                return None
            found.append(tensor)
        for place, slot in self.tied:
            if place.read() is not found[slot]:
                return None
        return found if aliases_of(found) == self.aliases else None

    def varies(self, slot: int, tensor: Tensor) -> bool:
        """Whether the tensor outside in `slot`, now `tensor`, is expected to differ from call to call."""
        outside = self.outside[slot]
        return outside.argument is not None or outside.owner is not None or self.first[slot]() is not tensor

    def run(self, tensors: list[Tensor]) -> Any:
        """Runs the program on the tensors outside, changes them as the step did, and returns the step's result."""
        self.calls += 1
        for slot, check in self.inspected:
            check(np.asarray(tensors[slot].__value__))
        result = self._recorded(tensors) if self.graph is not None else self._computed(tensors)
        try:
            self._change(tensors, result)
        except BaseException:  # an interrupt is raised when all are changed
            self._change(tensors, result)
            raise
        return unflattened(self.structure, leaves_made(self.returned, result, tensors))

    def _change(self, tensors: list[Tensor], result: Result) -> None:
        """Changes the tensors outside as the step did."""
        for write in self.writes:
            rewritten(tensors[write.slot], result(write.output, write.where), write.times, write.where)
        for slot, at, times in self.replaced:
            tensors[slot].__versions__.count += times
            tensors[slot].data = wrap(result(at, None))
        for slot, times in self.counted:
            tensors[slot].__versions__.count += times
        for slot, requires_grad in self.required:
            tensors[slot].requires_grad = requires_grad
        for slot, output, where in self.grads:
            tensors[slot].__take_grad__(None if output is None else wrap(result(output, where)))

    def _draw(self) -> list[Tensor]:
        """The random numbers of a call."""
        drawn = [draw() for draw in self.draws]
        evaluate([each.__node__ for each in drawn])
        for draw, check in self.inspected_draws:
            check(np.asarray(drawn[draw].__node__.value))
        return drawn

    def _computed(self, tensors: list[Tensor]) -> Result:
        """Runs the program; returns a function that makes a node of a result."""
        values = self.table.copy()
        for slot, number in self.reads:
            values[number] = tensors[slot].__value__
        drawn = self._draw()
        for draw, number in self.drawn:
            values[number] = operand_of(drawn[draw].__node__)
        self.plan.run(values)
        for output, check, _ in self.inspected_results:
            check(np.asarray(values[self.plan.outputs[output]]))
        return lambda output, where: node_of_value(values[self.plan.outputs[output]], self.avals[output], where=where)

    def _recorded(self, tensors: list[Tensor]) -> Result:
        """Records the program as nodes; returns a function that makes a node of a result."""
        assert self.graph is not None
        drawn = self._draw()

        def today(source: tuple[bool, int]) -> Node:
            return (drawn if source[0] else tensors)[source[1]].__node__

        if self.inspection is not None:
            inspected = self.inspection.record(today)
            evaluate(inspected)
            for node, check in zip(inspected, self.checks, strict=True):
                check(np.asarray(node.value))
        nodes = self.graph.record(today)

        def result(output: int, where: UserLine) -> Node:
            node = nodes[output]
            if not self.tracked[output]:  # it was made under `no_grad`, or detached, or is a leaf
                return detached(node)
            return Node(node.operation, node.static, node.inputs, node.aval, node.requires_grad, where=where)

        return result


def aliases_of(tensors: list[Tensor]) -> list[int]:
    """For each tensor the index of the first that shares its storage."""
    first: dict[Any, int] = {}
    return [
        first.setdefault(each if each.__storage__ is None else each.__storage__, at) for at, each in enumerate(tensors)
    ]


def hooks_of(tensor: Tensor, node: Node) -> tuple[Any, ...]:
    """Hooks that a backward pass calls for this tensor."""
    after = tensor.__after_accumulation__
    found: list[Any] = [] if after is None else [*after.values()]
    if node.special:
        found += (node.hooks or {}).values()
        if node.step_hooks is not None:
            found += [*node.step_hooks.before.values(), *node.step_hooks.after.values()]
    return tuple(found)

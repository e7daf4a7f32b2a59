"""One program of a staged function: `Variant`.

It is made from what a step recorded. `tensors` tells whether it fits a call; `run` runs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from jaxvjp.core.record.graph import Node, Number, reachable
from jaxvjp.core.record.lifetime import drop_inputs_if_done
from jaxvjp.core.record.modes import tracking
from jaxvjp.core.record.record import detached, node_of_value, record
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.loop_search import roll_loops
from jaxvjp.core.run.plan import Plan, plan_of
from jaxvjp.core.run.survey import survey
from jaxvjp.core.run.values import operand_of
from jaxvjp.ops.identity import clone, detach, variable
from jaxvjp.ops.op import Aval
from jaxvjp.staging.graphs import Graph
from jaxvjp.staging.journal import Journal
from jaxvjp.staging.results import (
    Finished,
    Result,
    Returned,
    Write,
    alias_as,
    leaves_made,
    rewritten,
    unfinished,
)
from jaxvjp.staging.seen import Place
from jaxvjp.staging.surroundings import Surroundings
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.trees import flattened, unflattened


class Outside(NamedTuple):
    """A tensor from outside the step: where each call finds it, and which properties it must still have (`has_grad` is
    None if the step does not depend on that).

    It is an argument, the `grad` of another tensor outside (`owner`), found at a place in the surroundings, or always
    the same tensor.
    """

    argument: int | None
    owner: int | None
    found: Place | None
    tensor: Tensor | None
    aval: Aval
    requires_grad: bool
    has_grad: bool | None
    hooks: tuple[Any, ...]


class Variant:
    """One program of a staged function, for one signature of the arguments and one state of the tensors outside.

    A "place" is an index into `outside`, an "output" one into the program's outputs.

    Attributes:
        seen: what its code led to besides tensors.
        tied: pairs of a place in the surroundings and the place outside of the tensor that was found there.
        first: the tensors outside at the first call.
        outside: the tensors that the step reads or changes.
        aliases: for each of them the place of the first that shares its storage.
        tracked: for each output, whether the step differentiates through it.
        table: values of those nodes of the program that are constants, by number.
        reads: pairs of a place outside and the number of the program's node that takes its value.
        draws: functions that draw the random numbers of a call.
        drawn: pairs of an index into `draws` and the number of the node that takes these numbers.
        writes: storages with new contents after the step.
        replaced: for each tensor outside whose `data` the step sets, its place, the output, and how many writes
            in place it counts.
        inspected: pairs of a place outside and a function that checks the values of the tensor there.
        inspected_draws: the same for the random numbers, with an index into `draws`.
        inspected_results: the same for outputs of the program.
        inspection, checks: the same where the program is recorded and not run: a `Graph` of the nodes to check, and the
            checks.
        counted: for each tensor outside whose `_version` rises though nothing is written, its place and by how much.
        required: pairs of a place outside and its `requires_grad` after the step, where that changes.
        grads: for each `grad` that the step sets, the place outside, the output or None, and the line.
        returned: the leaves of the step's result.
        calls, spent: how often `run` was called, and how many seconds that took.
        compiled: what `warm` compiled of it, with all numbers as constants; None before.
    """

    def __init__(self, journal: Journal, surroundings: Surroundings, arguments: list[Any], result: Any) -> None:
        self.seen = surroundings.seen
        self._found = surroundings.places()
        self.outside: list[Outside] = []
        self.calls = 0
        self.spent = 0.0
        self.compiled: Any = None
        self.warm: Any = None
        self._journal = journal
        self._places: dict[Tensor, int] = {}
        self._owners: dict[Tensor, Tensor] = {}
        self._copies: dict[Node, Node] = {}
        leaves, self.structure = flattened(result)
        self.alone = len(leaves) == 1 and leaves[0] is result
        shown = {tensor: node for tensor, node in journal.nodes.items() if journal.older(node)}
        graded = [each for each in journal.grads if journal.older(journal.before(each))]
        given = [each for each in arguments if isinstance(each, Tensor)]
        written = self._written(
            [*given, *shown, *graded, *[each for each in journal.grads.values() if each is not None]]
        )
        before_written = {each for each, node in journal.contents.items() if journal.older(node)}
        replaced = [
            tensor
            for tensor, node in shown.items()
            if tensor._base_tensor is None and tensor._storage not in before_written and not _same(tensor.node, node)
        ]
        for each, (storage, path, base, *_) in journal.places.items():
            if base is not None or each._path is not None or path is not None:
                journal.refuse("gives a view other data, or a tensor another shape in place", each._node.where)
            elif each._storage is not storage and journal.older(each.storage.contents):
                journal.refuse("gives a tensor the data of another that was there before", each._node.where)
            if journal.refused is not None:
                return
        own = set(written.values())
        grads = {
            each: each._grad
            for each in graded
            if each._grad is None or (each._grad not in own and each._grad is not journal.grad_before(each))
        }
        for grad in grads.values():
            if grad is not None and (grad.requires_grad or journal.older(journal.before(grad))):
                what = "that requires a gradient" if grad.requires_grad else "that was there before, not a copy of it"
                journal.refuse(f"gives a grad {what}", grad._node.where)
                return
        ends = [each for each in leaves if isinstance(each, Tensor)]
        self._ends = {each: each.node for each in ends}  # read once: a view whose base was written makes a node a read
        outputs = [*map(self._node, ends), *map(self._contents, written.values())]
        live = any(unfinished(each, journal.values) for each in self._ends.values()) or any(map(unfinished, outputs))
        outputs += [self._set(each) for each in (*replaced, *grads.values()) if each is not None]
        inner = [each for each in journal.inspections if not journal.older(each[0]) and each[0].inputs]
        if not live:
            outputs += [node for node, _ in inner]
        inside = reachable(outputs, lambda node: () if journal.older(node) else node.inputs)
        if live:
            _check_graph(outputs, inside, journal, bool(graded or replaced))
            if journal.refused is not None:
                return
        evaluate([node for node in inside if journal.older(node)])
        for node in inside:
            if not journal.older(node) and node.operation is not None and node.inputs:
                node.value = None  # a value here is that of a tensor outside, which another call replaces
        self.recorded = found = survey(outputs, outputs)
        self.plan = Plan((), tuple(found.kept)) if live else roll_loops(plan_of(found))
        for argument, each in enumerate(arguments):
            if isinstance(each, Tensor) and each not in self._places:
                self._add(each, argument=argument)
        before = {node: each for each, node in journal.nodes.items()}
        met = [before.get(node, node.tensor) for node in found.nodes if type(node) is Node and journal.older(node)]
        for each in (*graded, *journal.asked, *given, *shown, *written.values(), *met):
            grad = None if each is None else journal.grad_before(each)
            if grad is not None and journal.older(journal.before(grad)):
                self._owners.setdefault(grad, each)
        # The step may have asked whether these had a grad; and all aliases of what it changed must be known.
        for each in (*graded, *journal.asked, *shown):
            if journal.older(journal.before(each)):
                self._place(each)
        noted = {each for each in journal.contents.values() if journal.older(each)}
        self.table: list[Any] = [None] * len(found.nodes)
        self.reads: list[tuple[int, int]] = []
        for number, node in enumerate(found.nodes):
            if node.value is not None:
                tensor = None if isinstance(node, Number) else before.get(node, node.tensor)
                if tensor is None or not journal.older(node):
                    if node in noted:  # another call would find something else there
                        journal.refuse(
                            "writes a part of what only a tensor had that is gone: `x = x.clone()`", node.where
                        )
                    self.table[number] = node.value
                else:
                    self.reads.append((self._place(tensor), number))
        self.draws = [draw for _, draw in journal.draws]
        drawn = {node: place for place, (node, _) in enumerate(journal.draws)}
        self.inspected_draws = [(drawn[node], check) for node, check in journal.inspections if node in drawn]
        self.drawn = [(drawn[node], number) for number, node in enumerate(found.nodes) if node in drawn]
        output = {number: place for place, number in enumerate(self.plan.outputs)}

        def output_of(node: Node) -> int:
            return output[found.place_of[node]]

        self.inspected = [
            (self._place(before.get(node, node.tensor)), check)
            for node, check in journal.inspections
            if journal.older(node) and before.get(node, node.tensor) is not None
        ]
        self.inspected_results = [] if live else [(output[found.place_of[node]], check) for node, check in inner]
        self.writes = [self._write(each, output_of(self._contents(each))) for each in written.values()]
        self.replaced = [(self._place(each), output_of(self._set(each)), self._times(each)) for each in replaced]
        counted = {each.versions for each in (*written.values(), *replaced)}
        self.counted: list[tuple[int, int]] = []
        for each, place in self._places.items():
            if each.versions in journal.counts and each.versions not in counted:  # for example by `x.detach().t_()`
                counted.add(each.versions)
                self.counted.append((place, self._times(each)))
        self.required = [
            (self._place(each), each.requires_grad)
            for each, node in shown.items()
            if each.requires_grad is not node.requires_grad
        ]
        self.grads = [
            (self._place(each), *((None, None) if grad is None else (output_of(self._set(grad)), grad.node.where)))
            for each, grad in grads.items()
        ]
        owners = {grad: self._place(each) for each, grad in grads.items() if grad is not None}
        self.returned = [self._returned(each, owners, output) for each in leaves]
        self._note_aliases_among(leaves)
        self.avals = [found.nodes[number].aval for number in self.plan.outputs]
        ends_of_graph = [found.nodes[number] for number in self.plan.outputs]
        self.tracked = [each.requires_grad and not each.is_leaf for each in ends_of_graph]
        self.graph = None
        if live:
            sources: dict[Any, Any] = {found.nodes[number]: (False, place) for place, number in self.reads}
            sources |= {found.nodes[number]: (True, place) for place, number in self.drawn}
            self.graph = Graph(ends_of_graph, inside, sources)
            self.checks = [check for _, check in inner]
            wanted = [node for node, _ in inner]
            led = reachable(wanted, lambda node: () if journal.older(node) else node.inputs)
            self.inspection = Graph(wanted, led, sources) if wanted else None
        self.aliases = aliases_of(list(self._places))
        self.first = {at: ref(each) for each, at in self._places.items()}
        self.tied = [
            (each.place, self._places[each.value])
            for each in self.seen
            if issubclass(type(each.value), Tensor) and each.value in self._places
        ]
        self.seen = [
            each for each in self.seen if not (issubclass(type(each.value), Tensor) and each.value in self._places)
        ]

    def _written(self, known: Iterable[Tensor]) -> dict[Any, Tensor]:
        """For each storage from outside that was written, a tensor on it; one that spans all of it if there is one."""
        journal = self._journal
        storages = {each for each, node in journal.contents.items() if journal.older(node)}
        written: dict[Any, Tensor] = {}
        read = reachable([each.contents for each in storages], lambda node: () if journal.older(node) else node.inputs)
        for each in (*known, *(node.tensor for node in (*journal.contents.values(), *read))):
            for shown in () if each is None else (each, each._base_tensor):
                if shown is not None and shown._storage in storages and journal.older(journal.before(shown)):
                    if shown._storage not in written or (written[shown._storage].path and not shown.path):
                        written[shown._storage] = shown
                    journal.note_node(shown)  # its node is replaced when it is next read
        for storage in storages.difference(written):
            journal.refuse("writes to what no tensor from outside shows any more", storage.contents.where)
        return written

    def _write(self, tensor: Tensor, output: int) -> Write:
        return Write(self._place(tensor), output, self._times(tensor), tensor.versions.where)

    def _times(self, tensor: Tensor) -> int:
        """How often the step wrote to a tensor in place."""
        count = tensor.versions.count
        return count - self._journal.counts.get(tensor.versions, count)

    def _set(self, tensor: Tensor) -> Node:
        """The node of a tensor that becomes the `data` or the `grad` of one outside. A constant of the step, such as
        `torch.ones(3)`, is copied: so it is an output of the program as others are."""
        node = self._node(tensor)
        if node.inputs or self._journal.older(node):
            return node
        if node not in self._copies:
            with tracking(False):
                self._copies[node] = record(clone, (node,))
        return self._copies[node]

    def _node(self, tensor: Tensor) -> Node:
        node = self._ends.get(tensor) or tensor.node
        return self._journal.values.get(node, node)

    def _contents(self, tensor: Tensor) -> Node:
        """The node whose value is the whole storage of a tensor."""
        return tensor.storage.contents if tensor.path else self._node(tensor)

    def _place(self, tensor: Tensor) -> int:
        if tensor not in self._places:
            owner = self._owners.get(tensor)
            if owner is None:
                self._add(tensor, tensor=tensor)
            else:
                self._add(tensor, owner=self._place(owner))
        return self._places[tensor]

    def _add(
        self, found: Tensor, argument: int | None = None, owner: int | None = None, tensor: Tensor | None = None
    ) -> None:
        node = self._journal.before(found)
        self._places[found] = len(self.outside)
        has_grad = None
        if found in self._journal.grads or found in self._journal.asked:
            has_grad = self._journal.grad_before(found) is not None
        hooks = hooks_of(found, node)
        place = self._found.get(found) if tensor is not None else None
        tensor = tensor if place is None else None
        self.outside.append(Outside(argument, owner, place, tensor, node.aval, node.requires_grad, has_grad, hooks))

    def _returned(self, leaf_: Any, owners: dict[Tensor, int], output: dict[int, int]) -> Returned:
        if not isinstance(leaf_, Tensor):
            return Returned(leaf_)
        if leaf_ in self._places:
            return Returned(place=self._places[leaf_])
        if leaf_ in owners:
            return Returned(owner=owners[leaf_])
        if leaf_._storage is not None:
            shared = [each for each in self._places if each._storage is leaf_._storage]
            for each in shared:
                alias = alias_as(leaf_, each)
                if alias is not None:
                    return Returned(place=self._places[each], alias=alias)
            if shared:
                what = "returns an alias of a tensor outside, of which it shows another part"
                self._journal.refuse(what, leaf_.node.where)
        node = self._node(leaf_)
        number = self.recorded.place_of[node]
        shown = self._ends[leaf_]
        tracked = shown.requires_grad and shown.is_leaf
        if number not in output:
            return Returned(node.value, aval=node.aval, where=node.where, tracked=tracked)
        finished = None
        if shown.requires_grad and not shown.is_leaf and not unfinished(shown, self._journal.values):
            finished = Finished(shown.operation, shown.static, shown.avals_read())
        return Returned(output=output[number], aval=node.aval, where=shown.where, finished=finished, tracked=tracked)

    def _note_aliases_among(self, leaves: list[Any]) -> None:
        """Has leaves of the result that are made anew, such as `y` and `y.t()`, share their memory at each call."""
        whole: dict[Any, int] = {}
        made = [at for at, each in enumerate(self.returned) if each.output is not None]
        for at in sorted(made, key=lambda at: (leaves[at]._base_tensor is not None, bool(leaves[at].path))):
            storage = leaves[at]._storage
            if storage is not None and whole.setdefault(storage, at) != at:
                alias = alias_as(leaves[at], leaves[whole[storage]])
                if alias is not None:
                    self.returned[at] = Returned(leaf=whole[storage], alias=alias)
                elif leaves[whole[storage]]._base_tensor is None:
                    self._journal.refuse(
                        "returns tensors that share memory, one with another shape than when it was viewed"
                    )

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
            node = tensor.node
            if (
                node.aval is not aval
                or node.requires_grad is not requires_grad
                or (has_grad is not None and (tensor._grad is not None) is not has_grad)
                or hooks_of(tensor, node) != hooks
            ):
                return None
            found.append(tensor)
        for place, at in self.tied:
            if place.read() is not found[at]:
                return None
        return found if aliases_of(found) == self.aliases else None

    def varies(self, at: int, tensor: Tensor) -> bool:
        """Whether the tensor outside at place `at`, now `tensor`, is expected to differ from call to call."""
        outside = self.outside[at]
        return outside.argument is not None or outside.owner is not None or self.first[at]() is not tensor

    def compute(self) -> None:
        """Computes what the step recorded, at its first call; nothing where the result can still be differentiated."""
        values = [each.value for each in self.recorded.nodes]
        self.plan.run(values)
        for place in self.plan.outputs:
            node = self.recorded.nodes[place]
            node.value = values[place]
            drop_inputs_if_done(node)
        for root, node in self._journal.values.items():
            if node.value is not None:
                root.value = node.value
                drop_inputs_if_done(root)
        # They keep computed values alive.
        del self.recorded, self._journal, self._places, self._owners, self._copies, self._found

    def run(self, tensors: list[Tensor]) -> Any:
        """Runs the program on the tensors outside, changes them as the step did, and returns the step's result."""
        self.calls += 1
        for place, check in self.inspected:
            check(np.asarray(tensors[place].value))
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
            rewritten(tensors[write.place], result(write.output, write.where), write.times, write.where)
        for place, at, times in self.replaced:
            tensors[place].versions.count += times
            tensors[place].data = wrap(result(at, None))
        for place, times in self.counted:
            tensors[place].versions.count += times
        for place, requires_grad in self.required:
            tensors[place].requires_grad = requires_grad
        for place, output, where in self.grads:
            tensors[place]._take_grad(None if output is None else wrap(result(output, where)))

    def _draw(self) -> list[Tensor]:
        """The random numbers of a call."""
        drawn = [draw() for draw in self.draws]
        evaluate([each.node for each in drawn])
        for place, check in self.inspected_draws:
            check(np.asarray(drawn[place].node.value))
        return drawn

    def _computed(self, tensors: list[Tensor]) -> Result:
        """Runs the program; returns a function that makes a node of a result."""
        values = self.table.copy()
        for place, number in self.reads:
            values[number] = tensors[place].value
        drawn = self._draw()
        for place, number in self.drawn:
            values[number] = operand_of(drawn[place].node)
        self.plan.run(values)
        for output, check in self.inspected_results:
            check(np.asarray(values[self.plan.outputs[output]]))
        return lambda output, where: node_of_value(values[self.plan.outputs[output]], self.avals[output], where=where)

    def _recorded(self, tensors: list[Tensor]) -> Result:
        """Records the program as nodes; returns a function that makes a node of a result."""
        assert self.graph is not None
        drawn = self._draw()

        def today(source: tuple[bool, int]) -> Node:
            return (drawn if source[0] else tensors)[source[1]].node

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
    """For each tensor the place of the first that shares its storage."""
    first: dict[Any, int] = {}
    return [
        first.setdefault(each if each._storage is None else each._storage, place) for place, each in enumerate(tensors)
    ]


def hooks_of(tensor: Tensor, node: Node) -> tuple[Any, ...]:
    """Hooks that a backward pass calls for this tensor."""
    after = tensor._after_accumulation
    found: list[Any] = [] if after is None else [*after.values()]
    if node.special:
        found += (node.hooks or {}).values()
        if node.step_hooks is not None:
            found += [*node.step_hooks.before.values(), *node.step_hooks.after.values()]
    return tuple(found)


def _same(after: Node, before: Node) -> bool:
    """Whether a tensor whose `_node` was `before` and is `after` has the same value."""
    return after is before or (after.operation in (variable, detach) and after.inputs == (before,))


def _check_graph(outputs: list[Node], inside: list[Node], journal: Journal, steps: bool) -> None:
    """Refuses a function whose result requires a gradient, if its program alone cannot give that gradient.

    That is so if it also calls `backward` (the same gradient might be asked for twice), or has hooks or a Python
    `Function`.
    """
    if steps:
        journal.refuse(
            "sets gradients and gives a tensor whose gradient could still be asked for: return `y.detach()`, or do one "
            "of the two outside",
            next((each.where for each in outputs if unfinished(each)), None),
        )
    for node in inside:
        if not journal.older(node) and (node.stands_alone or node.hooks or node.retains):
            journal.refuse("gives a tensor whose gradient would call Python", node.where)

"""Makes a `Variant` from what a step recorded: `Builder`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import ref

from jaxvjp.core.record.graph import Node, Number, reachable
from jaxvjp.core.record.lifetime import drop_inputs_if_done
from jaxvjp.core.record.modes import tracking
from jaxvjp.core.record.record import record
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.loop_search import roll_loops
from jaxvjp.core.run.plan import Plan, plan_of
from jaxvjp.core.run.survey import survey
from jaxvjp.ops.identity import clone, detach, variable
from jaxvjp.staging.graphs import Graph
from jaxvjp.staging.journal import Journal
from jaxvjp.staging.results import Finished, Returned, Write, alias_as, unfinished
from jaxvjp.staging.surroundings import Surroundings
from jaxvjp.staging.variant import Outside, Variant, aliases_of, hooks_of
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.tensor.trees import flattened


class Builder:
    """Makes the program of a step from what the step recorded, with `variant`; `compute` runs it for the first call.

    A "place" is an index into `outside`, an "output" one into the program's outputs.
    """

    def __init__(self, journal: Journal, surroundings: Surroundings, arguments: list[Any], result: Any) -> None:
        self._journal = journal
        self._surroundings = surroundings
        self._arguments = arguments
        self._result = result
        self._found = surroundings.places()
        self.outside: list[Outside] = []
        self._places: dict[Tensor, int] = {}
        self._owners: dict[Tensor, Tensor] = {}
        self._copies: dict[Node, Node] = {}

    def variant(self) -> Variant | None:
        """The program for later calls; None if the step cannot be staged."""
        journal, arguments, result, seen = self._journal, self._arguments, self._result, self._surroundings.seen
        leaves, structure = flattened(result)
        alone = len(leaves) == 1 and leaves[0] is result
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
                return None
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
                return None
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
                return None
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
        table: list[Any] = [None] * len(found.nodes)
        reads: list[tuple[int, int]] = []
        for number, node in enumerate(found.nodes):
            if node.value is not None:
                tensor = None if isinstance(node, Number) else before.get(node, node.tensor)
                if tensor is None or not journal.older(node):
                    if node in noted:  # another call would find something else there
                        journal.refuse(
                            "writes a part of what only a tensor had that is gone: `x = x.clone()`", node.where
                        )
                    table[number] = node.value
                else:
                    reads.append((self._place(tensor), number))
        draws = [draw for _, draw in journal.draws]
        draw_of = {node: place for place, (node, _) in enumerate(journal.draws)}
        inspected_draws = [(draw_of[node], check) for node, check in journal.inspections if node in draw_of]
        drawn = [(draw_of[node], number) for number, node in enumerate(found.nodes) if node in draw_of]
        output = {number: place for place, number in enumerate(self.plan.outputs)}

        def output_of(node: Node) -> int:
            return output[found.place_of[node]]

        inspected = [
            (self._place(before.get(node, node.tensor)), check)
            for node, check in journal.inspections
            if journal.older(node) and before.get(node, node.tensor) is not None
        ]
        inspected_results = [] if live else [(output[found.place_of[node]], check) for node, check in inner]
        writes = [self._write(each, output_of(self._contents(each))) for each in written.values()]
        set_data = [(self._place(each), output_of(self._set(each)), self._times(each)) for each in replaced]
        known = {each.versions for each in (*written.values(), *replaced)}
        counted: list[tuple[int, int]] = []
        for each, place in self._places.items():
            if each.versions in journal.counts and each.versions not in known:  # for example by `x.detach().t_()`
                known.add(each.versions)
                counted.append((place, self._times(each)))
        required = [
            (self._place(each), each.requires_grad)
            for each, node in shown.items()
            if each.requires_grad is not node.requires_grad
        ]
        set_grads = [
            (self._place(each), *((None, None) if grad is None else (output_of(self._set(grad)), grad.node.where)))
            for each, grad in grads.items()
        ]
        owners = {grad: self._place(each) for each, grad in grads.items() if grad is not None}
        self.returned = [self._returned(each, owners, output) for each in leaves]
        self._note_aliases_among(leaves)
        avals = [found.nodes[number].aval for number in self.plan.outputs]
        ends_of_graph = [found.nodes[number] for number in self.plan.outputs]
        tracked = [each.requires_grad and not each.is_leaf for each in ends_of_graph]
        graph, checks, inspection = None, [], None
        if live:
            sources: dict[Any, Any] = {found.nodes[number]: (False, place) for place, number in reads}
            sources |= {found.nodes[number]: (True, place) for place, number in drawn}
            graph = Graph(ends_of_graph, inside, sources)
            checks = [check for _, check in inner]
            wanted = [node for node, _ in inner]
            led = reachable(wanted, lambda node: () if journal.older(node) else node.inputs)
            inspection = Graph(wanted, led, sources) if wanted else None
        aliases = aliases_of(list(self._places))
        first = {at: ref(each) for each, at in self._places.items()}
        tied = [
            (each.place, self._places[each.value])
            for each in seen
            if issubclass(type(each.value), Tensor) and each.value in self._places
        ]
        seen = [each for each in seen if not (issubclass(type(each.value), Tensor) and each.value in self._places)]
        made = Variant(
            seen=seen,
            tied=tied,
            first=first,
            outside=self.outside,
            aliases=aliases,
            plan=self.plan,
            avals=avals,
            tracked=tracked,
            table=table,
            reads=reads,
            draws=draws,
            drawn=drawn,
            writes=writes,
            replaced=set_data,
            counted=counted,
            required=required,
            grads=set_grads,
            inspected=inspected,
            inspected_draws=inspected_draws,
            graph=graph,
            inspected_results=inspected_results,
            inspection=inspection,
            checks=checks,
            returned=self.returned,
            structure=structure,
            alone=alone,
        )
        return made if journal.refused is None else None

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

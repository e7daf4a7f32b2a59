"""Makes a `Variant` from what a step recorded: `Builder`."""

from __future__ import annotations

from collections.abc import Container
from typing import Any
from weakref import ref

from jaxvjp.core.record.graph import Node, Number, gradient_edges, reachable
from jaxvjp.core.record.lifetime import drop_inputs_if_done
from jaxvjp.core.record.modes import tracking
from jaxvjp.core.record.record import record
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.pieces import STAGED_PIECE
from jaxvjp.core.run.plan import Plan, plan_of
from jaxvjp.core.run.survey import Survey, survey
from jaxvjp.ops.identity import clone, detach, variable
from jaxvjp.staging.graphs import Graph
from jaxvjp.staging.journal import Journal
from jaxvjp.staging.results import Finished, Returned, Write, alias_as, unfinished
from jaxvjp.staging.seen import Seen
from jaxvjp.staging.surroundings import Surroundings
from jaxvjp.staging.variant import Outside, Variant, aliases_of, hooks_of
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.tensor.trees import flattened


class Builder:
    """Makes a `Variant` from what a step recorded, with `variant`; `compute` then computes the first call's results."""

    def __init__(self, journal: Journal, surroundings: Surroundings, arguments: list[Any], result: Any) -> None:
        self.journal = journal
        self.seen = surroundings.seen
        self.found = surroundings.places()
        self.arguments = arguments
        self.leaves, self.structure = flattened(result)
        self.alone = len(self.leaves) == 1 and self.leaves[0] is result
        self.given = [argument for argument in arguments if isinstance(argument, Tensor)]
        # Tensors from outside whose `_node` was replaced, with the node before; and those whose `grad` was set.
        self.shown = {tensor: node for tensor, node in journal.nodes.items() if journal.older(node)}
        self.graded = [gradient for gradient in journal.grads if journal.older(journal.before(gradient))]
        self.written = self._written()
        self.replaced = self._replaced()
        self.grads = self._grads()
        self.outside: list[Outside] = []
        self.slots: dict[Tensor, int] = {}  # the index of a tensor in `outside`
        self.owners: dict[Tensor, Tensor] = {}  # for a `grad` that was there before, whose it was
        self.copies: dict[Node, Node] = {}  # for a constant that becomes the `data` or `grad` of a tensor, a copy

    def variant(self) -> Variant | None:
        """The program for later calls; None if the step cannot be staged."""
        journal = self.journal
        for part in (self._check_changes, self._find_program, self._find_slots):
            if journal.refused is None:
                part()
        if journal.refused is not None:
            return None
        table, reads = self._reads()
        if journal.refused is not None:
            return None
        draws = {node: at for at, (node, _) in enumerate(journal.draws)}
        drawn = [(draws[node], number) for number, node in enumerate(self.recorded.nodes) if node in draws]
        outputs = [self.recorded.nodes[number] for number in self.plan.outputs]
        graph, inspection = self._graphs(outputs, reads, drawn) if self.live else (None, None)
        made = Variant(
            plan=self.plan,
            avals=[output.aval for output in outputs],
            tracked=[output.requires_grad and not output.is_leaf for output in outputs],
            graph=graph,
            table=table,
            reads=reads,
            draws=[draw for _, draw in journal.draws],
            drawn=drawn,
            # Down to `returned`, tensors may still be added to `outside`, which is looked through after that.
            inspected=[
                (self._slot(tensor), check)
                for node, check in journal.inspections
                if journal.older(node) and (tensor := self._tensor_before(node)) is not None
            ],
            inspected_draws=[(draws[node], check) for node, check in journal.inspections if node in draws],
            inspected_results=[]
            if self.live
            else [(self._output(node), check, self._read_for(node, draws)) for node, check in self.inner],
            inspection=inspection,
            checks=[check for _, check in self.inner],
            writes=[
                Write(self._slot(each), self._output(self._contents(each)), self._times(each), each.__versions__.where)
                for each in self.written.values()
            ],
            replaced=[(self._slot(each), self._output(self._set(each)), self._times(each)) for each in self.replaced],
            counted=self._counted(),
            required=[
                (self._slot(each), each.requires_grad)
                for each, node in self.shown.items()
                if each.requires_grad is not node.requires_grad
            ],
            grads=[
                (self._slot(each), None, None)
                if grad is None
                else (self._slot(each), self._output(self._set(grad)), grad.__node__.where)
                for each, grad in self.grads.items()
            ],
            returned=self._returned(),
            structure=self.structure,
            alone=self.alone,
            outside=self.outside,
            aliases=aliases_of(list(self.slots)),
            first={slot: ref(each) for each, slot in self.slots.items()},
            tied=[(each.place, self.slots[each.value]) for each in self.seen if self._is_outside(each)],
            seen=[each for each in self.seen if not self._is_outside(each)],
        )
        return made if journal.refused is None else None

    def compute(self) -> None:
        """Computes what the step recorded, at its first call; nothing where the result can still be differentiated."""
        values = [each.value for each in self.recorded.nodes]
        self.plan.run(values)
        for number in self.plan.outputs:
            node = self.recorded.nodes[number]
            node.value = values[number]
            drop_inputs_if_done(node)
        for root, node in self.journal.values.items():
            if node.value is not None:
                root.value = node.value
                drop_inputs_if_done(root)

    # What the step changed.

    def _written(self) -> dict[Any, Tensor]:
        """For each storage from outside that was written, a tensor on it; one that spans all of it if there is one."""
        journal = self.journal
        known = [*self.given, *self.shown, *self.graded, *[each for each in journal.grads.values() if each is not None]]
        storages = {each for each, node in journal.contents.items() if journal.older(node)}
        written: dict[Any, Tensor] = {}
        read = self._behind([each.contents for each in storages])
        for each in (*known, *(node.tensor for node in (*journal.contents.values(), *read))):
            for shown in () if each is None else (each, each.__base_tensor__):
                if shown is not None and shown.__storage__ in storages and journal.older(journal.before(shown)):
                    if shown.__storage__ not in written or (
                        written[shown.__storage__].__view_path__ and not shown.__view_path__
                    ):
                        written[shown.__storage__] = shown
                    journal.note_node(shown)  # its node is replaced when it is next read
        for storage in storages.difference(written):
            journal.refuse("writes to what no tensor from outside shows any more", storage.contents.where)
        return written

    def _replaced(self) -> list[Tensor]:
        """The tensors from outside whose `data` was set."""
        written = {each for each, node in self.journal.contents.items() if self.journal.older(node)}
        return [
            tensor
            for tensor, node in self.shown.items()
            if tensor in self.journal.places  # another node alone is no other value: it was read again
            and not (
                tensor.__base_tensor__ is not None or tensor.__storage__ in written or _same(tensor.__node__, node)
            )
        ]

    def _grads(self) -> dict[Tensor, Tensor | None]:
        """For each tensor from outside that has another `grad` than before, that one; those written in place apart."""
        own = set(self.written.values())
        return {
            each: each._grad
            for each in self.graded
            if each._grad is None or (each._grad not in own and each._grad is not self.journal.grad_before(each))
        }

    def _check_changes(self) -> None:
        """Refuses a step that gives a tensor from outside what no program could give it again."""
        journal = self.journal
        for each, (storage, path, base, *_) in journal.places.items():
            if base is not None or each.__own_path__ is not None or path is not None:
                journal.refuse("gives a view other data, or a tensor another shape in place", each.__shown__.where)
            elif each.__storage__ is not storage and journal.older(each.storage.contents):
                journal.refuse("gives a tensor the data of another that was there before", each.__shown__.where)
            if journal.refused is not None:
                return
        for grad in self.grads.values():
            if grad is not None and (grad.requires_grad or journal.older(journal.before(grad))):
                what = "that requires a gradient" if grad.requires_grad else "that was there before, not a copy of it"
                journal.refuse(f"gives a grad {what}", grad.__shown__.where)
                return

    def _times(self, tensor: Tensor) -> int:
        """How often the step wrote to a tensor in place."""
        count = tensor.__versions__.count
        return count - self.journal.counts.get(tensor.__versions__, count)

    def _counted(self) -> list[tuple[int, int]]:
        """The slots of tensors whose `_version` rose though nothing was written, and by how much."""
        counted: list[tuple[int, int]] = []
        known = {each.__versions__ for each in (*self.written.values(), *self.replaced)}
        for each, slot in self.slots.items():
            if (
                each.__versions__ in self.journal.counts and each.__versions__ not in known
            ):  # for example by `x.detach().t_()`
                known.add(each.__versions__)
                counted.append((slot, self._times(each)))
        return counted

    # The program.

    def _find_program(self) -> None:
        """Finds the program: what was recorded on the way to what the step returns and changes.

        Sets `ends`, the nodes of the tensors that are returned; `live`, whether a gradient of them could still be asked
        for; `inner`, the inspections of what the program computes; `inside`, its nodes in the order of recording; and
        its survey, `recorded`, with its `plan`.
        """
        journal = self.journal
        ends = [leaf for leaf in self.leaves if isinstance(leaf, Tensor)]
        self.ends = {
            each: each.__node__ for each in ends
        }  # read once: a view whose base was written makes a node a read
        outputs = [*map(self._node, ends), *map(self._contents, self.written.values())]
        returned = self.ends.values()
        self.live = any(unfinished(each, journal.values) for each in returned) or any(map(unfinished, outputs))
        outputs += [self._set(each) for each in (*self.replaced, *self.grads.values()) if each is not None]
        self.inner = [each for each in journal.inspections if not journal.older(each[0]) and each[0].inputs]
        if not self.live:
            outputs += [node for node, _ in self.inner]
        self.inside = self._behind(outputs)
        if self.live:
            self._check_graph(outputs)
            if journal.refused is not None:
                return
        evaluate([node for node in self.inside if journal.older(node)])
        for node in self.inside:
            if not journal.older(node) and node.operation is not None and node.inputs:
                node.value = None  # a value here is that of a tensor outside, which another call replaces
        self.recorded = survey(outputs, outputs)
        self.plan = Plan((), tuple(self.recorded.kept)) if self.live else _plan_of(self.recorded)
        self.outputs = {number: at for at, number in enumerate(self.plan.outputs)}

    def _behind(self, outputs: list[Node]) -> list[Node]:
        """The nodes that lead to `outputs`, back to those that were there before the step."""
        return reachable(outputs, lambda node: () if self.journal.older(node) else node.inputs)

    def _check_graph(self, outputs: list[Node]) -> None:
        """Refuses a function whose result requires a gradient, if its program alone cannot give that gradient.

        That is so if it also calls `backward` (the same gradient might be asked for twice), or has hooks or a Python
        `Function`.
        """
        if self.graded or self.replaced:
            self.journal.refuse(
                "sets gradients and gives a tensor whose gradient could still be asked for: return `y.detach()`, or do "
                "one of the two outside",
                next((output.where for output in outputs if unfinished(output)), None),
            )
        leaves = {node for node in self.ends.values() if node.requires_grad and node.is_leaf}
        made = {node for node in leaves if not self.journal.older(node)}
        for output in outputs if made else ():
            if unfinished(output) and not made.isdisjoint(reachable([output], gradient_edges)):
                self.journal.refuse(
                    "gives a leaf that it makes and a tensor whose gradient leads to it: make the leaf outside, or "
                    "return one of the two",
                    output.where,
                )
        for node in self.inside:
            if not self.journal.older(node) and (node.stands_alone or node.hooks or node.retains):
                self.journal.refuse("gives a tensor whose gradient would call Python", node.where)

    def _output(self, node: Node) -> int:
        return self.outputs[self.recorded.place_of[node]]

    def _read_for(self, node: Node, draws: Container[Node]) -> tuple[int, ...] | None:
        """The numbers of the nodes from outside that `node` is computed from; None if random numbers are among them."""
        behind = self._behind([node])
        if any(each in draws for each in behind):
            return None
        return tuple([self.recorded.place_of[each] for each in behind if self.journal.older(each)])

    def _graphs(
        self, outputs: list[Node], reads: list[tuple[int, int]], drawn: list[tuple[int, int]]
    ) -> tuple[Graph, Graph | None]:
        """The program as nodes to record; and the part of it that leads to what is inspected, if anything is."""
        nodes = self.recorded.nodes
        sources: dict[Any, Any] = {nodes[number]: (False, slot) for slot, number in reads}
        sources |= {nodes[number]: (True, draw) for draw, number in drawn}
        graph = Graph(outputs, self.inside, sources)
        wanted = [node for node, _ in self.inner]
        return graph, Graph(wanted, self._behind(wanted), sources) if wanted else None

    def _set(self, tensor: Tensor) -> Node:
        """The node of a tensor that becomes the `data` or the `grad` of one outside. A constant of the step, such as
        `torch.ones(3)`, is copied: so it is an output of the program as others are."""
        node = self._node(tensor)
        if node.inputs or self.journal.older(node):
            return node
        if node not in self.copies:
            with tracking(False):
                self.copies[node] = record(clone, (node,))
        return self.copies[node]

    def _node(self, tensor: Tensor) -> Node:
        node = self.ends.get(tensor) or tensor.__node__
        return self.journal.values.get(node, node)

    def _contents(self, tensor: Tensor) -> Node:
        """The node whose value is the whole storage of a tensor."""
        return tensor.storage.contents if tensor.__view_path__ else self._node(tensor)

    # The tensors outside.

    def _find_slots(self) -> None:
        """Gives a slot to each argument, and to each tensor of which the step has asked or changed something.

        Sets `tensors`: for each node that was replaced, the tensor that showed it before.
        """
        journal = self.journal
        for argument, each in enumerate(self.arguments):
            if isinstance(each, Tensor) and each not in self.slots:
                self._add(each, argument=argument)
        self.tensors = {node: each for each, node in journal.nodes.items()}
        nodes = self.recorded.nodes
        met = [self._tensor_before(node) for node in nodes if type(node) is Node and journal.older(node)]
        for each in (*self.graded, *journal.asked, *self.given, *self.shown, *self.written.values(), *met):
            grad = None if each is None else journal.grad_before(each)
            if grad is not None and journal.older(journal.before(grad)):
                self.owners.setdefault(grad, each)
        # The step may have asked whether these had a grad; and all aliases of what it changed must be known.
        for each in (*self.graded, *journal.asked, *self.shown):
            if journal.older(journal.before(each)):
                self._slot(each)

    def _tensor_before(self, node: Node) -> Any:
        """The tensor that showed a node when the step began, or None."""
        return self.tensors.get(node, node.tensor)

    def _reads(self) -> tuple[list[Any], list[tuple[int, int]]]:
        """The values of the program's nodes that are constants; and the slots of the tensors that others are read
        from, with the numbers of these nodes."""
        journal, nodes = self.journal, self.recorded.nodes
        noted = {each for each in journal.contents.values() if journal.older(each)}
        table: list[Any] = [None] * len(nodes)
        reads: list[tuple[int, int]] = []
        for number, node in enumerate(nodes):
            tensor = None if isinstance(node, Number) or not journal.older(node) else self._tensor_before(node)
            if node.value is not None and tensor is not None:
                reads.append((self._slot(tensor), number))
            elif node.value is not None:
                if node in noted:  # another call would find something else there
                    journal.refuse("writes a part of what only a tensor had that is gone: `x = x.clone()`", node.where)
                table[number] = node.value
        return table, reads

    def _is_outside(self, seen: Seen) -> bool:
        """Whether what was seen is one of the tensors outside."""
        return issubclass(type(seen.value), Tensor) and seen.value in self.slots

    def _slot(self, tensor: Tensor) -> int:
        if tensor not in self.slots:
            owner = self.owners.get(tensor)
            if owner is None:
                self._add(tensor, tensor=tensor)
            else:
                self._add(tensor, owner=self._slot(owner))
        return self.slots[tensor]

    def _add(
        self, found: Tensor, argument: int | None = None, owner: int | None = None, tensor: Tensor | None = None
    ) -> None:
        node = self.journal.before(found)
        self.slots[found] = len(self.outside)
        has_grad = None
        if found in self.journal.grads or found in self.journal.asked:
            has_grad = self.journal.grad_before(found) is not None
        hooks = hooks_of(found, node)
        place = self.found.get(found) if tensor is not None else None
        tensor = tensor if place is None else None
        self.outside.append(Outside(argument, owner, place, tensor, node.aval, node.requires_grad, has_grad, hooks))

    # What it returns.

    def _returned(self) -> list[Returned]:
        """The leaves of the step's result, as each call makes them."""
        owners = {grad: self._slot(each) for each, grad in self.grads.items() if grad is not None}
        returned = [self._leaf(leaf, owners) for leaf in self.leaves]
        self._note_aliases_among(returned)
        return returned

    def _leaf(self, leaf_: Any, owners: dict[Tensor, int]) -> Returned:
        if not isinstance(leaf_, Tensor):
            return Returned(leaf_)
        if leaf_ in self.slots:
            return Returned(slot=self.slots[leaf_])
        if leaf_ in owners:
            return Returned(owner=owners[leaf_])
        if leaf_.__storage__ is not None:
            shared = [slot for slot in self.slots if slot.__storage__ is leaf_.__storage__]
            for each in shared:
                alias = alias_as(leaf_, each)
                if alias is not None:
                    return Returned(slot=self.slots[each], alias=alias)
            if shared:
                what = "returns an alias of a tensor outside, of which it shows another part"
                self.journal.refuse(what, leaf_.__node__.where)
        node = self._node(leaf_)
        if leaf_._grad is not None:
            what = "gives a tensor that it makes and whose `grad` it has set: make it outside, or return that `grad`"
            self.journal.refuse(what, node.where)
        output = self.outputs.get(self.recorded.place_of[node])
        shown = self.ends[leaf_]
        tracked = shown.requires_grad and shown.is_leaf
        if output is None:
            return Returned(node.value, aval=node.aval, where=node.where, tracked=tracked)
        finished = None
        if shown.requires_grad and not shown.is_leaf and not unfinished(shown, self.journal.values):
            finished = Finished(shown.operation, shown.static, shown.avals_read())
        return Returned(output=output, aval=node.aval, where=shown.where, finished=finished, tracked=tracked)

    def _note_aliases_among(self, returned: list[Returned]) -> None:
        """Has leaves of the result that are made anew, such as `y` and `y.t()`, share their memory at each call."""
        leaves = self.leaves
        whole: dict[Any, int] = {}
        made = [at for at, each in enumerate(returned) if each.output is not None]
        for at in sorted(made, key=lambda at: (leaves[at].__base_tensor__ is not None, bool(leaves[at].__view_path__))):
            storage = leaves[at].__storage__
            if storage is None or whole.setdefault(storage, at) == at:
                continue
            first = leaves[whole[storage]]
            alias = alias_as(leaves[at], first) if first.__base_tensor__ is None else None
            if alias is not None:
                returned[at] = Returned(leaf=whole[storage], alias=alias)
            elif first.__base_tensor__ is None:
                self.journal.refuse("returns tensors that share memory, one with another shape than when it was viewed")
            else:
                self.journal.refuse("returns views of a tensor that it does not return")


def _plan_of(recorded: Survey) -> Plan:
    """The plan of a step, in larger pieces if no program in it is called twice: where one is, there is a loop, whose
    pieces also serve a loop of another length."""
    plan = plan_of(recorded)
    programs = [dispatch.executable for dispatch in plan.dispatches]
    return plan if len(set(programs)) < len(programs) or len(programs) < 2 else plan_of(recorded, most=STAGED_PIECE)


def _same(after: Node, before: Node) -> bool:
    """Whether a tensor whose `_node` was `before` and is `after` has the same value."""
    return after is before or (after.operation in (variable, detach) and after.inputs == (before,))

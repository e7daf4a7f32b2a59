"""A recorded training loop as steps of few kinds: what each step reads, and what it leaves to later ones (`steps_of`).

Two steps are of one kind if the same operations were recorded in them, of operands that are in the same places. What a
step reads from outside is a constant, if it is the same in all steps; state, if a step before computed it; and data
otherwise, such as a batch, its indices, noise, or a learning rate.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from jaxvjp.core.record.graph import Node, Number, gradient_edges, reachable
from jaxvjp.core.record.observers import Read, Walked
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.explain.draws import Draws
from jaxvjp.explain.names import heads_a_loop, operation_of, statement, told_line
from jaxvjp.explain.optimizers import Update
from jaxvjp.explain.refusal import Refusal
from jaxvjp.explain.scope import POSITIONED, SHORT, uniform
from jaxvjp.explain.story import Event, Story
from jaxvjp.explain.text import Text
from jaxvjp.explain.training_graph import TrainingGraph, TrainingStep, divided, site_of
from jaxvjp.ops.identity import detach, variable
from jaxvjp.ops.indexing import index
from jaxvjp.ops.pointwise import copy
from jaxvjp.ops.view import put, select
from jaxvjp.optim.lbfgs import LBFGS
from jaxvjp.types.dtypes import bool_

FEW, MANY = 3, 12
"""At most this many kinds of steps are ported, each a function of the script: FEW, or up to MANY if there are twice as
many steps."""
TOGETHER = 2
"""What is computed of at most so many data, as a mixture of two batches, is computed in the step."""
KEPT = "a number that is kept there, by `.item()`, is data for later steps"
Slot = tuple[int, str, int]
"""A kind of steps, "in" or "out", and a place among the operands or results of such a step."""


class NotPortable(Refusal):
    """What of a script has no place in steps."""


class StateRead(NotPortable):
    """What a step of an optimizer computes for its own use is read elsewhere: it has no transform of optax then."""


class Entry:
    """What steps read under one name: `state`, `data` or a `constant`.

    Attributes:
        slots: the operands and results that it is.
        start: the node of a state's first value, or a constant's.
        end: the node of a state's last value.
        twin: an entry of the same data, which is read in its place.
        drawn: the expression of `jax.random` that draws such data; None if it is no random numbers of one step.
        anew: for a state that starts again, as a sum does at each epoch, by the steps' numbers what it starts as.
    """

    def __init__(self, slots: set[Slot]) -> None:
        self.slots = slots
        self.name = ""
        self.role = "constant"
        self.start: Node | None = None
        self.end: Node | None = None
        self.twin = self
        self.drawn: str | None = None
        self.anew: dict[int, Node] = {}


class Steps(TrainingGraph):
    """The steps of a story, and what they read. NotPortable if they have no common form."""

    def __init__(
        self,
        story: Story,
        text: Text,
        nodes: Sequence[Node],
        updates: Sequence[Update],
        draws: Draws,
        reads: Sequence[Node],
        ending: bool,
        inside: bool,
        carrying: bool,
    ) -> None:
        super().__init__(story, text, nodes, updates, draws)
        self.asked = {*reads}  # the nodes whose values Python asked for
        self.inside = inside  # whether what is computed from one batch alone is computed in the step
        self.live: set[Node] = set()
        self.steps = divided(self)
        if len(self.steps) < 2:
            raise NotPortable("there are no two training steps: no parameter is written between two backward passes")
        self.values: dict[Any, list[tuple[float, Node]]] = {}  # what each line has read, and when; not what it checked
        for event in self.story.events:
            if isinstance(event.what, Read) and (event.what.node.aval.shape or event.what.node.aval.dtype is not bool_):
                self.values.setdefault(event.where, []).append((event.order, event.what.node))
        self._independent: dict[Node, bool] = {}
        self._randoms: dict[Node, bool] = {}
        self._data: dict[Node, frozenset[Node]] = {}
        self.moving, self.carried = self._moving(), set[Any]()
        often = self._carrying()
        # What lines carry from step to step of data alone, such as a mean, is state; what moves in a buffer, or is
        # carried on in few steps, is as recorded.
        lasting = (each for each, count in often.items() if count >= len(self.steps) // 2)
        self.carried.update(each for each in lasting if carrying and each[:2] not in self.moving)
        self.recorded = {*often} - self.carried
        self._independent.clear()
        self.everywhere, self.turning = self._constants(), self._turning()
        training = [*self.steps]
        self.end = TrainingStep(self.steps[-1].last, []) if ending else None
        self.steps += [self.end] if self.end else []
        self.begun = [*self.steps]
        self.sites: dict[Any, set[TrainingStep]] = {}
        for step in self.steps:
            for node in self.between(step.first, step.last):
                self.sites.setdefault(site_of(node), set()).add(step)
        self.held: dict[Node, Any] = {}
        for tensor in [*self.text.first, *self.story.tensors]:
            node = self.origin(tensor.__node__)
            if node in self.updated or (self.inputs(node) and not self.updating(node, ruled=True)):
                self.held.setdefault(node, tensor)  # else an optimizer keeps it, which is compared by itself
        new = [node for node, tensor in self.held.items() if tensor not in self.text.first]
        self.gathered = [node for node in new if self._gathers(node, training)]
        for node in self.gathered:
            del self.held[node]
        own = [(tensor.__node__, called) for tensor, called in self.story.tensors.items() if called in story.modules]
        self.of_modules = {self.memory(node) or node: called for node, called in own}
        # Whether what steps before have left makes another form than what is given, as where a hidden state starts
        # again at an epoch or another network is trained; and whether one step may read two values of a weight.
        for self.apart, self.moved in ((False, False), (True, False), (False, True), (True, True)):
            try:
                self._matched()
                break
            except NotPortable as error:
                if isinstance(error, StateRead) or (self.apart and self.moved):
                    raise
        self.lifted = self._lifted()
        self.kept = self._kept()
        named = {node: tensor for node, tensor in self.held.items() if tensor in self.story.tensors}
        self.dropped = {
            node: named[node]
            for node in self.unwritten(named)
            if not any(step.has(node) and self._passing(step, node) for step in self.begun)
        }

    def _gathers(self, node: Node, steps: Sequence[TrainingStep]) -> bool:
        """Whether a node was computed after the last step from what one line has computed in several steps, such as a
        list of their losses: this is told beside the losses then."""
        if node.serial <= steps[-1].last:
            return False
        sources = reachable([node], lambda each: self._operands(each) if each.serial > steps[-1].last else ())
        read = [each for each in sources if each.serial <= steps[-1].last and not self.independent(each)]
        own = {each: step for each in read for step in steps if step.has(each)}
        if len({*map(site_of, read)}) != 1 or len({*own.values()}) < 2 or len(own) < len(read):
            return False
        for each, step in own.items():
            step.losses += [self.origin(each)] * (self.origin(each) not in step.losses)
        return True

    def unwritten(self, nodes: Iterable[Node]) -> list[Node]:
        """Those that depend on the training, and are neither a loss nor in the state at the end."""
        ends = {*[each.end for each in self.entries], *[loss for step in self.steps for loss in step.losses]}
        trained = [each for each in nodes if each.serial > self.steps[0].first and not self.independent(each)]
        return [each for each in trained if self.origin(each) not in ends]

    def by_python(self, reads: Sequence[Node]) -> dict[Any, Node]:
        """The parameters that end with numbers of no operation, which Python had from what it has read of the training,
        and the leaf of each."""

        def source(node: Any) -> Sequence[Any]:  # what was there before does not count
            return self.inputs(node)[node.operation is copy :] if type(node) is Node else ()

        found = {}
        for node, tensor in self.held.items():
            sources = reachable([node], source) if tensor in self.text.first else ()
            for each in sources if self.gradients.keys().isdisjoint(sources) else ():
                if type(each) is Node and not self.inputs(each) and self.drawn(each) is None:
                    size = math.prod(each.aval.shape)
                    same = [read for read in reads if math.prod(read.aval.shape) == size and read.serial < each.serial]
                    if not all(map(self.independent, same)):
                        found[tensor] = each
        return found

    def _matched(self) -> None:
        self.steps = [*self.begun]
        self.left: dict[tuple[UserLine, ...], Counter[Any]] = {}  # by the lines of a step's backward passes
        for step in self.steps[::-1]:
            self._complete(step)
        alike: dict[Any, list[TrainingStep]] = {}
        for step in self.begun:
            if step is not self.end:
                alike.setdefault(tuple(step.lines), []).append(step)
        for lines, steps in alike.items():
            made = [{*map(site_of, self.between(each.first, each.last))} for each in steps]
            common = set.intersection(*made)  # what each of them computes
            self.left[lines] = Counter()
            for step in steps:
                left = [each for each in step.outputs if each not in self.updated and not self.updating(each)]
                self.left[lines] |= Counter(site for site in map(site_of, left) if site in common)
        for step in self.steps[::-1]:
            self._complete(step)
        if self.end is not None and not [*self.end.outputs, *self.end.losses]:
            self.steps.remove(self.end)
            self.begun.remove(self.end)
            self.end = None
        self.steps = [each for each in self.steps if each.losses or each.outputs]
        self.kinds = self._classified()
        self.same: dict[Any, Entry] = {}
        self.entries = self._entries()

    def still(self, step: TrainingStep, node: Node) -> bool:
        """Whether a node was computed before the steps from leaves, none of which is trained by a step."""
        if node.is_leaf or not node.requires_grad or node.serial > self.steps[0].first:
            return False
        sources = reachable([node], gradient_edges)
        walks = [event.what for event in step.events if isinstance(event.what, Walked)]
        return not any(each.gradients.get(source) in self.live for each in walks for source in sources)

    def steps_of(self, kind: int) -> list[TrainingStep]:
        return [step for step in self.steps if step.kind == kind]

    def alike(self, kind: int) -> list[int]:
        """The kinds whose steps are those of one kind but for shapes."""
        return next(each for each in self.groups.values() if kind in each)

    def part(self, kinds: Sequence[int]) -> None:
        """Has each of some kinds be none of those that only differ from it in shapes."""
        for kind in kinds:
            self.alike(kind).remove(kind)
            self.groups[kind, "apart"] = [kind]
            self._few(self.steps_of(kind)[0])
        self.lifted = self._lifted()

    # What does not depend on what is trained.

    def independent(self, node: Any) -> bool:
        """Whether a node depends neither on what is trained, nor on what an optimizer counts or a line carries on."""
        known = self._independent
        if node not in known:
            missing = reachable([node], lambda each: [source for source in self.inputs(each) if source not in known])
            for each in sorted(missing, key=lambda each: each.serial):
                own = not each.requires_grad and each not in self.gradients and not self.updating(each)
                own = own and not (self.carried and site_of(each) in self.carried)
                known[each] = own and all(known.get(source, True) for source in self.inputs(each))
        return known[node]

    def _rounds(self, nodes: Iterable[Node], whole: bool, told: Any) -> dict[Any, dict[int, list[Any]]]:
        """What is `told` of nodes, by line and operation (the `whole` site or only these) and by the step, -1 before
        the first."""
        found: dict[Any, dict[int, list[Any]]] = {}
        begins = [each.first for each in self.steps]
        for node in nodes:
            step = bisect.bisect_left(begins, node.serial) - 1
            site = site_of(node) if whole else site_of(node)[:2]
            if whole or (step >= 0 and self.steps[step].has(node)):
                found.setdefault(site, {}).setdefault(step, []).append(told(node))
        return found

    def _constants(self) -> set[Any]:
        """The lines and operations whose results are the same in each step, one after the other."""
        own = [node for node in self.nodes if self.independent(node) and type(node.aval) is not tuple]
        constant = set()
        for site, hashes in self._rounds(own, True, self.hashed).items():
            rows = {tuple(row) for step, row in hashes.items() if step >= 0}
            varies = len(rows) > 1 and len({each for row in rows for each in row}) > 1
            if not varies and len({*hashes} - {-1}) >= len(self.steps):
                constant.add(site)
        return constant

    def _turning(self) -> set[Any]:
        """The lines and operations whose results depend on what is trained in some steps only, as those of a mean do
        that begins at zeros."""
        own = [each for each in self.nodes if each.operation not in (variable, detach)]
        found = self._rounds(own, True, lambda node: not self.independent(node)).items()
        return {site for site, told in found if len({sum(told[step]) for step in told if step >= 0}) > 1}

    def _carrying(self) -> Counter[Any]:
        """The lines and operations that compute something of data alone and of what they computed in a step before, as
        `mean.mul_(0.9).add_(0.1 * x.mean(0))` does, and in how many steps."""
        often: Counter[Any] = Counter()
        for step in self.steps:
            before: dict[Node, frozenset[Any]] = {}
            found: set[Any] = set()
            for node in self.between(step.first, step.last):
                if not self.independent(node):
                    continue
                sources = self._operands(node)[node.operation is copy :]  # what a copy is written to does not count
                sites = [before.get(each) or ({site_of(each)} if not step.has(each) else ()) for each in sources]
                before[node] = frozenset[Any]().union(*sites)
                found |= {site_of(node)} & before[node]
            often.update(found)
        return often

    def _moving(self) -> set[Any]:
        """The lines and operations that take other parts in one step than in another."""
        own = [each for each in self.nodes if each.operation in POSITIONED]
        numbers: Any = lambda node: [node.static, *[each.value for each in node.inputs if type(each) is Number]]  # noqa: E731
        found = self._rounds(own, False, numbers).items()
        return {site for site, parts in found if len({*map(repr, parts.values())}) > 1}

    def constant(self, node: Node) -> bool:
        """Whether a node that does not depend on what is trained is the same in each step."""
        return node.serial <= self.steps[0].first or site_of(node) in self.everywhere

    # What one step reads.

    def given(self, step: TrainingStep, node: Any) -> bool:
        """Whether a node is an operand of a step: it is from before, is data, or is computed from data alone."""
        if type(node) is Number:
            return False
        if not step.has(node):
            return True
        if not step.has(self.origin(node)) or self._initial(node):
            return True
        if not any(type(operand) is Node for operand in self.inputs(node)):
            large = math.prod(node.aval.shape) > SHORT and not uniform(node)
            return not self.constant(node) or large or self.updating(node)
        if (
            type(node.aval) is tuple
            or not self.independent(node)
            or self.constant(node)
            or site_of(node) in self.turning
        ):
            return False
        read = self._read(step, node)
        return node in read if read else self._in_parts(step, node)

    def _in_parts(self, step: TrainingStep, node: Node) -> bool:
        """Whether an array that no data is read for was written in many parts, `t[k] = alphabet.index(text[k])`."""
        own = reachable([node], lambda each: self._operands(each) if step.has(each) else ())
        return sum(each.operation is put for each in own) > FEW

    def _read(self, step: TrainingStep, wanted: Node) -> frozenset[Node]:
        """The data that a step has to be given for a node that is computed from data alone: the node itself, if its
        place in what it is a part of varies between steps, or if it would need more data than TOGETHER otherwise."""
        known, inside = self._data, self.inside and step is not self.end
        order = reachable(
            [wanted], lambda each: () if each in known or self._begins(step, each) else self._operands(each)
        )
        for each in sorted(order, key=lambda each: each.serial):
            if each not in known:
                own = frozenset({each})
                if not self._begins(step, each):
                    found = [frozenset[Node](), *[known[source] for source in self._operands(each)]]
                    read = frozenset.union(*found)
                    own = read if self._random(step, each) or (len(read) <= TOGETHER and inside) else own
                elif type(each.aval) is tuple or self.constant(each):
                    own = frozenset()
                known[each] = own
        return known[wanted]

    def _operands(self, node: Any) -> list[Node]:
        return [each for each in self.inputs(node) if type(each) is Node]

    def _begins(self, step: TrainingStep, node: Node) -> bool:
        """Whether what a node is computed from does not count."""
        return not step.has(node) or not self._operands(node) or self.constant(node) or site_of(node)[:2] in self.moving

    def _initial(self, node: Node) -> bool:
        """Whether a node is a parameter as it was made: it is written later, and was computed from nothing trained."""
        owner = self.story.owners.get(node)
        if owner is None or self.text.first[owner] is not node or owner.__node__ is node:
            return False
        sources = reachable([node], self.inputs)
        return not any(
            source in self.updated or source in self.gradients or (source in self.story.owners and source is not node)
            for source in sources
        )

    def _random(self, step: TrainingStep, node: Node) -> bool:
        """Whether a node is computed from numbers that are drawn in the step."""
        if node not in self._randoms:
            sources = reachable([node], lambda each: [source for source in self.inputs(each) if type(source) is Node])
            self._randoms[node] = any(step.has(each) and self.drawn(each) is not None for each in sources)
        return self._randoms[node]

    def _complete(self, step: TrainingStep) -> None:
        """Finds what a step leaves and reads; the steps after it are complete."""
        place = self.steps.index(step)
        later = [self.origin(node) for each in self.steps[place + 1 :] for node in each.operands]
        wanted = [each for each in later if step.has(each) and not self.independent(each)]
        wanted += self._leaving(step)
        self._hold(step, wanted)
        step.outputs = sorted(dict.fromkeys(wanted), key=lambda node: node.serial)
        for node in step.outputs:
            if node not in self.updated and self.updating(node, ruled=True):
                raise StateRead("what an optimizer keeps is read", node.where)
        self._look(step)

    def _leaving(self, step: TrainingStep) -> list[Node]:
        """What a step computes that another with the same backward passes leaves: it leaves it, too, so that the steps
        are of one kind, though nothing reads it, as after the last, or before a sum starts again."""
        left = self.left.get(tuple(step.lines))
        own: dict[Any, dict[Any, Node]] = {}
        for node in self.between(step.first, step.last) if left else ():
            if not self.independent(node):
                own.setdefault(site_of(node), {})[self.memory(node) or node] = node
        return [node for site, nodes in own.items() if left and len(nodes) == left[site] for node in nodes.values()]

    def _hold(self, step: TrainingStep, wanted: list[Node]) -> None:
        """Adds what a step leaves that the user can still read at the end, but what each step computes for itself
        alone: what several steps put into one list is told beside their losses, all else is wanted."""
        known, read = {*step.losses}, {*wanted}
        for node, tensor in self.held.items():
            if node in known or not step.has(node) or self.independent(node):
                continue
            begun = self.text.begun.get(tensor)
            old = tensor in self.text.first or (begun is not None and begun.serial <= step.first)
            lasting = old or node in read or self._carried(step, node)
            if lasting and node not in read:
                wanted.append(node)
            others = [each for each in self.held if site_of(each) == site_of(node) and not step.has(each)]
            if not old and any(not self._lists(node).isdisjoint(self._lists(each)) for each in others):
                step.losses.append(node)
            elif not lasting and not self._passing(step, node):
                wanted.append(node)

    def _lists(self, node: Node) -> set[str]:
        """The names of the lists and dicts in which the user has a node: `outs` of `outs[3]`."""
        names = self.story.every.get(self.held[node].__node__, ())
        return {base for base, _, place in (name.rpartition("_") for name in names) if base and place}

    def _passing(self, step: TrainingStep, node: Node) -> bool:
        """Whether the last of the steps with these backward passes has computed a node that others compute as well."""
        later = [each for each in self.begun if each.first > step.first]
        last = bool(step.lines) and all(each.lines != step.lines for each in later)
        return last and len(self.sites.get(site_of(node), ())) > 1  # an alias is read anew at the end

    def _carried(self, step: TrainingStep, node: Node) -> bool:
        """Whether its line computes from what it computed in the step before: `mean = 0.9 * mean + 0.1 * w`."""
        own = reachable([node], lambda each: [one for one in self.inputs(each) if type(one) is Node and step.has(each)])
        return any(site_of(each) == site_of(node) and not step.has(each) for each in own)

    def _look(self, step: TrainingStep) -> None:
        order: dict[Any, int] = {}
        operands: dict[Node, None] = {}
        form: list[Any] = []
        step.numbers = []
        pending = [*step.losses, *step.outputs][::-1]
        while pending:
            node = pending.pop()
            if node in order:
                continue
            order[node] = len(order)
            if type(node) is Number:
                continue
            if self.given(step, node):
                operands[node] = None
                continue
            pending += list(self.inputs(node))[::-1]
        for node in order:
            if type(node) is Number:
                form.append(("number", str(node.aval)))
            elif node in operands:
                left: Any = self.apart and self.memory(node) is None and not self.independent(self.origin(node))
                if self.apart:  # also whether it is a parameter of another network
                    left = id(self.story.owners[node]) if node in self.story.owners else left
                form.append(("operand", str(node.aval), left))
            else:
                reads = [order[operand] for operand in self.inputs(node)]
                numbers = [operand for operand in self.inputs(node) if type(operand) is Number]
                if node.operation in POSITIONED:
                    reads += [repr(number.value) for number in numbers]  # type: ignore[misc]
                else:
                    step.numbers += [(number, node) for number in numbers]
                self.live.add(node)
                told: Any = self.optimizers[node] if node in self.updated else "gradient" * (node in self.gradients)
                name = told or ("" if node.operation is None else node.operation.name)
                reads += [] if self.inputs(node) else [self.hashed(node)]
                form.append((name, self.ways.get(node, ()) if told else node.static, str(node.aval), *reads))
        ends = [len(step.losses), *[order[each] for each in (*step.losses, *step.outputs)]]
        step.nodes = [*order]
        step.operands, step.form = [*operands], (*form, *ends)
        inner = [[order.get(one, -1) for one in self.inputs(each)] if type(each) is Node else () for each in order]
        own = zip(order, form, inner, strict=True)
        step.outline = (
            *[
                each[0] if node in operands else (each[0], *(each[3:] if _positioned(node) else reads))
                for node, each, reads in own
            ],
            *ends,
        )

    # What steps have in common.

    def _classified(self) -> int:
        known: dict[Any, int] = {}
        self.most = max(FEW, min(MANY, len(self.steps) // 2))
        self.groups: dict[Any, list[int]] = {}
        for step in self.steps:
            step.kind = known.setdefault(step.form, len(known))
            group = self.groups.setdefault((step.outline, step is self.end), [])
            group += [step.kind] * (step.kind not in group)
            self._few(step)
        return len(known)

    def _few(self, step: TrainingStep) -> None:
        """NotPortable if there are too many forms with that of this step."""
        if len(self.groups) > self.most and step is not self.end:
            more = f", and a longer run may have up to {MANY}" * (self.most < MANY)
            node = self._different(step, self.steps[0].form)
            raise NotPortable(
                f"the {len(self.steps)} steps have more than {self.most} forms{more}: this line did another thing in "
                f"step {self.steps.index(step) + 1} than before, so {self._why(step, node)}",
                step.events[0].where if node is None else node.where,
            )

    def _why(self, step: TrainingStep, node: Node | None) -> str:
        """What has made a step differ, in this node first: a setting of its operation, what later steps read of it, or
        a value that Python has read, if trained numbers are taken at such a place."""
        around = [each.optimizer for each in self.updates if each.first < step.events[0].order < each.last]
        if any(type(each) is LBFGS for each in around):
            return "LBFGS has decided by values what runs, as its line search does, or has more history"
        given = node in step.operands
        name, _, *rest = (None, None) if node is None else step.form[step.nodes.index(node)]
        alike = any(isinstance(each, tuple) and [each[0], *each[2:]] == [name, *rest] for each in self.steps[0].form)
        if node is not None and alike and not given and not _positioned(node) and node not in self.gradients:
            return (
                f"a setting of `{operation_of(node)}` varies, which selects a program; a number varies in arithmetic "
                "that is written out, as in `torch.where(x > 0, x, slope * x)`"
            )
        at = self.steps.index(step)
        if given and any(each.has(node) for each in self.steps[:at]):
            return "it reads what another step has computed, as an entry of a list; " + KEPT
        kept = {self.origin(each) for later in self.steps[at + 2 :] for each in later.operands}
        if node in self._inside(step, [*kept]) and node not in self._inside(step, step.losses):
            return "what later steps read of it varies, as entries of a list; " + KEPT
        moved = [node for node in step.nodes if type(node) is Node and site_of(node)[:2] in self.moving]
        taken = [node for node in moved if not self.independent(node)]
        own, last = {node.where for node in taken}, max([node.serial for node in taken], default=0)
        reads = [each for each in self.story.events if isinstance(each.what, Read) and step.has(each.what.node)]
        lines = [each.where for each in reads if each.what.node in self.asked or each.where in own if each.order < last]
        found = statement(lines[-1]) if lines else None
        if found is None:
            return "Python, as by a counter, or shapes or values have decided what runs"
        place = told_line(found.filename, found.line, self.story.file)
        return f"what {place} reads has decided which part is taken; `x[j]`, of a tensor j, reads none"

    def _inside(self, step: TrainingStep, nodes: Sequence[Node]) -> set[Any]:
        """These nodes, and what they are computed from in a step."""
        return {*reachable(nodes, lambda each: self._operands(each) if step.has(each) else ())}

    def _different(self, step: TrainingStep, form: tuple[Any, ...]) -> Node | None:
        """The first operation of a step that another form does not have."""
        theirs = {each[:3] for each in form if isinstance(each, tuple)}
        places = [place for place, each in enumerate(step.form) if isinstance(each, tuple) and each[:3] not in theirs]
        nodes = [step.nodes[each] for each in places if type(step.nodes[each]) is Node]
        return min(nodes, key=lambda node: node.serial, default=None)

    def _entries(self) -> list[Entry]:
        made = {node: (each.kind, "out", place) for each in self.steps for place, node in enumerate(each.outputs)}
        groups: dict[Slot, set[Slot]] = {}
        read: dict[Slot, set[Any]] = {}
        same: dict[Any, Slot] = {}
        twice: set[Any] = set()  # as a weight, and what it was before it was moved
        for step in self.steps:
            shown = [(not self._own(step, node) and self.memory(node)) or node for node in step.operands]
            twice |= {each for each, count in Counter(shown).items() if count > 1 and self.moved}
            for place, each in enumerate(shown):
                read.setdefault((step.kind, "in", place), set()).add(each)
        for step in self.steps:
            for place, node in enumerate(step.operands):
                slot = (step.kind, "in", place)
                joined = groups.setdefault(slot, {slot})
                others = [made.get(self.origin(node))]
                if len(read[slot]) == 1 and not read[slot] & twice:  # steps of two kinds read one leaf
                    others.append(same.setdefault(next(iter(read[slot])), slot))
                for other in filter(None, others):
                    joined |= groups.setdefault(other, {other})
                    for each in joined:
                        groups[each] = joined
        lasting: dict[Any, Slot] = {}  # by memory: what nothing reads again is the last value of what was read there
        for node, slot in made.items():
            joined, home = groups.setdefault(slot, {slot}), lasting.setdefault(self.memory(node) or node, slot)
            if len(joined) == 1 and home[0] != slot[0]:
                joined = groups[slot] = groups[home]
                joined.add(slot)
        entries = [Entry(each) for each in {id(group): group for group in groups.values()}.values()]
        for entry in entries:
            self._described(entry)
        anew = [(entry, step, node) for entry in entries for step, node in self.reads_of(entry) if step.has(node)]
        lines = {site_of(node)[:2] for entry, _, node in anew if entry.role == "data" and not self.inputs(node)}
        for entry, _, node in anew:  # also what happens to be equal in all steps that were recorded
            if entry.role == "constant" and site_of(node)[:2] in lines:
                entry.role = "data"
        for group in self.groups.values():  # what is data in one of the kinds is data in all, by one name
            rows = [
                [next(each for each in entries if (kind, "in", place) in each.slots) for kind in group]
                for place in range(len(self.steps_of(group[0])[0].operands))
            ]
            for row in rows if len(group) > 1 else ():
                name = next((each.name for each in row if each.name), "")
                for each in row if any(each.role == "data" for each in row) else ():
                    each.role = "data" if each.role == "constant" else each.role
                    each.name = name if each.role == "data" else each.name
        for entry in entries:
            nodes = [node for _, node in self.reads_of(entry)]
            if entry.role == "data" and all(map(self.independent, nodes)):
                key = (tuple(kind for kind, *_ in sorted(entry.slots)), *map(self.hashed, nodes))
                entry.twin = self.same.setdefault(key, entry)
        return entries

    def _own(self, step: TrainingStep, node: Node) -> bool:
        """Whether a node is data that was made in the step."""
        return step.has(node) and self.independent(node)

    def _described(self, entry: Entry) -> None:
        reads = self.reads_of(entry)
        nodes = [node for _, node in reads]
        if any(kind == "out" for _, kind, _ in entry.slots):
            entry.role = "state"
            now = None
            for number, step in enumerate(self.steps):
                own = [step.operands[place] for place in places(entry, step.kind, "in")]
                if now is None and own:
                    entry.start, now = own[0], self.origin(own[0])
                if any(self.origin(node) is not now for node in own):
                    told = {self.hashed(each) for each in (*own, *entry.anew.values()) if self.independent(each)}
                    if not all(map(self.independent, own)) or len(told) > 1 or step is self.end:
                        raise NotPortable(
                            "what is read here is not what the step before left: it starts again, or is older, as an "
                            f"entry of a list is; {KEPT}",
                            own[0].where,
                        )
                    entry.anew[number], now = own[0], self.origin(own[0])
                for place in places(entry, step.kind, "out"):
                    entry.end = now = step.outputs[place]
        else:
            same = len({self.hashed(each) if self.independent(each) else self.origin(each) for each in nodes}) == 1
            (step, node), once = reads[0], len(reads) == 1 and reads[0][0].has(nodes[0])
            # What one step of several kinds reads alone is a batch, too, if another reads such data of that line.
            others = [each for one in self.steps if one.kind != step.kind for each in one.operands] if once else ()
            once = once and (
                self.drawn(node) is not None or site_of(node)[:2] in [site_of(each)[:2] for each in others]
            )
            entry.role = "constant" if same and not once else "data"
            entry.start = nodes[0]
        named = [*nodes, *[each for each in (entry.end,) if each is not None]]
        names: list[str | None] = []
        if entry.role != "data":  # of one that `state_dict` gave, the parameter's
            names += [self.of_modules.get(self.memory(each) or each) for each in named]
        names += [self.text.result_name(each) for each in named if entry.role != "state"]
        names += [self.text.name_of(each) or self.text.name_of(self.origin(each)) for each in named]
        names += [self.story.tensors.get(self.held[each]) for each in named if each in self.held]
        names += [self.story.alike.get(self.origin(each)) for each in named]
        entry.name = next(filter(None, names), "")
        if entry.role == "data" and not nodes[0].aval.dtype.differentiable and not self.inputs(nodes[0]):
            picks = any(each.operation is index and nodes[0] in self.inputs(each)[1:] for each in self.live)
            if picks and (not entry.name or heads_a_loop(nodes[0].where)):  # a loader's
                entry.name = "index"
        if entry.role == "data" and len({*nodes}) == len(nodes) and all(step.has(node) for step, node in reads):
            drawn = {self.drawn(each) for each in nodes}
            entry.drawn = drawn.pop() if len(drawn) == 1 else None
            entry.name = entry.name or ("noise" if entry.drawn else "")

    def _lifted(self) -> dict[int, list[int]]:
        """By kind, the places among `numbers` of those that vary between its steps."""
        found = {}
        for kind in range(self.kinds):
            own = [step for step in self.steps if step.kind in self.alike(kind)]
            columns = zip(*[[each.value for each, _ in step.numbers] for step in own], strict=True)
            found[kind] = [place for place, values in enumerate(columns) if len({*map(repr, values)}) > 1]
        return found

    def last_number(self) -> float:
        """When a number was last used that varies between steps and may be made of what Python has read: an operand, a
        rate, or a number that became a tensor; 0 if there is none."""
        found: list[tuple[Any, Any, float]] = []  # the place, the value, and when
        for step in self.steps:
            found += [
                ((node.where, place), number.value, node.serial) for place, (number, node) in enumerate(step.numbers)
            ]
            leaves = [
                each for each in step.operands if step.has(each) and not each.aval.shape and not self.inputs(each)
            ]
            found += [(each.where, each, each.serial) for each in leaves if each.aval.dtype.differentiable]
        for update in self.updates:
            ruled = [(place, each.rate) for place, each in enumerate(update.groups) if each.rule is not None]
            found += [((id(update.optimizer), place), rate, update.first) for place, rate in ruled]
        values: dict[Any, set[Any]] = {}
        for place, value, _ in found:
            values.setdefault(place, set()).add(value)
        return max([when for place, _, when in found if len(values[place]) > 1], default=0)

    # What is recorded and was computed from values.

    def _kept(self) -> list[Node]:
        """The random numbers that stay torch's, as something that is recorded was computed from them: what a step is
        given beside them, such as the numbers of the step before, and what was decided by values, such as an index."""
        found: list[Any] = [each for step in self.steps for node in step.nodes for each in self.causes(node)]
        left = {each for step in self.steps for each in step.outputs}
        for entry in self.entries:
            for step, node in self.reads_of(entry)[: 1 if entry.role == "state" else None]:
                if entry.role != "state" or self.origin(node) not in left:  # else a step before has computed it
                    found += self.inputs(node) if step.has(node) else [node]
        starts = [each for each in found if type(each) is Node]
        own = {*reachable(starts, lambda node: (*self.inputs(node), *self.causes(node)))}
        for event in self.story.events:
            if isinstance(event.what, Read) and event.what.node in self.asked:
                own |= self._decided(event.what.node, event)
        kept = []
        for entry in [each for each in self.entries if each.drawn is not None]:
            nodes = [node for _, node in self.reads_of(entry)]
            if not own.isdisjoint(nodes):
                entry.drawn = None
                kept += nodes
        return kept

    def reads_of(self, entry: Entry) -> list[tuple[TrainingStep, Any]]:
        """What each step reads of an entry, and the step."""
        return [(step, step.operands[place]) for step in self.steps for place in places(entry, step.kind, "in")]

    def recorded_draws(self) -> list[Node]:
        """The random numbers that were drawn since training began, and that no key draws in the port."""
        drawn: set[Any] = {*self.kept}
        for entry in [each for each in self.entries if each.drawn is not None]:
            drawn |= {node for _, node in self.reads_of(entry)}
        operands = [each for step in self.steps for each in step.operands]
        given = [each for each in operands if each not in drawn and self.independent(each)]  # others are computed
        nodes = [each for each in reachable(given, self.inputs) if type(each) is Node and each not in drawn]
        nodes = [each for each in nodes if each.serial > self.steps[0].first]
        # A permutation that picks data says which batch it is, as is said of all; one of what is trained is a draw.
        all_nodes: list[Any] = [each for step in self.steps for each in step.nodes if type(each) is Node]
        indexed = [each.inputs for each in all_nodes if each.operation is index]
        picked = [place for whole, *places in indexed if not self.independent(whole) for place in places]
        made = self.draws.made | self.draws.sampled | self.draws.orders.intersection(reachable(picked, self.inputs))
        return [each for each in nodes if each in made or self.drawn(each) is not None]

    def trained(self, node: Node) -> bool:
        """Whether a node depends on what is trained, also by what such values have decided."""
        free = reachable(
            [node], lambda each: [*self.inputs(each), *self.causes(each)] if self.independent(each) else ()
        )
        return not all(map(self.independent, free))

    def _decided(self, node: Node, event: Event) -> set[Any]:
        """What a value was computed from in its step, if Python may have computed what the step is given from it: from
        samples, or from what is trained, if there are such numbers afterwards."""
        step = next((each for each in self.steps if each.has(node)), None)
        source = statement(event.where)
        if step is None or (source is not None and source.prints):
            return set()
        varying = [step.numbers[place][1] for place in self.lifted[step.kind]]
        leaves = [each for each in step.operands if not self.inputs(each) and self.drawn(each) is None]
        after = [each for each in (*varying, *leaves) if step.has(each) and each.serial > event.order]
        if not self.independent(node) and all(map(self.updating, after)):
            return set()
        return {*reachable([node], lambda each: [*self.inputs(each), *self.causes(each)] if step.has(each) else ())}

    def causes(self, node: Any) -> list[Node]:
        """The nodes whose values the line had read that recorded a node: a mask, for positions of an index."""
        if type(node) is Number or (self.inputs(node) and node.operation not in POSITIONED) or self.updating(node):
            return []
        if node.operation is select and type(self.inputs(node)[1]) is Node:
            return []  # the position is an operand
        found = [each for each in self.values.get(node.where, ()) if each[0] < node.serial]
        begins = max([each.first for each in self.begun if each.first < node.serial], default=0) if found else 0
        return [read for order, read in found if order > begins]


def _positioned(node: Any) -> bool:
    """Whether the numbers that an operation has are places, which are written out."""
    return type(node) is Node and node.operation in POSITIONED


def places(entry: Entry, kind: int, direction: str) -> list[int]:
    return [place for its, way, place in entry.slots if (its, way) == (kind, direction)]

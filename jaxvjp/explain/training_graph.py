"""The recorded graph of a training, and where its steps begin: `TrainingGraph`, `divided`."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from jaxvjp.core.record.graph import Node, Number, gradient_edges, reachable
from jaxvjp.core.record.observers import Hooked, Stepped, Walked
from jaxvjp.core.record.user_lines import UserLine
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.explain.draws import Draws
from jaxvjp.explain.optimizers import Update
from jaxvjp.explain.story import Event, Story
from jaxvjp.explain.text import Text
from jaxvjp.ops.identity import detach, variable


class TrainingStep:
    """One step of a training loop.

    Attributes:
        first, last: the step has the nodes whose `serial` is above `first` and at most `last`.
        events: its backward passes and hooks.
        lines: those of its backward passes.
        losses: the roots of its backward passes that are scalars, and what is told beside them. Those of
            `autograd.grad` are none where others write into `grad`, as in the steps inside a step.
        outputs: nodes that it leaves to later steps, or to the user.
        operands: nodes that it reads, but does not compute.
        numbers: Python numbers that it reads.
        nodes: all that it reads and computes, in the order of `form`.
        form: what it has in common with other steps of its kind.
        outline: the same without shapes, as a batch may be smaller than others.
        kind: the number of its kind.
    """

    def __init__(self, first: int, events: list[Event], adding: bool = False) -> None:
        self.first, self.last, self.adding = first, 1 << 62, adding
        self.outputs: list[Node] = []
        self.operands: list[Node] = []
        self.numbers: list[tuple[Number, Node]] = []
        self.form: tuple[Any, ...] = ()
        self.outline: tuple[Any, ...] = ()
        self.nodes: list[Any] = []
        self.kind = 0
        self.hear(events)

    def hear(self, events: list[Event]) -> None:
        self.events = events
        walks = [event for event in events if isinstance(event.what, Walked)]
        self.lines = [event.where for event in walks]
        roots = [root for event in walks for root in event.what.roots if event.what.after or not self.adding]
        self.losses = [each for each in dict.fromkeys(roots) if not each.aval.shape]

    def has(self, node: Any) -> bool:
        return bool(self.first < node.serial <= self.last)


class TrainingGraph:
    """The recorded graph of a training: what a node is computed from, also a gradient or a parameter that an optimizer
    wrote, and which memory it shows.

    Attributes:
        nodes: all of it, in the order of recording.
        updated: for each parameter that an optimizer with a rule has written, what it was before, and its gradient.
        optimizers: for each that any has written, which one.
        gradients, ways: for each gradient what it was computed from, and what the user's code computed on the way.
    """

    def __init__(
        self, story: Story, text: Text, nodes: Sequence[Node], updates: Sequence[Update], draws: Draws
    ) -> None:
        self.story, self.text = story, text
        self.windows = [(each.first, each.last) for each in updates]
        self.updates, self.draws = updates, draws
        self.updated = {
            after: (before, gradient)
            for update in updates
            for group in update.groups
            if group.rule is not None
            for before, gradient, after in zip(group.before, group.gradients, group.after, strict=True)
        }
        self.optimizers = {
            after: id(update.optimizer) for update in updates for group in update.groups for after in group.after
        }
        self.nodes = sorted(nodes, key=lambda node: node.serial)
        self.gradients, self.ways = _sources(story)
        self._hash: dict[Any, int] = {}
        self._hashed: dict[Node, int] = {}
        self._drawn: dict[Node, str | None] = {}

    def inputs(self, node: Any) -> Sequence[Any]:
        """What a node is computed from, also if it is a gradient that an event tells of."""
        return self.updated.get(node) or self.gradients.get(node) or self.text.inputs(node)

    def origin(self, node: Node) -> Node:
        """The node whose value a leaf shows that was written, or a detached tensor; not that of another memory, which
        was copied there and may be written since."""
        while node.operation in (variable, detach, None) and node not in self.updated and self.inputs(node):
            source = self.inputs(node)[0]
            if type(source) is not Node or self.memory(source) not in (None, self.memory(node)):
                break
            node = source
        return node

    def memory(self, node: Any) -> Any:
        """What a node shows that is written in place: a memory, or a leaf; None of what stays, and of a view."""
        while node.inputs and (node.in_place or node.operation in (variable, detach)):
            data = self.text.written_data(node) if node.in_place else None
            if data is None and node.versions is not None:
                break
            node = data or node.inputs[0]
        if node.operation is not None and node.operation.write is not None:
            return None
        return node.versions if node.versions is not None and node.versions.count else node.leaf

    def between(self, first: float, last: float) -> Sequence[Node]:
        """The nodes whose `serial` is above `first` and at most `last`."""
        begin, end = (bisect.bisect_right(self.nodes, each, key=lambda node: node.serial) for each in (first, last))
        return self.nodes[begin:end]

    def updating(self, node: Node, ruled: bool = False) -> bool:
        """Whether a node was recorded in the step of an optimizer; of one that has a rule."""
        place = bisect.bisect_right(self.windows, (node.serial, 1 << 62)) - 1
        if place < 0 or not self.windows[place][0] < node.serial <= self.windows[place][1]:
            return False
        return not ruled or any(group.rule is not None for group in self.updates[place].groups)

    def hashed(self, node: Any) -> int:
        """A number that equal computations from equal data share."""
        if type(node) is Number:
            return self._hash.setdefault(("number", repr(node.value)), len(self._hash))
        for each in sorted(
            reachable([node], lambda each: () if each in self._hashed else self.inputs(each)), key=lambda n: n.serial
        ):
            if each in self._hashed:
                continue
            if self.inputs(each):
                key: Any = (each.operation, each.static, *[self.hashed(source) for source in self.inputs(each)])
            else:
                evaluate([each])
                value = np.asarray(each.value)
                key = ("data", value.dtype.name, value.shape, value.tobytes())
            self._hashed[each] = self._hash.setdefault(key, len(self._hash))
        return self._hashed[node]

    def drawn(self, node: Node) -> str | None:
        """The expression that draws what a node has; None if it was not drawn."""
        if self.inputs(node):
            return None
        if node not in self._drawn:
            evaluate([node])
            self._drawn[node] = self.draws.of(node)
        return self._drawn[node]


def from_zeros(story: Story) -> Story:
    """The story, in which gradients that a line adds up, `loss.backward()` before `w.grad.zero_()`, begin at zeros, so
    that the first step is like the others."""
    walks = [event for event in story.passes if event.what.after]
    known: dict[Any, list[Any]] = {}
    for event in walks:
        for target in event.what.after:
            owner = story.owners.get(target)
            known.setdefault((event.where, target if owner is None else owner), []).append((event, target))
    changed: dict[float, Walked] = {}
    for (event, target), *others in known.values():
        walked = changed.get(event.order, event.what)
        gradient = walked.gradients.get(target)
        adds = all(later.what.before.get(node) is not None for later, node in others)
        if others and adds and walked.before.get(target) is None and walked.after[target] is gradient:
            zeros = Node(None, (), (), gradient.aval, where=gradient.where)
            zeros.value, zeros.serial = np.zeros(gradient.aval.shape, gradient.aval.dtype.numpy), -1
            added = Node(gradient.operation, gradient.static, gradient.inputs, gradient.aval, where=gradient.where)
            added.value, added.serial = gradient.value, gradient.serial
            before, gradients = {**walked.before, target: zeros}, {**walked.gradients, target: added}
            changed[event.order] = walked._replace(before=before, gradients=gradients)
    return story._replace(events=[each._replace(what=changed.get(each.order, each.what)) for each in story.events])


def divided(graph: TrainingGraph) -> list[TrainingStep]:
    """The steps of a training, by what they train. A step begins where a backward pass first reads parameters that were
    written since the one before."""
    walks = graph.story.passes
    spans: list[tuple[float, float]] = []
    data: dict[float, set[UserLine]] = {0.0: set()}  # the lines that make something of data for a backward pass
    depends: dict[Node, bool] = {}  # on what is trained
    cuts: set[int] = set()
    shown: dict[Any, Node] = {}
    graphs = [reachable(event.what.roots, gradient_edges) for event in walks]
    trained = {each for nodes in graphs for each in nodes if each.is_leaf and each.requires_grad}
    lasting = {*graphs[0]} & {*graphs[-1]} if len(walks) > 2 else set()  # a graph that was made once for all steps
    for event, nodes in zip(walks, graphs, strict=True):
        made = [each.serial for each in nodes if not each.is_leaf and each not in lasting]
        spans.append((min(made, default=event.order), event.order))
        sources = reachable(event.what.roots, lambda each: () if each in trained else graph.inputs(each))
        data[event.order] = {
            each.where for each in sources if type(each) is Node and each.inputs and not _trained(graph, each, depends)
        }
        for leaf in (each for each in nodes if each.is_leaf and each.requires_grad):
            known = (leaf.leaf, graph.story.owners.get(leaf), graph.text.name_of(leaf), leaf)
            key: Any = next(each for each in known if each is not None)
            given = graph.text.inputs(leaf)
            moved = shown.setdefault(key, leaf) is not leaf and not (key is known[2] and given)
            # `w = (w - g).detach().requires_grad_()`, but no input that is computed from other parameters.
            way: Any = lambda each, leaf=leaf: () if each in trained and each is not leaf else graph.inputs(each)  # noqa: E731
            later = leaf.serial > walks[0].order and given
            if moved or (later and not graph.gradients.keys().isdisjoint(reachable([leaf], way))):
                shown[key] = leaf
                cuts.add(_shown_since(graph, leaf))
    if not walks:
        return []
    moving = {each.where for each in graph.nodes if _trained(graph, each, depends)}  # also of zeros in the first step
    # What nothing reads again may be written for the last time before others are trained.
    cuts |= {_shown_since(graph, each.__node__) for each, leaf in graph.text.first.items() if each.__node__ is not leaf}
    ends = [ended for _, ended in spans]
    free = [each for each in sorted(cuts) if min(ends) <= each < max(ends)]
    inside = [each for each in free if any(begun <= each < ended for begun, ended in spans)]
    # If a parameter is written between each loss and its backward pass, a step ends with the backward pass.
    free = [each for each in free if each not in inside] or [int(each) for each in ends[:-1] if inside]
    free = _without_trials(free, graph.updates)
    # Of several parameters that are written after another the last one ends the step, and what its line still does.
    last = {bisect.bisect_right(ends, each): each for each in free}
    begins = [int(min(begun for begun, ended in spans if not free or ended <= free[0])) - 1]
    ending = {each.where for each in graph.nodes if each.serial in {*last.values()}}
    over = max([each.serial for each in graph.nodes if each.where in ending], default=0)
    trailing = {each.where for each in graph.nodes if each.serial > over}
    for cut in last.values():
        place = bisect.bisect_right(graph.nodes, cut, key=lambda node: node.serial)
        while place < len(graph.nodes) and graph.nodes[place].where == graph.nodes[place - 1].where:
            place += 1
        coming = min([begun for begun, ended in spans if ended > cut], default=cut)
        begun, ended = max([span for span in spans if span[1] <= cut], default=(0.0, 0.0))
        # It is the next step that begins with these lines, also with what they make of data alone.
        forward = {node.where for node in graph.between(begun - 1, ended)} | (data[ended] - moving)
        for node in graph.nodes[place:]:  # then what such a line is followed by at the end, too: a mean of weights
            fresh = node.operation is None and graph.memory(node) is None
            if node.serial >= coming or node.where not in trailing or node.where in forward or fresh:
                break
            place += 1
        begins.append(max(cut, graph.nodes[place - 1].serial))
    again = {each.where for each in graph.nodes if each.serial > begins[min(1, len(begins) - 1)]}
    before = [each.serial for each in graph.nodes if each.serial <= begins[0] and each.where not in again]
    begins[0] = max(before, default=begins[0])  # what only the lines before the loop do is in no step
    adding = any(event.what.after for event in walks)
    steps = [TrainingStep(each, [], adding) for each in begins]
    for step, after in pairwise([*steps, None]):
        assert step is not None
        step.last = 1 << 62 if after is None else after.first
        own = [each for each in graph.story.events if step.first < each.order <= step.last]
        step.hear(own)
    if len(steps) > 1:
        _ended(graph, steps)
    return [each for each in steps if each.lines]


def _without_trials(cuts: list[int], updates: Sequence[Update]) -> list[int]:
    """The cuts without those by hand that come as often before each step of an optimizer, also before the first: there
    parameters are moved for another backward pass, and put back, as in sharpness-aware training."""
    spans = sorted((each.first, each.last) for each in updates)
    own = [each for each in cuts if any(first <= each <= last for first, last in spans)]
    before = Counter(bisect.bisect_right(spans, (each, math.inf)) for each in cuts if each not in own)
    often = {before[place] for place in range(len(spans))}
    return own if own and len(spans) > 1 and len(often) == 1 and 0 not in often else cuts


def _trained(graph: TrainingGraph, node: Node, known: dict[Node, bool]) -> bool:
    """Whether a node depends on what is trained; `known` has what it is known of."""
    for each in reachable([node], lambda each: () if each in known else graph.inputs(each)):
        if type(each) is Node and each not in known:
            own = each.requires_grad or each in graph.gradients
            known[each] = own or any(known.get(one, False) for one in graph.inputs(each))
    return known[node]


def _shown_since(graph: TrainingGraph, leaf: Node) -> int:
    """When the value was made that a leaf shows: of `w.data.add_(g)` the leaf is recorded where w is read next."""
    made = graph.origin(leaf)
    return made.serial if made.in_place else leaf.serial


def _ended(graph: TrainingGraph, steps: Sequence[TrainingStep]) -> None:
    """The last step ends with the lines that those before end with; what follows is no training."""
    passes = [[each.order for each in step.events if isinstance(each.what, Walked)] for step in steps]
    after = [max(each, default=0) for each in passes]  # what is printed after the last step is read there
    parts = [graph.between(first, step.last) for step, first in zip(steps[:-1], after[:-1], strict=True)]
    lines = {each.where for part in parts for each in part}
    last = [each.serial for each in graph.between(after[-1], steps[-1].last) if each.where in lines]
    steps[-1].last = max(last, default=steps[-1].last)


def site_of(node: Node) -> Any:
    """The line and the operation of a node, and what it has in common with others that these recorded."""
    return node.where, node.operation, node.static, str(node.aval)


def _sources(story: Story) -> tuple[dict[Node, tuple[Any, ...]], dict[Node, tuple[Any, ...]]]:
    """For each gradient what it was computed from, and what the user's code computed on the way."""
    found: dict[Node, tuple[Any, ...]] = {}
    ways: dict[Node, tuple[Any, ...]] = {}
    ran: list[tuple[Sequence[Any], Sequence[Any]]] = []  # what the user's code got in a backward pass, and returned
    for event in story.events:
        walked = event.what
        if isinstance(walked, Hooked):
            ran.append(([walked.before], [walked.after]))
        elif isinstance(walked, Stepped):
            ran.append((walked.cotangents, walked.results))
        if not isinstance(walked, Walked):
            continue
        own, way = _by_user(ran, max(root.serial for root in walked.roots))
        ways.update(dict.fromkeys([each for each in walked.gradients.values() if each is not None], way))
        ran = []
        given = [cotangent for cotangent in walked.cotangents if cotangent is not None]
        for target, gradient in walked.gradients.items():
            if gradient is not None and gradient not in own:  # else it is data, which a backward returned as it is
                found[gradient] = (target, *walked.roots, *given, *own)
            after, before = walked.after.get(target), walked.before.get(target)
            if after is not None and after is not gradient:
                found[after] = tuple(each for each in (before, gradient) if each is not None)
    return found, ways


def _by_user(ran: Sequence[tuple[Sequence[Any], Sequence[Any]]], since: int) -> tuple[list[Any], tuple[Any, ...]]:
    """What hooks and backwards of the user's that `ran` have read or made besides the cotangents that they got: nodes
    from before the backward pass, which began at the time `since`, data, and numbers; and the operations that they
    recorded."""
    results = [each for given, returned in ran for each in returned if each is not None and each not in given]
    got = {each for given, _ in ran for each in given} - {*results}
    inside: Any = lambda node: type(node) is Node and node.serial > since and node not in got  # noqa: E731
    nodes = reachable(results, lambda node: node.inputs if inside(node) else ())
    made = [each for each in nodes if inside(each) and each.inputs]
    read: list[Any] = [each for each in nodes if each not in got and each not in made]
    read += [each for one in made for each in one.inputs if type(each) is Number]
    return read, tuple([(each.operation, each.static) for each in made])

"""The events of a block of code, as plain data: `Story`.

A `Recorder` records a block; `story_of` makes the story of one result. Operations are in the recorded graph; events are
what the graph does not show: backward passes, hooks, gradients set and freed.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from jaxvjp.autograd.function_step import FunctionStep
from jaxvjp.autograd.roots import checked_gradients, roots_and_cotangents
from jaxvjp.core.derive.pullback import pullback
from jaxvjp.core.derive.reach import reachable_from
from jaxvjp.core.derive.saved import freed_error
from jaxvjp.core.derive.transforms import jvp, vmap
from jaxvjp.core.record.graph import Node, gradient_edges, reachable
from jaxvjp.core.record.modes import listening, transforming
from jaxvjp.core.record.observers import (
    GradSet,
    Hooked,
    Placed,
    Read,
    Released,
    Stepped,
    Transformed,
    Unclear,
    Unpacked,
    Walked,
)
from jaxvjp.core.record.user_lines import UserLine, user_line
from jaxvjp.core.record.versions import next_serial
from jaxvjp.explain.calls import Calls, FunctionCall
from jaxvjp.explain.names import (
    adds_to,
    all_names_in,
    assigned,
    module_names,
    names_in,
    numbered,
    statement,
    variables_of,
)
from jaxvjp.explain.watching import Watch
from jaxvjp.ops.identity import UNCHANGED, detach, shaped, tuple_item, variable
from jaxvjp.ops.strided import laid
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.devices import META

PASSING = UNCHANGED | {tuple_item, shaped, laid}
"""What passes on a result of a transform."""
TRANSFORMS = pullback, jvp, vmap
FEW = 8
"""Of a tuple of at most so many tensors each is a state, as those of an LSTM are."""


class Event(NamedTuple):
    """An event: when it happened (in the order of recording), at which line, and what."""

    order: float
    where: UserLine
    what: Any


class Kept(NamedTuple):
    """The inputs of a node, kept because freeing the graph removes them from the node."""

    node: Node
    inputs: Any
    edges: Any


class Refused(NamedTuple):
    """A backward pass that was refused for its v.

    Attributes:
        roots: what it began at.
        root, gradient: that of which the v was refused, and the v that it got, None without one.
        text: what the error said.
        frame, where: the user's frame and line that called it.
        freed: whether a backward pass before had freed the graph.
        before: the `grad` of each leaf at that moment.
        order: when that was, in the order of recording.
    """

    roots: Sequence[Tensor]
    root: Tensor
    gradient: Tensor | None
    text: str
    frame: Any
    where: UserLine
    freed: bool
    before: Mapping[Node, Node]
    order: float


class Story(NamedTuple):
    """The record of a block of code.

    Attributes:
        events: backward passes, hooks and the like, in order.
        names: the names of nodes that the user's variables show.
        tensors: the names of the user's tensors.
        shown: the nodes that the user's variables show at the end; a program without a backward computes these.
        owners: for each node whose gradient was accumulated, its tensor; a write gives a leaf another node.
        gradients: for each tensor that was a `grad`, the tensor whose `grad` it was.
        transformed: for each node that carries a program, what it was made of: the graph with the user's lines.
        unpacked: for each node with saved-tensor hooks, the operands that `unpack_hook` returned.
        kept: the inputs of nodes, to be restored if the graph was freed since.
        hypothetical: whether its backward pass has not run, but is the one that `backward` would do.
        watch: what the user's lines did one by one; None if they were not watched.
        calls: the calls of the user's functions that ended, in the order in which they began.
        every: all names of the nodes that the user's variables show at the end, as of one in a list, too.
        refused: the last backward pass that was refused for its v; None without one.
        overwritten: the names of what was written in place since, by way of `detach()`, too.
        grads: for each of the owners the node of its `grad` at the end: what runs afterwards may change it.
        file: the script that ran; None if it was no script.
        printed: what lines printed before their last time, and sums that they read; `shown` has the last.
        alike: by what variables showed in a round, made by the line whose last value they show at the end, their names.
        modules: by the name of a tensor those of the user's modules that have it, the outermost first.
        counts: the user's variables that are integers at the end.
    """

    events: list[Event]
    names: dict[Node, str]
    tensors: dict[Tensor, str]
    shown: list[Node]
    owners: dict[Node, Tensor]
    gradients: dict[Tensor, Tensor]
    transformed: dict[Node, Transformed]
    unpacked: Mapping[Node, Mapping[Node, Node]]
    kept: list[Kept]
    hypothetical: bool = False
    watch: Watch | None = None
    calls: Sequence[FunctionCall] = ()
    every: Mapping[Node, Sequence[str]] = {}
    refused: Refused | None = None
    grads: Mapping[Tensor, Node] = {}
    overwritten: Mapping[Node, str] = {}
    file: str | None = None
    printed: Sequence[Node] = ()
    alike: Mapping[Node, str] = {}
    modules: Mapping[str, Sequence[str]] = {}
    counts: Mapping[str, int] = {}

    @property
    def passes(self) -> list[Event]:
        """The backward passes, in order."""
        return [event for event in self.events if isinstance(event.what, Walked)]

    def stepped(self) -> dict[Any, Stepped]:
        """By Python backward step, such as that of a custom Function, the first time that it ran."""
        found: dict[Any, Stepped] = {}
        for event in self.events:
            if isinstance(event.what, Stepped):
                found.setdefault(event.what.step, event.what)
        return found

    @contextmanager
    def told(self) -> Iterator[Story]:
        """A context in which the story's graph is as it was, even if it was freed since."""
        for node, inputs, edges in self.kept:
            if node.inputs is not inputs:
                node.inputs, node.edges = inputs, edges
        transforming().forward += 1
        try:
            yield self
        finally:
            transforming().forward -= 1


def user_frame(frame: Any) -> Any:
    """The innermost frame outside this package."""
    place = user_line(frame)
    while frame is not None and (place is None or frame.f_code is not place[0]):
        frame = frame.f_back
    return frame


class Recorder:
    """Records the events in a `with` block, and keeps the inputs of nodes that are freed in it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.owners: dict[Node, Tensor] = {}
        self.gradients: dict[Tensor, Tensor] = {}
        self.transformed: dict[Node, Transformed] = {}
        self.unpacked: dict[Node, Mapping[Node, Node]] = {}
        self.placed: dict[Any, Node] = {}
        self.first = next_serial()
        self.refused: Refused | None = None
        self.story: Story | None = None
        self.watch: Watch | None = None
        self.calls = Calls()
        self.script: str | None = None
        self.seen: list[tuple[str, Node]] = []  # what variables showed at backward passes

    def start(self, file: str | None = None, frame: Any = None) -> None:
        """Begins, and watches the lines of `file`: those that `frame` has yet to run, and those of functions."""
        listening().append(self.note)
        transforming().forward += 1  # inside a level of forward mode, nodes keep their inputs
        if file is not None:
            self.watch = Watch(file)
            self.watch.start(frame)
        self.calls.start()

    def note(self, what: Any) -> None:
        if isinstance(what, Transformed):
            for result in what.results:
                self.transformed[result.inputs[0]] = what
            return
        if isinstance(what, Placed):
            self.placed[what.number] = what.node
            return
        if isinstance(what, Unpacked):
            self.unpacked.setdefault(what.node, what.nodes)
            return
        if isinstance(what, Unclear):
            frame, nodes = sys._getframe(1), reachable([each.__node__ for each in what.roots], gradient_edges)
            freed = any(map(used_up, nodes))
            self.refused = Refused(*what, user_frame(frame), user_line(frame), freed, _grads_of(nodes), next_serial())
            return
        order = next_serial()
        if isinstance(what, Walked):
            owners = {node: node.tensor for node in what.after}
            what, used = _as_used(what)
            self.owners.update((used.get(node, node), tensor) for node, tensor in owners.items())
            moved = {now: node for now, node in used.items() if node is not now}
            for place, event in enumerate(self.events if moved else ()):
                if isinstance(event.what, Hooked) and event.what.node in moved:
                    self.events[place] = event._replace(what=event.what._replace(node=moved[event.what.node]))
            self.calls.walks.append(order)
            caller: Any = user_frame(sys._getframe(1)) if what.after else None
            variables = {} if caller is None else caller.f_locals
            for name, value in variables.items():
                parts = enumerate(value) if type(value) is tuple and len(value) <= FEW else ()  # `(h, c)`
                own = [(f"{name}_{place}", each) for place, each in parts] or [(name, value)]
                shown = [(called, each.__node__) for called, each in own if type(each) is Tensor]
                self.seen += [(called, node) for called, node in shown if node.operation is not None]
        self.events.append(Event(order, user_line(sys._getframe(1)), what))
        if isinstance(what, GradSet) and what.tensor._grad is not None:
            self.gradients[what.tensor._grad] = what.tensor

    def stop(self, variables: Mapping[str, Any]) -> Story:
        self.calls.stop()
        listening().remove(self.note)
        try:
            self.story = self._told({**variables, **self.calls.left, **variables})
        finally:
            transforming().forward -= 1  # only now: to read a view that was written evaluates
        return self.story

    def _told(self, variables: Mapping[str, Any]) -> Story:
        if self.watch is not None:
            self.watch.stop(variables)
        last = next_serial()
        tensors, names = _named(variables)
        # Reading a view of a written tensor records the view again, without a line of the user's. Of one that shows all
        # of it, as a buffer that was written by way of `detach()`, the node is that which was written.
        overwritten: dict[Node, str] = {}
        for shows, own in [*names.items()]:
            written = _written(shows)
            if written is None or (written is shows and shows.aval.dtype.differentiable):
                continue  # a trained tensor's nodes are known otherwise
            # Of `best = model.state_dict()` the name is that of the model, also if it is copied, and loaded again.
            own = names.setdefault(written, tensors.get(written.tensor, own))
            while written is not None:
                overwritten.setdefault(written, own)
                before: Any = written.inputs[0]
                written = _written(before.inputs[0] if before.operation is detach and before.inputs else before)
        # A leaf that was written by way of `.data` is recorded again, too, and is there only now.
        # So is a view of what was written since, `row = w[1:]; w.mul_(2)`.
        ended = [node for node in names if passed_on(node)[-1].serial < last or node.operation is variable]
        shown = [node for node in ended if self.first < node.serial and node.device is not META]
        for tensor in list(dict.fromkeys(self.owners.values())):
            self.owners.setdefault(tensor.__node__, tensor)
        walks = [event.what for event in self.events if isinstance(event.what, Walked)]
        passed = {each: name for node, name in names.items() for each in passed_on(node)[1:]}
        for walked in walks:  # `y, g = vjp(f, x, v)` returns both detached
            for node in () if walked.after else (*walked.roots, *walked.gradients.values()):
                if node in passed and assigned(node.where) is None:
                    names.setdefault(node, passed[node])
        known = {
            *names,
            *(each for walked in walks for found in (walked.gradients, walked.after) for each in found.values()),
            # What a Function's backward gets, and may print, is of its pass.
            *(each for event in self.events if isinstance(event.what, Stepped) for each in event.what.cotangents),
        }
        read: dict[Any, list[Node]] = {}  # by the line, and what made it
        for event in self.events:  # what a transform gave may have been printed at once
            node = event.what.node if isinstance(event.what, Read) else None
            source = None if node is None else statement(event.where)
            if node is not None and source is not None and (source.prints or adds_to(node.where)):
                way = tuple([(each.where, each.operation, each.static) for each in passed_on(node)])
                read.setdefault((event.where, way, source.prints), []).append(node)
        earlier: list[Node] = []
        roots = {each for walked in walks for each in walked.roots}
        for (*_, prints), rounds in read.items():
            rounds = list(dict.fromkeys(rounds))
            found = passed_on(rounds[-1]) if prints else [rounds[-1]]
            if not names.keys().isdisjoint(found):  # the last is there at the end, so are the others
                earlier += [each for each in rounds[:-1] if roots.isdisjoint(passed_on(each))]
                continue
            for *before, last in zip(*[each.inputs for each in rounds], strict=False):  # or that is, of `total / 3`
                if last in names and last.operation is not None and not last.requires_grad:
                    earlier += [each for each in before if type(each) is Node and roots.isdisjoint(passed_on(each))]
            new = [each for each in rounds if known.isdisjoint(passed_on(each)) and _of_transforms(each, known)]
            if prints and new and known.isdisjoint(passed_on(rounds[-1])):
                names[rounds[-1]] = numbered("printed", {*names.values()})
                known.add(rounds[-1])
                shown.append(rounds[-1])
            earlier += rounds[:-1] if prints and new else ()
        last_of = {own: node for node, own in names.items() if node in shown and node.operation is not None}
        alike = {each: own for own, each in self.seen if own in last_of and _same_line(each, last_of[own])}
        alike = {each: own for each, own in alike.items() if roots.isdisjoint(passed_on(each))}
        starts = [*shown, *earlier, *alike, *self.owners]
        for event in self.events:
            if isinstance(event.what, Walked):
                starts += [*event.what.roots, *[each for each in event.what.after.values() if each is not None]]
                starts += [cotangent for cotangent in event.what.cotangents if cotangent is not None]
        grads = {each: each._grad.__node__ for each in self.owners.values() if each._grad is not None}
        starts += grads.values()
        starts += [each for replaced in self.unpacked.values() for each in replaced.values()]
        kept = _kept([*starts, *self.placed.values()], self.placed)
        told = (shown, self.owners, self.gradients, self.transformed, self.unpacked, kept)
        calls = sorted(self.calls.ended, key=lambda each: each.first)
        every = {tensor.__node__: own for tensor, own in all_names_in(variables).items()}
        made = Story(self.events, names, tensors, *told, False, self.watch, calls, every, self.refused, grads)
        modules = {
            own: [name for name in each if own.startswith(f"{name}_")]
            for tensor, each in module_names(variables).items()
            if (own := tensors.get(tensor, ""))
        }
        counts = {name: value for name, value in variables.items() if type(value) is int}
        made = made._replace(overwritten=overwritten, counts=counts)
        return made._replace(file=self.script, printed=earlier, alike=alike, modules=modules)


def _same_line(node: Node, last: Node) -> bool:
    """Whether a line made a node in an earlier round than the last."""
    own = node.where, node.operation, node.static
    return node is not last and own == (last.where, last.operation, last.static)


def _as_used(walked: Walked) -> tuple[Walked, dict[Node, Node]]:
    """A backward pass whose gradients are those of the nodes in its graph, and that node of each leaf that was written
    since: what the pass has told of is the node that such a leaf shows now."""
    reached, current_of = reachable_from(walked.roots)
    of_leaf: dict[Node, list[Node]] = {}
    for used, now in current_of.items():
        of_leaf.setdefault(now, [now] if now in reached else []).append(used)
    found = {now: used[0] for now, used in of_leaf.items() if now in walked.gradients}
    older = {each: used for now, used in found.items() for each in of_leaf[now][1:]}
    told = [{found.get(node, node): each for node, each in of.items()} for of in walked[2:5]]
    return walked._replace(gradients=told[0], before=told[1], after=told[2], older=older), found


def of_transform(node: Node) -> bool:
    """Whether a node is what a transform gave, such as `torch.func.grad` or `vmap`."""
    return passed_on(node)[-1].operation in TRANSFORMS


def _of_transforms(node: Node, known: Collection[Node]) -> bool:
    """Whether a node is computed of what a transform gave, and not by way of a value that is shown already."""
    found = reachable([node], lambda each: () if each in known else [one for one in each.inputs if type(one) is Node])
    return any(each.operation in TRANSFORMS for each in found if each not in known)


def passed_on(node: Node) -> list[Node]:
    """A node, and those whose value it is, or a view of it."""
    found = [node]
    while (operation := found[-1].operation) is not None and found[-1].inputs and type(found[-1].inputs[0]) is Node:
        if operation not in PASSING and operation.write is None:
            break
        found.append(found[-1].inputs[0])
    return found


def _written(node: Any) -> Node | None:
    """The write in place that made the value of a node, if one did; that of a leaf by way of its `.data`."""
    if node.operation is variable and node.inputs and node.inputs[0].operation is detach:
        node = node.inputs[0]
    while type(node) is Node and node.operation is detach:
        node = node.inputs[0]
    return node if type(node) is Node and node.in_place else None


def _kept(starts: Sequence[Node], placed: Mapping[Any, Node]) -> list[Kept]:
    """The inputs of all nodes; a position that a tensor gave is the node in `placed`."""
    nodes = reachable(starts, lambda node: (*node.inputs, *(node.edges or ())))

    def inputs(node: Node) -> Any:
        return tuple([placed.get(each, each) for each in node.inputs]) if placed else node.inputs

    return [Kept(node, inputs(node), node.edges) for node in nodes if node.inputs]


def _named(variables: Mapping[str, Any]) -> tuple[dict[Tensor, str], dict[Node, str]]:
    """The names of the tensors among `variables`, and of the nodes that they show now."""
    tensors = names_in(variables)
    names: dict[Node, str] = {}
    for tensor, name in tensors.items():
        names.setdefault(tensor.__node__, name)
    return tensors, names


def _grads_of(nodes: Sequence[Node]) -> dict[Node, Node]:
    """The `grad` of each leaf that has one."""
    leaves = [each for each in nodes if each.is_leaf and getattr(each.tensor, "_grad", None) is not None]
    return {each: each.tensor._grad.__node__ for each in leaves}


def story_of(
    result: Tensor, gradient: Tensor | None, frame: Any, recorded: Story | None = None, beside: Sequence[Tensor] = ()
) -> Story:
    """The story of one result: how it was computed, and what a backward from it would do, from it and those `beside`.

    What was `recorded` knows a graph that was freed, which values were read, and the gradients where it was refused.
    RuntimeError for a tensor without a graph, a leaf, and a graph that was freed otherwise.
    """
    node = result.__node__
    if not node.requires_grad:
        raise RuntimeError(
            "there is no graph to explain: this tensor requires no gradient\n"
            "Nothing that it was computed from does, or it was computed under no_grad() or detached. Make an input a "
            "leaf that does, `x = jaxvjp.tensor([1., 2.], requires_grad=True)`; or show a whole stretch of code, "
            "`with jaxvjp.explain.recording() as story:`."
        )
    if node.is_leaf:
        raise RuntimeError(
            "there is nothing to explain: this tensor is a leaf, which no operation computed\n"
            "Explain what was computed from it: `y = 2 * x`, then `jaxvjp.explain(y)`."
        )
    v: Node | None = None
    if gradient is not None:
        (v,) = roots_and_cotangents([result], checked_gradients(gradient, [result]), False, False)[1]
    roots = [node, *[each.__node__ for each in beside]]
    nodes = reachable(roots, gradient_edges)
    for each in nodes:
        if used_up(each) and recorded is None:
            error = freed_error(each)
            raise type(error)(
                f"{error}\nTo explain a backward pass that frees its graph, record both: "
                "`with jaxvjp.explain.recording() as story:` around these lines, and then `print(story)`."
            )
    leaves = [each for each in nodes if each.is_leaf]
    tensors, names = _named({} if frame is None else variables_of(frame))
    none: dict[Node, None] = dict.fromkeys(leaves)
    before = _grads_of(leaves) if recorded is None or recorded.refused is None else {**recorded.refused.before}
    walked = Walked(roots, [v, *[None] * len(beside)], none, before, none, 0, False)
    unpacked: dict[Node, dict[Any, Node]] = {
        each: {each.inputs[place]: kept for place, kept in each.packed(False).items()}
        for each in nodes
        if each.packed is not None and each.python is None
    }
    reads = [] if recorded is None else [each for each in recorded.events if isinstance(each.what, Read)]
    kept = _kept(roots, {})
    where = None if recorded is None or recorded.refused is None else recorded.refused.where
    return Story([Event(next_serial(), where, walked), *reads], names, tensors, [], {}, {}, {}, unpacked, kept, True)


def used_up(node: Node) -> bool:
    """Whether a backward pass without `retain_graph` has freed what a node, or its Function, saved."""
    step = node.python
    return node.freed or (isinstance(step, FunctionStep) and step.ctx.__freed__ and bool(step.ctx.__saved__))


def hooks_before(events: Sequence[Event], place: int) -> list[Hooked]:
    """The hooks that were called in the backward pass that ended at `place`."""
    found: list[Hooked] = []
    for event in reversed(events[:place]):
        if isinstance(event.what, Walked):
            break
        if isinstance(event.what, Hooked):
            found.append(event.what)
    return found[::-1]


def released(events: Sequence[Event], place: int) -> bool:
    """Whether the backward pass that ended at `place` freed what it went through."""
    later = (event.what for event in events[place + 1 :] if isinstance(event.what, Walked | Released))
    return isinstance(next(later, None), Released)

"""The backward pass: `walk_back` walks a recorded graph from roots to leaves and records their cotangents.

It cuts the operations of the graph, in the order of recording, into **segments**. Each segment becomes one `Program`,
and its backward step one node, the `pullback` of that program. So the result of a walk is a graph again, of which
nothing is computed yet; `evaluation` usually computes all of it with one call of one program.

Usually a graph of up to 256 operations is one segment. A segment ends where something other than `jax.vjp` has to
happen, such as a hook or the backward of a custom `Function`: `Walk.segments` says where.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

from jaxvjp.core.derive.anomaly import Inside, anomaly, blame, look_for_nan
from jaxvjp.core.derive.pullback import record_pullback
from jaxvjp.core.derive.reach import check_passable, fill_lost_originals, needed, passed_through, reachable_from, whole
from jaxvjp.core.record.graph import (
    Node,
    Number,
    gradient_edges,
    hooks_of,
    reachable,
    recording_order,
)
from jaxvjp.core.record.lifetime import NodesMet
from jaxvjp.core.record.modes import listening, thread_modes, tracking
from jaxvjp.core.record.observers import Hooked, StepHooked, Stepped, Transformed, Unpacked, tell
from jaxvjp.core.record.record import constant, record
from jaxvjp.core.record.steps import PythonBackward
from jaxvjp.core.record.versions import next_serial
from jaxvjp.core.run.pieces import PIECE, in_pieces
from jaxvjp.core.run.program import Frozen, Program, freeze
from jaxvjp.ops.pointwise import add
from jaxvjp.types.devices import Elsewhere, program_place


class WalkResult(NamedTuple):
    """The result of `walk_back`. All cotangents are nodes that may have no value yet.

    Attributes:
        gradients: maps each leaf or target that was reached to its cotangent.
        retained: maps each intermediate node with `retain_grad` to its cotangent.
        value_nodes: maps each root that had no value to a node with that value. It is a primal output of the pullback:
            the loss comes from the same program as the gradients.
        operations: the nodes that the walk went through, for `release`.
        met: all nodes that the roots lead to.
        short_pieces: the programs of its segments, if they were cut into short pieces and for no other reason.
    """

    gradients: dict[Node, Node]
    retained: dict[Node, Node]
    value_nodes: dict[Node, Node]
    operations: list[Node]
    met: NodesMet = NodesMet([])
    short_pieces: Sequence[Frozen] = ()


def walk_back(
    roots: Sequence[Node],
    cotangents: Sequence[Node | None],
    targets: Sequence[Node] | None = None,
    create_graph: bool = False,
    batch: tuple[int, ...] = (),
    short_pieces: bool = False,
    leaf_hooks: bool = True,
    accumulating: bool = False,
) -> WalkResult:
    """Records the cotangents of `targets`, or of every leaf that requires a gradient, given those of `roots`.

    Args:
        roots: the nodes to begin at.
        cotangents: one for each root; None means 1.
        targets: the nodes whose cotangents are wanted; None for all leaves. One that no root depends on gets none.
        create_graph: whether the cotangents can be differentiated again.
        batch: leading dimensions that each cotangent has besides its own. The walk must then meet no Python
            (`calls_python`).
        short_pieces: whether to cut into pieces that are short (`pieces.in_pieces`).
        leaf_hooks: whether to call hooks of leaves.
        accumulating: whether it is `backward` that asks: then torch calls the hooks of the steps of `targets`, too.

    RuntimeError, before anything is recorded, where the walk would go through a node that an earlier backward pass
    freed, or whose saved tensors were written in place since.
    """
    reached, current_of = reachable_from(roots)  # all that is behind the roots
    nodes = needed(reached, targets, current_of)  # of these, what is on the way to a target
    operations = passed_through(nodes, targets, accumulating)  # and no end of the way
    check_passable(operations, targets)
    fill_lost_originals(reached)
    with tracking(create_graph):
        given = [constant(1, root.aval) if each is None else each for root, each in zip(roots, cotangents, strict=True)]
        walk = Walk(nodes, operations, targets, current_of, create_graph, batch, short_pieces, leaf_hooks)
        result = walk.back_from(roots, given)
    return result._replace(met=NodesMet(reached))


class FinishedWalk:
    """A walk that is over, for hooks that are called with its results (`ThreadModes.walk`)."""

    def __init__(self, roots: Sequence[Node], nodes: Iterable[Any]) -> None:
        self.roots = roots
        self.nodes = nodes

    @cached_property
    def on_the_way(self) -> set[Node]:
        """The nodes that it may have passed. Hardly any hook asks for them."""
        return {node for node in self.nodes if node.requires_grad}


def _is_there(node: Node | Number) -> bool:
    return not isinstance(node, Node) or node.operation is None or node.value is not None


def hooked(node: Node, cotangent: Node, walk: Walk | FinishedWalk) -> tuple[Node, Node]:
    """Calls the hooks of `node` with its cotangent. Returns that, as hooks that write to it in place have left it, and
    the cotangent to go on with: the same, or what they return instead."""
    modes = thread_modes()
    outer, modes.walk = modes.walk, walk
    arrived = cotangent
    try:
        for hook in list((hooks_of(node) or {}).values()):
            before = cotangent
            written, cotangent = hook(cotangent)
            if before is arrived:
                arrived = written
            if listening():
                tell(Hooked(node, before, cotangent))
    finally:
        modes.walk = outer
    return arrived, cotangent


class Walk:
    """One walk over `nodes`, the last recorded first.

    Attributes, besides the parameters of `walk_back`:
        roots: the nodes that it begins at, for hooks.
        operations: those among `nodes` that are walked through; the others are leaves and targets.
        on_the_way: `nodes` as a set: a cotangent goes nowhere else.
        arrived: for each node the sum of its cotangents so far.
        current_of: for a leaf that was written since, the node that its tensor shows now.
    """

    def __init__(
        self,
        nodes: list[Node],
        operations: list[Node],
        targets: Sequence[Node] | None,
        current_of: Mapping[Node, Node],
        create_graph: bool,
        batch: tuple[int, ...],
        short_pieces: bool,
        leaf_hooks: bool,
    ) -> None:
        self.current_of = current_of
        self.nodes = nodes
        self.operations = operations
        self.targets = targets
        self.create_graph = create_graph
        self.batch = batch
        self.short_pieces = short_pieces
        self.leaf_hooks = leaf_hooks
        self.on_the_way = set(nodes)
        self.arrived: dict[Node, Node] = {}
        self.frozen: list[Frozen] | None = None  # see `WalkResult.short_pieces`
        self.stopped = False  # whether a Python step gave None: nodes behind it alone then get None and not zeros

    def arrive(self, node: Node | Number, cotangent: Node | None) -> None:
        """Adds a cotangent to those that have arrived at a node, if it is on the way to a target."""
        if isinstance(node, Node) and cotangent is not None and node in self.on_the_way:
            node = self.current_of.get(node, node)  # of a leaf written since: its current node
            known = self.arrived.get(node)
            self.arrived[node] = cotangent if known is None else record(add, (known, cotangent))

    def back_from(self, roots: Sequence[Node], cotangents: Sequence[Node]) -> WalkResult:
        """Walks, segment by segment, and calls the hooks of tensors on the way."""
        self.roots = roots
        for root, cotangent in zip(roots, cotangents, strict=True):
            self.arrive(root, cotangent)
        root_set = set(roots)
        value_nodes: dict[Node, Node] = {}  # for each root without a value, a node with its value
        before_hooks: dict[Node, Node] = {}  # rare: for a target on the way, its cotangent before its hooks
        ends = self.ends()
        waiting = [node for node in ends if self.leaf_hooks and hooks_of(node)]  # rare: those with hooks
        for segment in reversed(self.segments()):
            while waiting and self.operations[-ends[waiting[0]]].serial > segment[-1].serial:
                self.call_hooks(waiting.pop(0), {})  # its cotangent is complete, and torch calls them at once
            for node in segment:  # rare: hooks of tensors; a node with hooks is the last of its segment
                if node in self.arrived:
                    before_hooks[node] = self.arrived[node]
                self.call_hooks(node, before_hooks)
            if anomaly.enabled:  # rare: `detect_anomaly`
                _watched_step(self, segment)
                continue
            if segment[0].stands_alone:  # rare: one step, which is Python code or has hooks
                _take_step(self, segment)
                continue
            # The usual case: one pullback for the segment.
            outputs = [node for node in segment if node in self.arrived]  # that a cotangent has reached
            for node, value_node in self.pull(segment, outputs, [self.arrived[node] for node in outputs]):
                if node in root_set and node.value is None:
                    value_nodes[node] = value_node
        for node in waiting:
            self.call_hooks(node, {})
        return self._result([*ends], before_hooks, value_nodes)  # what `arrived` at the leaves

    def _result(self, ends: list[Node], before_hooks: dict[Node, Node], value_nodes: dict[Node, Node]) -> WalkResult:
        """Gathers what arrived at leaves or targets."""
        leaves = [node for node in ends if node.is_leaf]
        wanted = leaves if self.targets is None else self.targets
        # As in torch: a target that the walk goes on through gives its cotangent before hooks, others after hooks.
        # What arrived at a leaf that was written since stands at its current node.
        current = {node: self.current_of.get(node, node) for node in wanted}
        gradients = {node: before_hooks.get(at, self.arrived[at]) for node, at in current.items() if at in self.arrived}
        retained = {node: self.arrived[node] for node in self.nodes if node.retains and node in self.arrived}
        return WalkResult(gradients, retained, value_nodes, self.operations, short_pieces=self.frozen or ())

    def ends(self) -> dict[Node, int]:
        """The nodes where the walk ends, in torch's order: first those whose cotangent is complete first. With each the
        place of the first operation that reads it, negated; 1 if none does."""
        passed = set(self.operations)
        ends = {node: 1 for node in self.nodes if node not in passed}  # and the first operation that reads it, negated
        unmet = len(ends)
        for at, node in enumerate(self.operations):
            if not unmet:
                break  # usually soon: the first round of a loop reads all the parameters
            for each in gradient_edges(node):
                each = self.current_of.get(each, each)
                if ends.get(each) == 1:
                    ends[each] = -at
                    unmet -= 1
        return {node: ends[node] for node in sorted(ends, key=ends.__getitem__) if node not in self.current_of}

    def segments(self) -> list[list[Node]]:
        """The operations, in the order of recording, cut into segments. A segment ends

        * before and after an operation whose backward step is Python code or has hooks,
        * after a node with tensor hooks, and after a node whose gradient is asked for: its cotangent must be a node,
        * where the device changes, and where it would have more operations than `pieces.PIECE`,
        * with `create_graph`, after a node that the user holds: he may differentiate with respect to it later; and
          around a checkpoint of the reentrant kind, whose gradient cannot be differentiated again,
        * with `detect_anomaly`, after each operation.

        A hook or a `Function` that reads a value has everything computed that was recorded so far.
        """
        targets = set(self.targets or ())
        ends = set()
        # Whether all operations are of one kind, see `kind`.
        alike = not (self.create_graph or (Elsewhere.used and any(node.device is not None for node in self.operations)))
        node: Node
        for node in self.operations:
            rare = node.special or node.leaf is not None
            alike = alike and not rare
            if (
                node in targets
                or (rare and (hooks_of(node) or node.retains))
                or anomaly.enabled
                or (self.create_graph and node.held())
            ):
                ends.add(node)
        if self.short_pieces and not ends:
            self.frozen = []
            if alike:
                return in_pieces(self.operations, short_pieces=True)

        def kind(node: Node) -> tuple[bool, Any]:
            first, device = whole(node), node.device
            alone = first.special and node in inside and first.stands_alone
            shared = None if device is None else program_place(device)
            return alone, (shared, self.create_graph and self.ends_graph(node))

        nodes, inside = self.operations, set(self.operations)
        if len(nodes) > PIECE and not self.short_pieces:
            # The programs that the segments become will also have the operations without a gradient that have no value
            # yet: `plan_of` cuts by the number of all, so that is counted here, too.
            nodes = reachable(nodes, lambda node: [operand for operand in node.inputs if not _is_there(operand)])
        segments: list[list[Node]] = []
        steps: dict[PythonBackward, list[Node]] = {}
        several: dict[Node, list[Node]] = {}
        for (alone, _), group in groupby(nodes, kind):
            if not alone:
                found = in_pieces(group, ends, self.short_pieces)
                segments += filter(None, [[node for node in each if node in inside] for each in found])
                continue
            for node in group:
                # A Python step with several outputs runs once, where the walk back meets the last of them.
                if whole(node) is not node:
                    several[whole(node)].append(node)
                elif type(node.aval) is tuple:
                    segments.append(several.setdefault(node, [node]))
                elif node.python is not None and node.python in steps:
                    steps[node.python].append(node)
                else:
                    segments.append([node])
                    if node.python is not None:
                        steps[node.python] = segments[-1]
        return segments

    def ends_graph(self, node: Node) -> bool:
        """Whether the cotangents of `node` cannot be differentiated again: those of a reentrant checkpoint."""
        operation = whole(node).operation
        return operation is not None and bool(operation.refuses_inputs_error)

    def call_hooks(self, node: Node, before_hooks: dict[Node, Node]) -> None:
        """Replaces what has arrived at a node by what its tensor hooks return for it."""
        hooks = hooks_of(node)
        if hooks and node in self.arrived:
            before_hooks[node], self.arrived[node] = hooked(node, self.arrived[node], self)
        elif hooks and self.stopped:  # torch's hooks see a cotangent that a Python step left out
            for hook in list(hooks.values()):
                hook(None)

    def pull(
        self,
        segment: Sequence[Node],
        outputs: list[Node],
        cotangents: list[Node],
        unpacked: Mapping[int, Node] = MappingProxyType({}),
    ) -> Iterable[tuple[Node, Node]]:
        """Records the pullback of a segment. Returns pairs of an output and a node with its value, by that pullback.

        `unpacked`, usually empty: what saved-tensor hooks returned for operands of a single node, by their positions.
        """
        segment = self._to_pull(segment, outputs)  # usually the segment as it is
        # Without saved-tensor hooks this is `freeze`, and `operands` are the `arguments`.
        program, arguments, operands = _frozen(segment, outputs, unpacked)
        if self.frozen is not None:
            self.frozen.append(Frozen(segment, outputs, program, arguments))
        wrt = [position for position, each in enumerate(arguments) if each in self.on_the_way]
        if not wrt:
            return ()  # rare: it ends at a node whose own cotangent was asked for
        create_graph = self.create_graph and not self.ends_graph(segment[0])  # rare: a reentrant checkpoint ends it
        # For each output a node with its value, and for each of `wrt` one with its cotangent.
        output_nodes, pulled = record_pullback(program, operands, wrt, cotangents, create_graph, self.batch)
        if listening() and create_graph:  # rare: `explain` listens
            tell(Transformed(operands, outputs, pulled))
        for position, result in zip(wrt, pulled, strict=True):
            self.arrive(arguments[position], result)
        return zip(outputs, output_nodes, strict=True)

    def _to_pull(self, segment: Sequence[Node], outputs: list[Node]) -> Sequence[Node]:
        """The nodes to freeze for a segment: its own, but for two cases."""
        inside = set(segment)
        cut_off = {whole(each) for each in segment} - inside
        if cut_off:  # some results of an op that returns several arrays, the others of which are in another segment
            segment = sorted(inside | cut_off, key=recording_order)
        if self.stopped:
            inside = set(segment)
            segment = reachable(outputs, lambda node: [operand for operand in node.inputs if operand in inside])
        return segment


def _frozen(
    segment: Sequence[Node], outputs: list[Node], unpacked: Mapping[int, Node]
) -> tuple[Program, list[Node | Number], list[Node | Number]]:
    """The program of a segment, its arguments, and the nodes that have their values: the same, but with `unpacked` what
    a hook gave.

    What is read twice, `a * a`, has then two arguments, which hooks may give other values: while the node is frozen it
    has copies as inputs.
    """
    if not unpacked:
        program, arguments = freeze(segment, outputs)
        return program, arguments, arguments
    node = segment[0]
    inputs = node.inputs
    apart = {position: copy(inputs[position]) for position in unpacked}
    node.inputs = tuple([apart.get(position, each) for position, each in enumerate(inputs)])
    try:
        program, arguments = freeze(segment, outputs)
    finally:
        node.inputs = inputs
    behind = {stands: inputs[position] for position, stands in apart.items()}
    values = {apart[position]: each for position, each in unpacked.items()}
    return program, [behind.get(each, each) for each in arguments], [values.get(each, each) for each in arguments]


# Steps that are Python code or have hooks: the walk takes each alone, between two segments. So it does with every step
# in anomaly mode (`detect_anomaly`), which blames the line that recorded it for an error.


def _watched_step(walk: Walk, segment: list[Node]) -> None:
    """`_take_step` in anomaly mode: an error is blamed on the line that recorded the node."""
    node, first = segment[0], next_serial()
    try:
        _take_step(walk, segment)
    except Exception:
        blame(node)
        raise
    finally:
        if walk.create_graph:
            anomaly.steps.append(Inside(first, next_serial(), node.serial, node.gradient_name, node.where))


def _take_step(walk: Walk, segment: list[Node]) -> None:
    """Takes the backward step of a single node, calls its hooks and, in anomaly mode, checks the result for NaN."""
    node, step, hooks = segment[0], segment[0].python, segment[0].step_hooks
    outputs = _outputs_of(segment)
    given: list[Node | None] = [output and walk.arrived.get(output) for output in outputs]
    arrived = given
    if hooks is not None:
        given = list(arrived)
        for prehook in list(hooks.before.values()):
            given = hooks.call(node, prehook, given, None)
    if step is not None:
        inputs: list[Node | Number] = list(step.inputs)
        results = step(given, walk.create_graph)
    else:
        inputs = list(node.inputs)
        results = _pull_alone(walk, segment, outputs, given)
    made = results
    if hooks is not None:
        for hook in list(hooks.after.values()):
            results = hooks.call(node, hook, results, given)
        if step is None and listening():
            tell(StepHooked(node, _differ(arrived, given) or _differ(made, results)))
    if step is not None and listening():
        tell(Stepped(step, arrived, results))
    if anomaly.enabled and anomaly.check_nan:
        look_for_nan(node, results)
    pairs = list(zip(inputs, results, strict=True))
    if step is not None or hooks is not None:
        walk.stopped |= any(result is None and each in walk.on_the_way for each, result in pairs)
    if step is None:
        pairs = list(dict(pairs).items())  # an input that is read twice has one cotangent, the sum
    for each, result in pairs:
        walk.arrive(each, result)


def _differ(before: Sequence[Node | None], after: Sequence[Node | None]) -> bool:
    """Whether one of these is another node."""
    return any(one is not other for one, other in zip(before, after, strict=True))


def _outputs_of(segment: list[Node]) -> Sequence[Node | None]:
    """The outputs of the single node of a segment; None for one that no cotangent can arrive at."""
    node, step = segment[0], segment[0].python
    if type(node.aval) is tuple:
        made = {each.output_number: each for each in segment[1:]}
        return [made.get(number) for number in range(len(node.aval))]
    return segment if step is None else step.outputs


def _pull_alone(
    walk: Walk, segment: list[Node], outputs: Sequence[Node | None], cotangents: Sequence[Node | None]
) -> list[Node | None]:
    """The cotangents of the inputs of a single node, apart from what arrived there already."""
    node = segment[0]
    settled, walk.arrived = walk.arrived, {}
    unpacked = node.packed(walk.create_graph) if node.packed is not None else {}
    if unpacked and listening():
        tell(Unpacked(node, {node.inputs[position]: each for position, each in unpacked.items()}))
    pairs = [(each, v) for each, v in zip(outputs, cotangents, strict=True) if each is not None and v is not None]
    if pairs:  # there are none, if a hook has returned None
        walk.pull(segment, [each for each, _ in pairs], [v for _, v in pairs], unpacked)
    results = [
        walk.arrived.get(walk.current_of.get(each, each)) if isinstance(each, Node) else None for each in node.inputs
    ]
    walk.arrived = settled
    return results

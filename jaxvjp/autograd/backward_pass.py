"""A backward pass is one object, `Backward`: it surveys a graph, walks it, computes, and hands the gradients over.

    Backward([root], [cotangent], None).run(retain_graph=False)      # y.backward(v)
    Backward(roots, cotangents, targets).gradients()                 # autograd.grad

The usual way comes first: `backward_of_one`, `run`, `accumulate`, `_surveyed`, `_accumulate_walked`, `end`. A comment
names each rare case, which stands after it.

Everything is computed before any `grad` changes, and then all change, also if an interrupt (Ctrl-C) comes meanwhile.
Where a pass can be remembered, leaves with hooks come after the others, one by one, as in torch: a hook that raises
leaves those after it as they were.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from jaxvjp.core.derive.anomaly import anomaly
from jaxvjp.core.derive.engine import FinishedWalk, WalkResult, hooked, walk_back
from jaxvjp.core.derive.reach import calls_python
from jaxvjp.core.derive.remembered_walks import ComputedWalk, RecordedWalk, known_walk
from jaxvjp.core.derive.saved import release
from jaxvjp.core.record.blocks import restored
from jaxvjp.core.record.graph import Node, hooks_of, recording_order
from jaxvjp.core.record.modes import ThreadModes, grad_mode, listening, thread_modes, tracking, transforming
from jaxvjp.core.record.observers import StepHooked, Walked, tell
from jaxvjp.core.record.record import record, separate
from jaxvjp.core.record.steps import Cotangents, StepHooks
from jaxvjp.core.record.versions import next_serial
from jaxvjp.core.run.evaluation import evaluate, settle
from jaxvjp.core.run.plan import choose_short_pieces
from jaxvjp.core.run.survey import survey
from jaxvjp.ops.identity import clone, shaped
from jaxvjp.ops.pointwise import add
from jaxvjp.tensor.batches import Batch
from jaxvjp.tensor.storage import Stored, holding, shown
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.dtypes import COMPLEX

accumulation_lock = threading.RLock()
"""Held from reading a leaf's `grad` to writing it: two threads that share a leaf end with the sum of both."""


def backward_of_one(root: Stored, gradient: Any) -> bool:
    """`root.backward(gradient)` in the usual case: a tensor with a graph, and a gradient of its shape and dtype, or
    none if it has one element. In any other case nothing is done and the result is False."""
    node = shown(root)
    if not node.requires_grad or node.leaf is not None or node.outdated or transforming().depth:
        return False
    cotangent: Node | None = None
    if gradient is not None:
        if type(gradient) is not Tensor:
            return False
        cotangent = shown(gradient)
        if cotangent.aval is not node.aval:
            return False
    elif node.aval.shape or node.aval.dtype.category == COMPLEX:
        return False
    Backward([node], [cotangent], None).run(False)
    return True


class Backward:
    """One backward pass: vᵀJ, J the Jacobian of `roots` by the program that led to them, v the `cotangents`.

    Args:
        roots: the nodes to begin at.
        cotangents: one for each root; None means 1.
        targets: the nodes whose gradients are wanted; None for all leaves that require one.
        create_graph: whether the gradients can be differentiated again.
        batch: leading dimensions that each cotangent, and then each gradient, has before its own.

    Attributes:
        lazy: whether gradients are left to be computed later: with `create_graph`, inside `vmap`, in a staged step or
            a pure function.
        found: the survey of the graph; None where its walk is not remembered.
        may_be_remembered: whether a walk may be remembered for graphs of that structure.
        short_pieces: whether the graph is to run in short pieces.
        walk: what the pass went through, once it has.
        received: the tensors that got a new `grad`, each with its gradient, whose hooks `end` calls.
    """

    def __init__(
        self,
        roots: Sequence[Node],
        cotangents: Sequence[Node | None],
        targets: list[Node] | None,
        create_graph: bool = False,
        batch: tuple[int, ...] = (),
    ) -> None:
        self.roots = roots
        self.cotangents = cotangents
        self.targets = targets
        self.create_graph = create_graph
        self.batch = batch
        self.modes = thread_modes()
        self.lazy = left_lazy(create_graph, self.modes)
        self.found: Any = None
        self.may_be_remembered = self.short_pieces = False
        self.walk: WalkResult | None = None
        self.received: list[tuple[Tensor, Node]] = []

    @restored  # modes such as `no_grad`, after an error
    def run(self, retain_graph: bool) -> None:
        """Adds the gradients to the `grad` of their tensors, and ends."""
        self.accumulate()
        self.end(retain_graph)

    def accumulate(self) -> None:
        """Adds the gradients to the `grad` of their tensors."""
        with accumulation_lock:
            known = self._surveyed(None if self.lazy else _grad_node_of)
            if type(known) is ComputedWalk:  # an equal graph was walked before
                self.walk = known.again(self.found)
                waiting: dict[Node, Node] = {}  # rare: leaves with hooks, which wait until the others have their `grad`
                node: Node
                for node, sum_ in self.walk.gradients.items():
                    if node.special and hooks_of(node):
                        waiting[node] = sum_
                    else:
                        self.received.append((node.tensor, sum_))
                _receive_all(self.received, False)
        if self.walk is None:  # a walk calls hooks, so it does not hold the lock
            self._accumulate_walked(known)
        elif waiting:
            rest = iter(self.received)
            done = {node: next(rest) for node in self.walk.gradients if node not in waiting}
            self._receive_in_turn([*self.walk.gradients], done, waiting)

    def _surveyed(self, grad_node_of: Any) -> ComputedWalk | RecordedWalk | None:
        """Surveys the graph, after it has computed what waited (`deferred`, `heavy`). Returns what is remembered of the
        walk through a graph of that structure.

        `grad_node_of` is called with a leaf; it returns the node that the gradient will be added to, or a word if there
        is none.

        For `y = x * 0.5` and `y.backward(v)` the nodes of the survey are y, v, x, 0.5, and its key is what was `asked`,
        then (mul, (), 2, 3, KEPT_AND_TRACKED, aval of v, aval of x, "fresh", aval of 0.5). "fresh" says that x has no
        `grad`; if it has one, that is another node, and its place is there.
        """
        if not self.lazy:
            settle()
        elif self._is_looked_at():
            return None
        start = [*self.roots]
        asked: list[Any] = [self.create_graph, self.batch, len(start)]
        for cotangent in self.cotangents:
            asked.append(cotangent is None)
            if cotangent is not None:
                start.append(cotangent)
        if self.targets is not None:
            sums = [] if grad_node_of is None else [grad_node_of(target) for target in self.targets]
            start += [*self.targets, *[each for each in sums if isinstance(each, Node)]]
            asked += [len(self.targets), *["node" if isinstance(each, Node) else each for each in sums]]
            grad_node_of = None
        if len(set(start)) < len(start):  # a node that is there twice has one place in the survey
            asked += [start.index(each) for each in start]
        self.found = found = survey(start, (), asked, grad_node_of, True, self.create_graph)
        # Inside a transform nothing is computed, so there is no plan; with `create_graph` none is needed.
        transform = self.modes.transforming
        apart = transform.forward or (transform.depth and not self.create_graph)
        self.may_be_remembered = found.key_is_complete and not (anomaly.enabled or apart)
        return known_walk(found) if self.may_be_remembered else None

    def _walked(self, known: ComputedWalk | RecordedWalk | None, accumulating: bool) -> WalkResult:
        """Walks the graph, which records its gradients; or records again what is known of such a walk."""
        if type(known) is RecordedWalk:
            self.walk = known.again(self.found)
            return self.walk
        if not self.lazy:
            self.short_pieces = choose_short_pieces(self.found)
        # If the walk can be remembered with its sums, hooks of leaves are called after it, and are no part of it.
        leaf_hooks = not (accumulating and self.may_be_remembered and not self.lazy)
        begin = next_serial()
        self.walk = walk = walk_back(
            self.roots,
            self.cotangents,
            self.targets,
            self.create_graph,
            self.batch,
            self.short_pieces,
            leaf_hooks,
            accumulating,
        )
        if self.lazy and self.may_be_remembered:
            RecordedWalk.learn(self.found, walk, begin)
        return walk

    def _accumulate_walked(self, known: ComputedWalk | RecordedWalk | None) -> None:
        """Walks, records the sums, computes all, remembers the plan, and then changes each `grad`."""
        walk = self._walked(known, accumulating=True)
        with accumulation_lock, tracking(self.create_graph):
            gradients = _before_accumulation({**walk.gradients, **walk.retained})
            order = list(gradients)
            receiver_of = {node: node.tensor for node in order}  # so that none ends while its gradient is computed
            later = self.may_be_remembered and not self.lazy
            waiting = {node: gradients.pop(node) for node in order if later and hooks_of(node) and node.is_leaf}
            sums = _summed(gradients)
            results = {**sums, **waiting}
            self._compute({node: results[node] for node in order if node in results})
            received = {node: (receiver_of[node], gradients[node]) for node in sums}
            if listening():
                # Of one whose tensor is gone nobody reads the `grad`: it is told where there is no other.
                told = sorted(sums or gradients, key=recording_order)
                own = {node: sums[node] for node in told if sums}
                self._tell({node: gradients[node] for node in told}, own, accumulates=True)
            _receive_all([(receiver_of[node], sum_) for node, sum_ in sums.items()], self.create_graph)
        if waiting:
            self._receive_in_turn(order, received, waiting)
        else:
            self.received = [received[node] for node in order if node in received]

    def _compute(self, results: dict[Node, Node], retained: Iterable[Node] = ()) -> None:
        """Computes, in one dispatch, the results, what is retained, and the values of the roots that the user holds,
        which the same program gives; and has the plan remembered for equal graphs."""
        walk: Any = self.walk
        if self.lazy:
            if self.modes.staging.journal is not None:
                self.modes.staging.journal.values.update(walk.value_nodes)
            return
        held = {root: value for root, value in walk.value_nodes.items() if root.held()}
        first = self.found if self.may_be_remembered else None
        computed = evaluate([*results.values(), *retained, *held.values()], self.short_pieces, walk.short_pieces, first)
        for root, value in held.items():
            root.value = value.value
        if first is not None and computed is not None:
            ComputedWalk.learn(first, walk, results, *computed)

    def end(self, retain_graph: bool) -> None:
        """Frees what was walked, if the graph is not retained, and calls the hooks that come after accumulation."""
        walk: Any = self.walk
        if self.modes.staging.journal is not None:
            self.modes.staging.journal.note_walk(walk.operations)
        if not retain_graph:
            release(walk.operations, walk.met)
        for receiver, gradient in self.received:
            _after_accumulation(receiver, gradient, self.create_graph)

    @restored
    def gradients(self) -> dict[Node, Node]:
        """The gradients of those `targets` that have one; `end` is still to be called."""
        known = self._surveyed(None)
        if type(known) is ComputedWalk:
            self.walk = known.again(self.found)
            return self.walk.gradients
        if self.batch and calls_python(self.roots, self.targets):
            return self._one_by_one()
        walk = self._walked(known, accumulating=False)
        with accumulation_lock, tracking(self.create_graph):
            retained = {} if self.batch else _summed(walk.retained)
            self._compute(walk.gradients, retained.values())
            if listening():
                self._tell({**walk.gradients, **walk.retained}, retained)
            _receive_all([(node.tensor, sum_) for node, sum_ in retained.items()], self.create_graph)
        return walk.gradients

    def recorded(self) -> dict[Node, Node]:
        """The gradients of those `targets` that have one, as nodes without values; nothing else changes."""
        return self._walked(self._surveyed(None), accumulating=False).gradients

    # Rare cases.

    def _is_looked_at(self) -> bool:
        """Whether a walk whose gradients are left lazy is not remembered, as something looks at each of its steps."""
        mode = self.modes.grad_mode
        looked_at = mode.saving is not None or mode.inference or bool(listening())
        return not self.create_graph or bool(self.batch) or self.modes.staging.journal is not None or looked_at

    def _receive_in_turn(
        self, order: list[Node], received: dict[Node, tuple[Tensor, Node]], waiting: dict[Node, Node]
    ) -> None:
        """Leaf by leaf, as torch: calls the hooks of each one that is `waiting` with its gradient, adds what they
        return to the `grad` of its tensor, and calls the hooks after accumulation, which others may have as well."""
        walk: Any = self.walk
        finished = FinishedWalk(self.roots, walk.met.nodes)
        self.received = []
        for node in order:
            if node in waiting:
                with tracking(False):
                    _, gradient = hooked(node, waiting[node], finished)
                    with accumulation_lock:
                        sum_ = _sum_of(node, gradient)
                        if sum_ is not None:
                            receiver = node.tensor
                            _receive(receiver, sum_, False)
                            received[node] = receiver, gradient
            if node in received:
                _after_accumulation(*received[node], False)

    def _tell(self, gradients: dict[Node, Node], sums: dict[Node, Node], accumulates: bool = False) -> None:
        """Tells those who listen what arrived where."""
        grads = {node: node.tensor._grad for node in sums}
        before = {node: None if grad is None else grad.__node__ for node, grad in grads.items()}
        told = gradients, before, sums, len(self.batch), self.create_graph
        tell(Walked(self.roots, self.cotangents, *told, accumulates=accumulates))

    def _one_by_one(self) -> dict[Node, Node]:
        """`gradients` with a `batch`, for a walk that calls Python: under `vmap`, so that the Python sees one
        cotangent."""
        size = math.prod(self.batch)
        rows = [_resized(cotangent, len(self.batch), (size,)) for cotangent in self.cotangents if cotangent is not None]
        with Batch(size, "error", None, of_function=False) as level:
            examples = [level.example(wrap(row), 0).__node__ for row in rows]
            self.walk = walk = walk_back(self.roots, examples, self.targets, self.create_graph)
            with tracking(self.create_graph):
                gradients = level.batches(list(walk.gradients.values()), [0] * len(walk.gradients))
        with tracking(self.create_graph):
            gradients = [_resized(gradient, 1, self.batch) for gradient in gradients]
        if not (self.create_graph or self.modes.staging.journal is not None):
            evaluate(gradients)
        return dict(zip(walk.gradients, gradients, strict=True))


def left_lazy(create_graph: bool, modes: ThreadModes) -> bool:
    """Whether gradients are left lazy: with `create_graph`, inside `vmap`, or in a staged step or a pure function."""
    transform = modes.transforming
    return create_graph or bool(transform.batches or transform.pure) or modes.staging.journal is not None


def _resized(node: Node, leading: int, shape: tuple[int, ...]) -> Node:
    """`node` with its first `leading` dimensions replaced by `shape`."""
    if leading == len(shape):
        return node
    return record(shaped, (node,), ((*shape, *node.aval.shape[leading:]),))


# What a `grad` becomes.

NO_GRAD_YET, NO_RECEIVER = "fresh", "nobody"


def _grad_node_of(node: Node) -> Node | str:
    """What the gradient of a leaf is added to: its tensor's `grad`, NO_GRAD_YET if it has none, NO_RECEIVER if its
    tensor is gone."""
    receiver: Stored | None = node.tensor
    if receiver is None or not receiver.__shown__.requires_grad or node.lost:
        return NO_RECEIVER
    return NO_GRAD_YET if receiver._grad is None else shown(receiver._grad)


def _summed(gradients: dict[Node, Node]) -> dict[Node, Node]:
    """The new `grad` of each node's tensor, if the tensor still exists."""
    sums = {node: _sum_of(node, gradient) for node, gradient in gradients.items()}
    return {node: sum_ for node, sum_ in sums.items() if sum_ is not None}


def _sum_of(node: Node, gradient: Node) -> Node | None:
    """The new `grad` of the node's tensor: `gradient`, or the sum of its `grad` and that; None if it is gone."""
    into = _grad_node_of(node)
    if not isinstance(into, Node):
        return _apart(gradient) if into == NO_GRAD_YET else None
    sum_ = record(add, (into, gradient))
    if sum_.aval.shape != into.aval.shape:
        _check_shape(node, into, sum_)
    return sum_


def _apart(gradient: Node) -> Node:
    """`gradient` as a new `grad`: another node where it is a tensor of the user's that requires a gradient."""
    if not gradient.requires_grad:
        return gradient
    if not grad_mode().enabled:
        return separate(gradient)
    return record(clone, (gradient,)) if gradient.is_leaf else gradient


def _check_shape(node: Node, into: Node, sum_: Node) -> None:
    """RuntimeError, torch's, where a leaf's `grad` has another shape than the sum: to the `grad` of a leaf torch adds
    in place, unless the sum is to be differentiable."""
    if node.is_leaf and not grad_mode().enabled:
        raise RuntimeError(
            f"output with shape {list(into.aval.shape)} doesn't match the broadcast shape {list(sum_.aval.shape)}\n"
            "The tensor has other `data` by now; set its `grad` to None first."
        )


def _receive_all(received: list[tuple[Tensor, Node]], create_graph: bool) -> None:
    """Gives each tensor its new `grad`. An interrupt that comes between two is raised after the last."""
    given = 0
    try:
        for receiver, gradient in received:
            _receive(receiver, gradient, create_graph)
            given += 1
    except BaseException:
        for receiver, gradient in received[given:]:
            if receiver._grad is None or receiver._grad.__shown__ is not gradient:
                _receive(receiver, gradient, create_graph)
        raise


def _receive(receiver: Stored, new_grad: Node, create_graph: bool) -> None:
    """Makes `new_grad`, to which an earlier `grad` was added already, the `grad` of `receiver`: a new tensor, or, for a
    leaf that has a `grad`, new contents of that one, as torch adds in place."""
    if receiver._grad is None or create_graph or not receiver.__shown__.is_leaf:
        # The `grad` of a tensor that is no leaf (`retain_grad`) is a new tensor each time.
        if new_grad.aval.strides != receiver.__shown__.aval.strides and new_grad.holder is None:
            new_grad.aval = receiver.__shown__.aval  # torch lays a new `grad` out as its tensor
        receiver.__take_grad__(holding(new_grad, Tensor))
    else:
        receiver._grad.__write__(new_grad)


# Hooks before and after accumulation.


def _before_accumulation(gradients: dict[Node, Node]) -> dict[Node, Node]:
    """The gradients as the prehooks of each leaf's `AccumulateGrad` step leave them; absent if they return None."""
    replaced: dict[Node, Node] = {}
    for node, gradient in gradients.items():
        given: Cotangents = [gradient]
        if node.is_leaf and node.step_hooks is not None:
            for hook in list(node.step_hooks.before.values()):
                given = node.step_hooks.call(None, hook, given, None)
            if listening():
                tell(StepHooked(node, given[0] is not gradient))
        if given[0] is not None:
            replaced[node] = given[0]
    return replaced


def _after_accumulation(receiver: Stored, gradient: Node, create_graph: bool) -> None:
    """Calls the hooks of a tensor that has its `grad`, and those of its `AccumulateGrad` step."""
    node = shown(receiver)
    hooks = node.step_hooks if node.special and node.is_leaf else None
    if receiver.__after_accumulation__ or hooks is not None:
        with tracking(create_graph):
            _call_after_accumulation(receiver, gradient, hooks)


def _call_after_accumulation(receiver: Stored, gradient: Node, hooks: StepHooks | None) -> None:
    taken: Stored | None = receiver._grad
    if taken is not None and shown(taken) is not gradient:
        taken = None
    for hook in list((receiver.__after_accumulation__ or {}).values()):
        returned: Any = hook(receiver)
        if returned is not None and returned is not receiver:
            if not isinstance(returned, Tensor):
                raise TypeError(f"expected Variable, but hook returned '{type(returned).__name__}'")
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    if hooks is not None:
        if grad_mode().enabled:  # with `create_graph`, as in torch, the `grad` is a copy
            taken, gradient = None, record(clone, (gradient,))
        for step_hook in list(hooks.after.values()):  # a gradient that became the `grad` is that tensor, as in torch
            hooks.call(None, step_hook, [], [gradient if taken is None else shown(taken)])

"""Computes gradients and adds them to the `grad` of tensors.

`gradients_of` computes gradients of targets; `accumulated` also adds gradients to the `grad` of leaves.
`engine.walk_back` walks a graph. The plan that then computes its gradients is remembered, and for an equal graph it is
run without a walk.
Everything is computed before any `grad` changes, and then all change, also if an interrupt (Ctrl-C) comes meanwhile.
Where a walk can be remembered, leaves with hooks come after the others, one by one, as in torch: a hook that raises
leaves those after it as they were.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from jaxvjp.core.derive.engine import FinishedWalk, WalkResult, calls_python, hooked, walk_back
from jaxvjp.core.derive.remembered_graphs import differentiable_gradients
from jaxvjp.core.derive.remembered_walks import BackwardRequest, RecalledGradients, request_of
from jaxvjp.core.derive.saved import release
from jaxvjp.core.record.blocks import restored
from jaxvjp.core.record.graph import Node, hooks_of, recording_order
from jaxvjp.core.record.lifetime import NodesMet
from jaxvjp.core.record.modes import grad_mode, staging, tracking, transforming
from jaxvjp.core.record.observers import Walked, observers, tell
from jaxvjp.core.record.record import record, separate
from jaxvjp.core.record.steps import Cotangents, StepHooks
from jaxvjp.core.run.evaluation import evaluate
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
    receivers, walked, met = accumulated([node], [cotangent], None, False)
    end(receivers, walked, met, False)
    return True


@restored
def end(
    receivers: list[tuple[Tensor, Node]],
    walked: list[Node],
    met: NodesMet,
    retain_graph: bool,
    create_graph: bool = False,
) -> None:
    """Ends a backward pass that has `accumulated`: frees what was `walked`, if the graph is not retained, and calls the
    hooks that come after accumulation, of the `receivers`."""
    if staging().journal is not None:
        staging().journal.note_walk(walked)
    if not retain_graph:
        release(walked, met)
    for receiver, gradient in receivers:
        _after_accumulation(receiver, gradient, create_graph)


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


@restored  # modes such as `no_grad`, after an error
def accumulated(
    roots: list[Node], cotangents: list[Node | None], targets: list[Node] | None, create_graph: bool
) -> tuple[list[tuple[Tensor, Node]], list[Node], NodesMet]:
    """Adds the gradients to the `grad` of their tensors.

    Returns what `end` needs: these tensors, each with its gradient or the sum; the operations walked through; and all
    nodes met.
    """
    with accumulation_lock:
        # `request` is None where all is computed later: with `create_graph`, in `vmap`, in a staged step. The `grad`
        # that a gradient is added to (`_grad_node_of`) is a part of the graph.
        request: BackwardRequest | None = None
        if not left_lazy(create_graph):
            request = request_of(roots, cotangents, targets, _grad_node_of)
        recalled = None if request is None else request.recalled()
        if recalled is not None:
            receivers, waiting = _receivers(recalled)  # `waiting`, rare: leaves with hooks
            _receive_all(receivers, create_graph=False)
    if recalled is None:  # no equal graph was walked before. A walk calls hooks, so it does not hold the lock.
        return _walked(request, roots, cotangents, targets, create_graph)
    if waiting:
        _receive_waiting(roots, recalled, receivers, waiting)
        receivers = []  # their hooks after accumulation were called
    return receivers, recalled.walked, recalled.met


def _receivers(recalled: RecalledGradients) -> tuple[list[tuple[Tensor, Node]], dict[Node, Node]]:
    """The tensors that get a gradient at once, each with its new `grad`; and leaves with hooks, each with its gradient,
    which wait until the others have theirs."""
    receivers: list[tuple[Tensor, Node]] = []
    waiting: dict[Node, Node] = {}
    node: Node
    for node, sum_ in recalled.gradients:
        if node.special and hooks_of(node):
            waiting[node] = sum_
        else:
            receivers.append((node.tensor, sum_))
    return receivers, waiting


def _receive_waiting(
    roots: list[Node], recalled: RecalledGradients, receivers: list[tuple[Tensor, Node]], waiting: dict[Node, Node]
) -> None:
    """Has those that are `waiting` get their gradients; `receivers` have theirs."""
    order = [node for node, _ in recalled.gradients]
    received = dict(zip([node for node in order if node not in waiting], receivers, strict=True))
    _receive_in_turn(order, received, waiting, FinishedWalk(roots, recalled.met.nodes))


def _walked(
    request: BackwardRequest | None,
    roots: list[Node],
    cotangents: list[Node | None],
    targets: list[Node] | None,
    create_graph: bool,
) -> tuple[list[tuple[Tensor, Node]], list[Node], NodesMet]:
    """`accumulated` where no such walk is remembered: records the gradients and the sums, computes all, remembers the
    plan, and then changes each `grad`."""
    short_pieces = request is not None and request.runs_in_short_pieces()
    # If the walk can be remembered, hooks of leaves are called after it, and are no part of it.
    later = request is not None and request.may_be_remembered
    found = walk_back(
        roots, cotangents, targets, create_graph, short_pieces=short_pieces, leaf_hooks=not later, accumulating=True
    )
    with accumulation_lock, tracking(create_graph):
        gradients = _before_accumulation({**found.gradients, **found.retained})
        order = list(gradients)
        receiver_of = {node: node.tensor for node in order}  # so that none ends while its gradient is computed
        waiting = {node: gradients.pop(node) for node in order if later and hooks_of(node) and node.is_leaf}
        sums = _summed(gradients)
        results = {**sums, **waiting}
        _compute(request, found, {node: results[node] for node in order if node in results}, short_pieces)
        received = {node: (receiver_of[node], gradients[node]) for node in sums}
        if observers.listening:
            _tell_walked(roots, cotangents, gradients, sums, create_graph)
        _receive_all([(receiver_of[node], sum_) for node, sum_ in sums.items()], create_graph)
    if waiting:
        _receive_in_turn(order, received, waiting, FinishedWalk(roots, found.met.nodes))
        return [], found.operations, found.met
    return [received[node] for node in order if node in received], found.operations, found.met


def _tell_walked(
    roots: list[Node],
    cotangents: list[Node | None],
    gradients: dict[Node, Node],
    sums: dict[Node, Node],
    create_graph: bool,
) -> None:
    shown = sorted(sums, key=recording_order)  # of a leaf whose tensor is gone nobody can read the gradient
    arrived, added = ({node: each[node] for node in shown} for each in (gradients, sums))
    tell(Walked(roots, cotangents, arrived, _shown_grads(added), added, 0, create_graph))


def _receive_in_turn(
    order: list[Node], received: dict[Node, tuple[Tensor, Node]], waiting: dict[Node, Node], walk: FinishedWalk
) -> None:
    """Leaf by leaf, as torch: calls the hooks of each one that is `waiting` with its gradient, adds what they return to
    the `grad` of its tensor, and calls the hooks after accumulation, which others may have as well."""
    for node in order:
        if node in waiting:
            with tracking(False):
                _, gradient = hooked(node, waiting[node], walk)
                with accumulation_lock:
                    sum_ = _sum_of(node, gradient)
                    if sum_ is not None:
                        receiver = node.tensor
                        _receive(receiver, sum_, False)
                        received[node] = receiver, gradient
        if node in received:
            _after_accumulation(*received[node], False)


def _shown_grads(nodes: Iterable[Node]) -> dict[Node, Node | None]:
    """The node of the `grad` of each node's tensor; None if it has no `grad`."""
    grads = {node: node.tensor._grad for node in nodes}
    return {node: None if grad is None else grad.__node__ for node, grad in grads.items()}


def _before_accumulation(gradients: dict[Node, Node]) -> dict[Node, Node]:
    """The gradients as the prehooks of each leaf's `AccumulateGrad` step leave them; absent if they return None."""
    replaced: dict[Node, Node] = {}
    for node, gradient in gradients.items():
        given: Cotangents = [gradient]
        if node.is_leaf and node.step_hooks is not None:
            for hook in list(node.step_hooks.before.values()):
                given = node.step_hooks.call(None, hook, given, None)
        if given[0] is not None:
            replaced[node] = given[0]
    return replaced


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


def _compute(
    request: BackwardRequest | None,
    found: WalkResult,
    results: dict[Node, Node],
    short_pieces: bool,
    retained: Iterable[Node] = (),
) -> None:
    """Computes, in one dispatch, the results, what is retained, and the values of the roots that the user holds, which
    the same program gives; and has the plan remembered for equal graphs."""
    if request is None:  # all is computed later (`left_lazy`)
        if staging().journal is not None:
            staging().journal.values.update(found.value_nodes)
        return
    held = {root: value for root, value in found.value_nodes.items() if root.held}
    computed = evaluate([*results.values(), *retained, *held.values()], short_pieces, found.short_pieces)
    for root, value in held.items():
        root.value = value.value
    request.learn(found, results, computed)


@restored
def gradients_of(
    roots: Sequence[Node],
    cotangents: Sequence[Node | None],
    targets: list[Node],
    create_graph: bool,
    batch: tuple[int, ...] = (),
) -> tuple[dict[Node, Node], list[Node], NodesMet]:
    """The gradients of those `targets` that have one, the operations walked through, and all nodes met.

    `batch` are leading dimensions that each cotangent, and then each gradient, has before its own.
    """
    if create_graph and not batch and not left_lazy(False) and not observers.listening:
        return _differentiable(roots, cotangents, targets)
    request = None if left_lazy(create_graph) else request_of(roots, cotangents, targets, batch=batch)
    recalled = None if request is None else request.recalled()
    if recalled is not None:
        return dict(recalled.gradients), recalled.walked, recalled.met
    if batch and calls_python(roots, targets):
        return _one_by_one(roots, cotangents, targets, create_graph, batch)
    short_pieces = request is not None and request.runs_in_short_pieces()
    found = walk_back(roots, cotangents, targets, create_graph, batch, short_pieces)
    with accumulation_lock, tracking(create_graph):
        retained = {} if batch else _summed(found.retained)
        _compute(request, found, found.gradients, short_pieces, retained.values())
        if observers.listening:
            gradients = {**found.gradients, **found.retained}
            tell(Walked(roots, cotangents, gradients, _shown_grads(retained), retained, len(batch), create_graph))
        _receive_all([(node.tensor, sum_) for node, sum_ in retained.items()], create_graph)
    return found.gradients, found.operations, found.met


def _differentiable(
    roots: Sequence[Node], cotangents: Sequence[Node | None], targets: list[Node]
) -> tuple[dict[Node, Node], list[Node], NodesMet]:
    """`gradients_of` where they can be differentiated again."""
    found = differentiable_gradients(roots, cotangents, targets)
    if found.retained:
        with accumulation_lock, tracking(True):
            _receive_all([(node.tensor, sum_) for node, sum_ in _summed(found.retained).items()], True)
    return found.gradients, found.operations, found.met


def left_lazy(create_graph: bool) -> bool:
    """Whether gradients are left lazy: with `create_graph`, inside `vmap`, or in a staged step or a pure function."""
    return create_graph or bool(transforming().batches or transforming().pure) or staging().journal is not None


def _one_by_one(
    roots: Sequence[Node],
    cotangents: Sequence[Node | None],
    targets: list[Node],
    create_graph: bool,
    batch: tuple[int, ...],
) -> tuple[dict[Node, Node], list[Node], NodesMet]:
    """`gradients_of` with a `batch`, for a walk that calls Python: under `vmap`, so that the Python sees one
    cotangent."""
    size = math.prod(batch)
    rows = [_resized(each, len(batch), (size,)) for each in cotangents if each is not None]
    with Batch(size, "error", None, of_function=False) as level:
        examples = [level.example(wrap(each), 0).__node__ for each in rows]
        found = walk_back(roots, examples, targets, create_graph)
        with tracking(create_graph):
            gradients = level.batches(list(found.gradients.values()), [0] * len(found.gradients))
    with tracking(create_graph):
        gradients = [_resized(each, 1, batch) for each in gradients]
    if not (create_graph or staging().journal is not None):
        evaluate(gradients)
    return dict(zip(found.gradients, gradients, strict=True)), found.operations, found.met


def _resized(node: Node, leading: int, shape: tuple[int, ...]) -> Node:
    """`node` with its first `leading` dimensions replaced by `shape`."""
    if leading == len(shape):
        return node
    return record(shaped, (node,), ((*shape, *node.aval.shape[leading:]),))

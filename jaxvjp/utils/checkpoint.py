"""Checkpointing: intermediate values of a function are computed again in the backward pass instead of being kept.

`checkpoint` does so for a call, `checkpoint_sequential` for a chain of calls. A checkpointed call is one op whose
static argument is the Program that the function recorded, and whose function is `jax.checkpoint` of its replay. Python
runs once and random numbers are drawn once, so there is nothing to check or restore when values are recomputed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import jax

from jaxvjp.autograd.function import Function
from jaxvjp.autograd.modes import no_grad
from jaxvjp.core.record.blocks import restored
from jaxvjp.core.record.graph import Node, Number, gradient_edges, reachable, recording_order
from jaxvjp.core.record.modes import grad_mode
from jaxvjp.core.record.record import detached, items, node_of_value
from jaxvjp.core.record.saves import check_savable
from jaxvjp.core.run.pieces import in_pieces, read_across
from jaxvjp.core.run.program import Program, freeze, replay
from jaxvjp.ops.op import Aval, op
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import float32
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "`jax.checkpoint` of the recorded program"

POLICIES = [
    *("everything_saveable", "nothing_saveable", "dots_saveable", "checkpoint_dots"),
    *("dots_with_no_batch_dims_saveable", "checkpoint_dots_with_no_batch_dims"),
]
"""The names of `jax.checkpoint_policies` that need no arguments."""
DETERMINISM_CHECKS = ("default", "none")
REENTRANT = (
    "{}: the use_reentrant parameter should be passed explicitly. {}use_reentrant=False is recommended, but if you "
    "need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on "
    "the differences between the two variants."
)
PYTHON_INSIDE = (
    "torch.utils.checkpoint: this call keeps its intermediate values, for its backward runs Python, of a custom "
    "Function or of a hook, which needs what the forward saved. Checkpoint what comes before that and what comes after."
)


def noop_context_fn() -> tuple[Any, Any]:
    """Returns two contexts that do nothing: the default `context_fn`."""
    return contextlib.nullcontext(), contextlib.nullcontext()


class _WithoutEffect(contextlib.nullcontext[None]):
    """A setting of torch's for running the Python of a checkpointed call again, which jaxvjp does not do."""

    def __init__(self, enable: bool) -> None:
        super().__init__()


class set_checkpoint_early_stop(_WithoutEffect):  # noqa: N801 - torch's name
    """Accepted and without effect: XLA computes no more than the gradient needs.

    Args:
        enable: whether to stop early.
    """


class set_checkpoint_debug_enabled(_WithoutEffect):  # noqa: N801 - torch's name
    """Accepted and without effect: what is recomputed cannot differ from what was computed."""

    def __init__(self, enabled: bool | None) -> None:
        super().__init__(bool(enabled))


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Detaches each tensor of a tuple and keeps its `requires_grad`; RuntimeError if it is no tuple."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        each.detach().requires_grad_(each.requires_grad) if isinstance(each, Tensor) else each for each in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns where no tensor among `inputs` requires a gradient."""
    if not any(isinstance(operand, Tensor) and operand.requires_grad for operand in inputs):
        warn_user("None of the inputs have requires_grad=True. Gradients will be None")


@op(saves="residuals", public="", grad_fn="CheckpointFunctionBackward")
def checkpointed(*leaves: Any, program: Program, policy: str | None) -> tuple[Any, ...]:
    """The outputs of `program`; a backward pass keeps its leaves, and what the policy of that name saves."""
    saved = None if policy is None else getattr(jax.checkpoint_policies, policy)
    return jax.checkpoint(lambda *arguments: replay(program, arguments), policy=saved)(*leaves)


@op(saves="residuals", public="", grad_fn="CheckpointFunctionBackward")
def checkpointed_reentrant(*leaves: Any, program: Program, policy: str | None) -> tuple[Any, ...]:
    """`checkpointed` with `use_reentrant=True`, which torch lets only a whole backward pass go through."""
    return checkpointed.function(*leaves, program=program, policy=policy)


checkpointed_reentrant.refuses_inputs_error = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
    "the `inputs` argument."
)


def _step_without_gradient() -> type[Function]:
    """The step of a reentrant checkpoint no result of which has a gradient, which torch refuses in the backward."""

    class CheckpointFunction(Function):  # torch's name of the step
        @staticmethod
        def forward(ctx: Any, count: int, *tensors: Tensor) -> tuple[Tensor, ...]:
            return tuple([tensor.detach() for tensor in tensors[:count]])

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor) -> Any:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")

    return CheckpointFunction


WITHOUT_GRADIENT = _step_without_gradient()


@restored
def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Any] | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    policy: str | None = None,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, whose intermediate values the backward pass computes again from the inputs.

    Args:
        function: returns a tensor, or tuples, lists and dicts of them. Tensors in its closure get gradients, too.
        use_reentrant: to be passed, as in torch, which otherwise warns and takes True. With True keyword arguments are
            refused, and if no argument requires a gradient, neither does the result.
        context_fn: NotImplementedError if given, as no Python runs during recomputation.
        determinism_check: "default" or "none", both without effect: the same program is run again.
        debug, early_stop, preserve_rng_state: accepted and without effect, for the same reason.
        policy: which intermediate values are kept all the same: the name of one of `jax.checkpoint_policies`, such as
            "dots_saveable", which keeps the products of matrices. ValueError for another name. Not in torch.

    Only the inputs are kept, and values computed without a gradient, such as masks and random numbers. A function that
    calls a custom `Function` is not checkpointed, with a warning: its backward is Python, which needs what its forward
    saved.

    Counterpart of `torch.utils.checkpoint.checkpoint`. Underneath: `jax.checkpoint(f)(*args)`.
    """
    if use_reentrant is None:
        ends = "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception. "
        warn_user(REENTRANT.format("torch.utils.checkpoint", ends))
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn not in (None, noop_context_fn) or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if grad_mode().enabled and not any(isinstance(each, Tensor) and each.requires_grad for each in args):
            warn_user("None of the inputs have requires_grad=True. Gradients will be None")
            with no_grad():
                return function(*args)
    elif determinism_check not in DETERMINISM_CHECKS:
        raise ValueError(f"determinism_check should be one of {[*DETERMINISM_CHECKS]}, but got {determinism_check}")
    elif grad_mode().enabled:  # torch saves them
        check_savable([each.__node__ for each in (*args, *kwargs.values()) if isinstance(each, Tensor)])
    if context_fn not in (None, noop_context_fn):
        raise NotImplementedError(
            "context_fn is not supported: the recomputation is part of a compiled program, and runs no Python that a "
            "context could change"
        )
    if policy is not None and policy not in POLICIES:
        raise ValueError(f"policy should be one of {POLICIES}, but got {policy!r}")
    start = node_of_value(None, Aval((), float32)).serial  # nodes recorded from here on are the function's
    given = [each.__node__ for each in (*args, *kwargs.values()) if isinstance(each, Tensor)]
    saving, grad_mode().saving = grad_mode().saving, None
    try:
        returned = function(*args, **kwargs)
    finally:
        grad_mode().saving = saving
    results = returned if isinstance(returned, tuple) else (returned,)
    if use_reentrant and grad_mode().enabled:  # of what is inside of other containers torch's step knows nothing
        for each in _tensors([other for other in results if not isinstance(other, Tensor)]):
            each.__replace_node__(detached(each.__node__))
    shown: dict[Node, list[Tensor]] = {}
    for each in _tensors(returned):
        if each.requires_grad:
            shown.setdefault(each.__node__, []).append(each)
    if use_reentrant and grad_mode().enabled and not shown:
        unneeded = [each for each in results if isinstance(each, Tensor) and each.dtype.differentiable]
        tensors = [argument for argument in args if isinstance(argument, Tensor)]
        for each, result in zip(unneeded, WITHOUT_GRADIENT.apply(len(unneeded), *unneeded, *tensors), strict=True):
            each.__replace_node__(result.__node__)

    def made(program: Program, leaves: Sequence[Node | Number], avals: Sequence[Aval]) -> Node:
        operation = checkpointed_reentrant if use_reentrant else checkpointed
        node = Node(operation, (program, policy), tuple(leaves), tuple(avals), requires_grad=True)
        if saving is not None:  # as in torch, only what was given is packed
            node.packed = saving(node, [position for position, each in enumerate(leaves) if each in given])
        return node

    for old, new in _checkpointed(list(shown), start, made).items():
        for each in shown[old]:
            each.__replace_node__(new)
    return returned


def checkpoint_sequential(
    functions: Sequence[Callable[[Any], Any]],
    segments: int,
    input: Tensor,
    use_reentrant: bool | None = None,
    *,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """The functions one after the other, in `segments` of equal length; all but the last are checkpointed.

    Args:
        functions: each takes what the one before it returned, the first `input`.
        segments: how many; for n functions memory is least near the square root of n.
        use_reentrant, preserve_rng_state: as for `checkpoint`.
    """
    if use_reentrant is None:
        ends = "In version 2.9 we will raise an exception if use_reentrant is not passed. "
        warn_user(REENTRANT.format("torch.utils.checkpoint.checkpoint_sequential", ends))
        use_reentrant = True
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))

    def chained(some: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for function in some:
                value = function(value)
            return value

        return run

    size = len(functions) // segments
    last = size * (segments - 1)
    for first in range(0, last, size):
        input = checkpoint(chained(functions[first : first + size]), input, use_reentrant=use_reentrant)
    return chained(functions[last:])(input)


Made = Callable[[Program, Sequence[Node | Number], Sequence[Aval]], Node]
"""Makes the op of a program, from what that reads and the avals of its outputs."""


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, Mapping):
        yield from _tensors(list(value.values()))


def _checkpointed(outputs: Sequence[Node], start: int, made: Made) -> dict[Node, Node]:
    """Replaces the nodes recorded since `start` by checkpointed ops, which `made` makes, that give the same outputs.

    Outputs that depend on the same inputs come from one op, others from ops of their own, so that an input on which an
    output does not depend gets the gradient None, not zeros. An output that another one is computed from is an input.
    """
    together: dict[tuple[Node, ...], list[Node]] = {}
    inside: set[Node] = set()
    for output in sorted(outputs, key=recording_order):
        ends = {*outputs} - {output}
        reached = reachable([output], partial(_within, start=start, ends=ends))
        own = [node for node in reached if node.serial >= start and not node.is_leaf and node not in ends]
        if any(node.stands_alone or node.hooks or node.retains for node in own):
            warn_user(PYTHON_INSIDE)
            return {}
        if own and not any(node.freed for node in own):
            inside.update(own)
            together.setdefault(tuple(node for node in reached if node in ends or node not in inside), []).append(
                output
            )
    results: dict[Node, Node] = {}
    for edges, group in together.items():
        found = reachable(group, partial(_within, start=start, ends=set(edges)))
        between = [node for node in found if node in inside and node not in edges]
        replaced = _recomputed(between, group, edges, results, made)
        results.update((old, replaced[old]) for old in group)
    return results


def _within(node: Node, start: int, ends: set[Node]) -> Iterable[Node]:
    """Where cotangents go on from a node that was recorded since `start` and is none of `ends`."""
    return () if node.serial < start or node in ends else gradient_edges(node)


def _recomputed(
    between: Sequence[Node],
    wanted: Sequence[Node],
    edges: Iterable[Node],
    known: dict[Node, Node],
    made: Made,
) -> dict[Node, Node]:
    """The operations of `between` as one checkpointed op, or for a long function as one per piece compiled apart.

    `known` has what other checkpointed ops already give instead of nodes that are read here.
    """
    pieces = in_pieces(between)
    needed = read_across(pieces).union(wanted)
    results = dict(known)
    differentiable = {results.get(edge, edge) for edge in edges}
    for piece in pieces:
        outputs = [node for node in piece if node in needed]
        program, read = freeze(piece, outputs)
        leaves = [results.get(each, each) if isinstance(each, Node) else each for each in read]
        node = made(program, leaves, [output.aval for output in outputs])
        node.edges = tuple([leaf for leaf in leaves if isinstance(leaf, Node) and leaf in differentiable])
        for old, new in zip(outputs, items(node), strict=True):
            new.value = old.value
            results[old] = new
            differentiable.add(new)
    return results


PUBLIC = [
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]
complete_all(globals(), PUBLIC, "utils.checkpoint")

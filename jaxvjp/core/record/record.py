# cython: annotation_typing=False
"""Makes nodes: of an op and its inputs (`record`), of a value (`node_of_value`), of another node, cut off (`detached`).

`record(mul, (x, y))` computes nothing. It finds the aval of the result by tracing the op with `jax.make_jaxpr`, once
for each op, static arguments and avals of operands, and raises torch's error where shapes or dtypes do not fit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from jaxvjp.core.record.collector import leave_uncollected, let_collector_visit
from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.modes import grad_mode, staging, transforming
from jaxvjp.core.record.saves import check_savable, saved_inputs
from jaxvjp.core.record.user_lines import UserLine, user_line
from jaxvjp.ops.creation import full
from jaxvjp.ops.identity import detach, rebind, tuple_item, variable
from jaxvjp.ops.op import Aval, Op
from jaxvjp.ops.tracing import abstract, laid_out
from jaxvjp.types.compiled import CYTHONIZED
from jaxvjp.types.user_code import warn_user, warnings_of_call

SIGNATURES = 1 << 16
"""How many results of `signature_of` are remembered."""


def record(operation: Op, inputs: tuple[Node | Number, ...], static: tuple[Any, ...] = ()) -> Node:
    """The node of `operation` on `inputs`. RuntimeError or TypeError, as torch's, where shapes or dtypes do not fit."""
    signature = signature_of(operation, static, avals_of(inputs))
    return record_with(signature, operation, inputs, static, user_line())


def record_with(
    signature: Signature, operation: Op, inputs: tuple[Node | Number, ...], static: tuple[Any, ...], where: UserLine
) -> Node:
    """`record` where the signature and the user's line are known."""
    for message in signature.warnings:
        warn_user(message)
    mode = grad_mode()  # `no_grad` turns `enabled` off
    tracked = signature.differentiable and mode.enabled and tracks(inputs)
    if tracked and mode.inference:  # what is computed there requires none, which `enable_grad` inside does not change
        tracked = operation is variable or operation is rebind
    node = Node(operation, static, inputs, signature.aval, tracked, None, where)
    # Torch's inference mode, whose tensors must not be saved, and hooks on saved tensors:
    if tracked and signature.saves:
        for each in inputs:
            if type(each) is Node:
                operand = each
                if operand.inference:
                    check_savable(saved_inputs(node), inputs)
        if mode.saving is not None:
            node.packed = mode.saving(node)
    return node


class Signature:
    """What is the same for all calls of an op with equal static arguments and avals of operands.

    Attributes:
        aval: the aval of the result.
        differentiable: whether a gradient can flow through it.
        saves: whether torch would save tensors for the gradient.
        warnings: what each of these calls warns of.
    """

    def __init__(self, operation: Op, aval: Any, warnings: tuple[str, ...] = ()) -> None:
        self.aval, self.warnings = aval, warnings
        self.differentiable = operation.differentiable and _differentiable(aval)
        self.saves = bool(operation.saves)


@lru_cache(maxsize=SIGNATURES)
def signature_of(operation: Op, static: tuple[Any, ...], avals: tuple[Aval, ...]) -> Signature:
    """The signature of such calls. RuntimeError or TypeError, as torch has them, where shapes or dtypes do not fit."""
    plain = tuple([aval.plain for aval in avals])  # shapes and dtypes do not depend on strides
    if plain != avals:
        known = signature_of(operation, static, plain)
        return Signature(operation, laid_out(operation, static, avals, known.aval), known.warnings)
    with warnings_of_call() as told:
        result = abstract(operation, static, avals)
    return Signature(operation, laid_out(operation, static, avals, result), tuple(told))


def avals_of(inputs: tuple[Node | Number, ...]) -> tuple[Any, ...]:
    """The aval of each operand."""
    return tuple([operand.aval for operand in inputs])


def tracks(inputs: tuple[Node | Number, ...]) -> bool:
    """Whether one of the operands of a node requires a gradient. RuntimeError, torch's, where that is `outdated`."""
    found = False
    for operand in inputs:
        if type(operand) is Node:
            node = operand
            if node.requires_grad:
                found = True
                if node.outdated and node.tensor is not None:
                    node.tensor.__check_current__()
    return found


def _differentiable(aval: Any) -> bool:
    return aval.dtype.differentiable if type(aval) is Aval else any(each.dtype.differentiable for each in aval)


def node_of_value(value: Any, aval: Aval, requires_grad: bool = False, where: UserLine = None) -> Node:
    """A node with this value and no operation; `where` is the user's line, if the caller has it already."""
    node = Node(None, (), (), aval, requires_grad, value, where)
    leave_recorded_uncollected(node)
    return node


def leave_recorded_uncollected(node: Node) -> None:
    """Spares the garbage collector a node that was just recorded, and its tuple of inputs, if it visits no input.

    A cycle goes through a node that holds code of the user's, such as a hook. `let_collector_visit` has the collector
    visit that one; what is recorded on it later is not spared. An earlier result is: as in torch, `y` stays in memory
    after `h = x * 2; y = h + 1; h.register_hook(lambda g: g * y)`. So a step of 10,000 adds takes three fifths of what
    it takes where the collector visits all of its nodes.
    """
    if not CYTHONIZED:
        return
    if node.special:
        for code in (node._hooks, node._step_hooks, node._python, node._packed):
            if code is not None:
                let_collector_visit(node, node.inputs)
                return
    for operand in node.inputs:
        if PyObject_GC_IsTracked(operand):  # type: ignore[name-defined]  # noqa: F821
            let_collector_visit(node, node.inputs)
            return
    leave_uncollected(node.inputs)
    leave_uncollected(node)


def constant(number: complex, aval: Aval) -> Node:
    """A node of that aval filled with one number: `jnp.full`, computed inside the program that uses it."""
    return record(full, (Number(number, aval.dtype, aval.device),), (aval.shape,))


def variable_of(node: Node) -> Node:
    """A leaf that requires a gradient and has `node`'s value, also where that is not computed yet."""
    if staging().journal is not None:  # the staged step computes another value at its next call
        return Node(variable, (), (node,), node.aval, True, None, node.where)
    if node.value is not None and not transforming().forward:
        return node_of_value(node.value, node.aval, True, node.where)
    return Node(variable, (), (node,), node.aval, True, node.value, node.where)


tracers: WeakKeyDictionary[Node, Any] = WeakKeyDictionary()
"""The array, usually a tracer, behind each node that stands for an argument of a function that JAX traces."""
TRACED = tracers.data  # type: ignore[attr-defined]
"""The same as a dict: empty where JAX traces nothing."""


def detached(node: Node) -> Node:
    """A node with `node`'s value through which no gradient and no tangent flows."""
    return node if not (node.requires_grad or transforming().forward or TRACED) else separate(node)


def separate(node: Node) -> Node:
    """Another node with `node`'s value, through which no gradient and no tangent flows."""
    if node.value is not None and staging().journal is None and not transforming().forward:
        return node_of_value(node.value, node.aval)
    return record(detach, (node,))


def items(node: Node) -> list[Node]:
    """One node for each array of `node`, whose op returns a tuple of them."""
    tracked = node.requires_grad
    leave_recorded_uncollected(node)
    result = [
        Node(tuple_item, (index,), (node,), aval, tracked and aval.dtype.differentiable, where=node.where)
        for index, aval in enumerate(node.aval)
    ]
    for each in result:
        leave_recorded_uncollected(each)
    return result

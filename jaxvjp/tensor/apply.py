"""Applies an op to tensors: `apply` returns a new tensor, `apply_in_place` writes the result into the first operand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import staging, transforming
from jaxvjp.core.record.promotion import as_computed, common_dtype, converted, promoted, promoted_by_role
from jaxvjp.core.record.record import (
    TRACED,
    Signature,
    avals_of,
    items,
    leave_recorded_uncollected,
    record,
    record_with,
    signature_of,
)
from jaxvjp.core.record.user_lines import user_line
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.transfer import on_device
from jaxvjp.ops.arguments import KEPT, SCALAR
from jaxvjp.ops.identity import unaffected
from jaxvjp.ops.op import ARITHMETIC, COMPARE, KEEP, WRAPPED, Aval, Op
from jaxvjp.ops.pointwise import assigned, copy
from jaxvjp.ops.view import expand
from jaxvjp.tensor.autocasting import Autocasting, autocasted
from jaxvjp.tensor.refusals import check_traced, is_traced, waiting_behind
from jaxvjp.tensor.storage import OVERLAP
from jaxvjp.tensor.tensor import NUMBERS, Tensor, view, wrap
from jaxvjp.tensor.view_steps import WRITING_SHARED, Step
from jaxvjp.types.accelerators import is_on
from jaxvjp.types.devices import META, Elsewhere, of
from jaxvjp.types.dtypes import BOOL, FLOATING, REMEMBERED, bool_, dtype, python_number

UNTRACKED_LIMIT = 2039
"""Of this many nodes one, if it requires no gradient, is computed where it waits for more than half as many. Otherwise
`mean = 0.9 * mean + 0.1 * x` would grow a graph until somebody reads `mean`. The number is prime, so that in
a loop the count ends at each of its lines in turn. An optimizer's step waits for the next backward pass, which
computes it whole: if less than half as many operations wait, nothing is computed here, as each other cut would be
another program to compile."""


def limit_untracked_graph(node: Node) -> None:
    """Called with each new node; computes one in `UNTRACKED_LIMIT`, if it requires no gradient and many wait."""
    if node.requires_grad or node.serial % UNTRACKED_LIMIT:
        return
    if transforming().depth or transforming().forward or staging().journal:
        return
    behind = waiting_behind(node)
    if len(behind) > UNTRACKED_LIMIT // 2 and not is_traced(node):
        evaluate([node])


READ_MEANWHILE = frozenset(
    [
        *("index_add", "index_copy", "index_fill", "index_put", "index_reduce", "masked_scatter"),
        *("put", "scatter", "scatter_add", "scatter_reduce"),
    ]
)
"""torch's names of ops that in place go on reading their operands while they write."""


def operand_node(value: Any) -> Any:
    """The node of a tensor; a number unchanged; TypeError for anything else."""
    if isinstance(value, Tensor):
        return value.__node__
    if value is None:
        return None  # an operand left out
    if type(value) is tuple:
        return tuple([operand_node(each) for each in value])
    if isinstance(value, (*NUMBERS, np.number, np.bool_)):
        return python_number(value)
    raise TypeError(type(value).__name__)


def apply(operation: Op, operands: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Any:
    """Records `operation` on `operands` and wraps the result: a tensor, or a tuple of them where it returns several.

    Operands are tensors and Python numbers; for a structured op also None and tuples of tensors.
    """
    if operation.write is not None:
        try:
            return view(operands[0], Step(operation, static))
        except ValueError:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
                "two contiguous subspaces). Use .reshape(...) instead."
            ) from None
    if Autocasting.used:
        operands = autocasted(operation, operands, static)
    node = recorded(operation, operands, static)
    result = wrap(node) if type(node.aval) is Aval else tuple_of(operation, node)
    if not node.requires_grad:
        # A program cannot return a tuple's node: compute one of its items, and with it the others that are held.
        limit_untracked_graph((result if isinstance(result, Tensor) else result[0]).__node__)
    return result


def tuple_of(operation: Op, node: Node) -> Any:
    """The results of an op that returns several arrays, in torch's named tuple where it has one.

    Raises what the op raises for some values, such as LinAlgError for a singular matrix.
    """
    tensors = tuple([wrap(each) for each in items(node)])
    fields = () if operation.returns is None else operation.returns._fields
    if operation.check_result is not None and len(tensors) > max(len(fields), 1):
        tensors, verdict = tensors[:-1], tensors[-1]
        inspect(verdict.__node__, operation.check_result)
        if not fields:
            return tensors[0]
    return tensors if operation.returns is None else operation.returns(*tensors)


def recorded(operation: Op, operands: tuple[Any, ...], static: tuple[Any, ...]) -> Node:
    """The node of `operation` on `operands`, promoted and, where the row says so, rewritten as another op."""
    nodes = tuple([operand_node(operand) for operand in operands])
    key = key_of(operation, nodes, static)
    if key is not None:
        found = remembered.get(key)
        if found is not None:
            alike, form, signature, places = found
            read = flat(nodes)
            node = record_with(signature, alike, tuple([read[place] for place in places]), form, user_line())
            leave_recorded_uncollected(node)
            if operation.check_values is not None:
                inspected(operation, nodes, static)
            return node
    if Elsewhere.used:
        moved = on_one_device(operation, nodes)
        if moved != nodes:
            nodes, key = moved, None
    if operation.rewrite is not None:
        operation, nodes, static = operation.rewrite(operation, nodes, static)
    given = nodes
    if operation.structured:
        nodes, form = operation.flattened(nodes)
        static = (*static, form)
    alone = nodes
    if operation.mixed:
        nodes = promoted_by_role(operation.promotion, nodes, operation.roles_of(static, len(nodes)))
    else:
        nodes = promoted(operation.promotion, nodes)
    if operation.mixed or operation.numbers != WRAPPED:
        nodes = as_computed(operation, static, alone, nodes)
    node = record(operation, nodes, static)
    if key is not None:
        remember(key, node, flat(given))
    if operation.check_values is not None:
        inspected(operation, given, static)
    return node


remembered: dict[tuple[Any, ...], tuple[Op, tuple[Any, ...], Signature, tuple[int, ...]]] = {}
"""What calls of ops on tensors alone recorded, by the op, static arguments and avals: the op and static arguments of
the node, its signature, and which operand each input is. A call like one before takes a fifth of the time."""
MOST_REMEMBERED = 4096
REMEMBERS = is_on("remembered calls")
REMEMBERED.append(remembered)


def key_of(operation: Op, operands: tuple[Any, ...], static: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The key of a call in `remembered`; None for one with numbers, or whose op is rewritten."""
    if operation.rewritten_by_call:
        return None
    key: list[Any] = [operation, static]
    for operand in operands:
        if type(operand) is Node:
            key.append(operand.aval)
        elif operand is None:
            key.append(None)
        elif type(operand) is tuple:
            inner = key_of(operation, operand, ())
            if inner is None:
                return None
            key.append(inner)
        else:
            return None
    return tuple(key)


def flat(operands: tuple[Any, ...]) -> list[Any]:
    """The nodes among operands, of which some may be left out or be tuples of nodes."""
    nodes: list[Any] = []
    for operand in operands:
        if type(operand) is tuple:
            nodes += flat(operand)
        elif operand is not None:
            nodes.append(operand)
    return nodes


def remember(key: tuple[Any, ...], node: Node, read: list[Any]) -> None:
    """Remembers that the call recorded `node`, if that has the nodes `read` as its inputs, as they are."""
    assert node.operation is not None
    places = [read.index(operand) for operand in node.inputs if operand in read]
    if REMEMBERS and len({*places}) == len(read) == len(node.inputs) and not node.special:
        if len(remembered) >= MOST_REMEMBERED:
            remembered.clear()
        signature = signature_of(node.operation, node.static, avals_of(node.inputs))
        remembered[key] = node.operation, node.static, signature, tuple(places)


def inspected(operation: Op, nodes: tuple[Any, ...], static: tuple[Any, ...]) -> None:
    """Checks the values of operands by the functions in the row's column `check_values`; inside `vmap` it does not."""
    assert operation.check_values is not None
    shapes = [each.aval.shape if isinstance(each, Node) else () for each in nodes]
    named = dict(zip(operation.static_names, static, strict=False))
    for name, check in zip(operation.check_values[::2], operation.check_values[1::2], strict=True):
        node = nodes[operation.operands.index(name)]
        if node is not None:
            checked = partial(check, shapes=shapes, **named)
            inspect(node, checked) if isinstance(node, Node) else checked(np.asarray(node))


def inspect(node: Node, check: Callable[[np.ndarray[Any, Any]], Any]) -> None:
    """Calls `check` with the values of a node, which are computed first. A staged step calls it at each of its calls.

    Inside `vmap` it is not called: each example has other values; nor for what JAX traces, which has none.
    """
    if node.value is None and (
        node.operation is None or any(batch.holds(node) for batch in transforming().batches) or is_traced(node)
    ):
        return
    if node.device is META:
        return
    journal = staging().journal
    if journal is not None:
        journal.inspections.append((node, check))
        if node.value is None:
            return
    if node.value is None:
        evaluate((node,))
    check(np.asarray(node.value))


def on_one_device(operation: Op, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """`operands`, with those moved that torch moves: CPU tensors without dimensions, and what `copy_` copies."""
    if operation in (copy, assigned):
        return (operands[0], *on_device(operands[1:], operands[0].device))
    nodes = [operand for operand in operands if isinstance(operand, Node)]
    if operation.promotion == KEEP or not nodes:
        return operands
    place = next((node.device for node in nodes if node.aval.shape or of(node.device).type != "cpu"), nodes[0].device)
    free = [node for node in nodes if not node.aval.shape and of(node.device).type == "cpu"]
    return tuple([on_device((operand,), place)[0] if operand in free else operand for operand in operands])


def apply_in_place(operation: Op, target: Tensor, operands: tuple[Any, ...], static: tuple[Any, ...] = ()) -> Tensor:
    """Writes the result of `operation` on `target` and `operands` into `target` and returns it.

    RuntimeError, and nothing written, where the result has another shape, a type that `target` cannot hold, or where
    `target` is a leaf that requires a gradient.
    """
    recorded_in_place(operation, target, operands, static)
    return target


def recorded_in_place(operation: Op, target: Tensor, operands: tuple[Any, ...], static: tuple[Any, ...]) -> Node:
    """Does `apply_in_place` and returns the node of the result, before it was cast to the dtype of `target`."""
    if operation is not assigned:  # torch checks the shapes of that one first
        check_writable(operation, target, operands)
    try:
        result = recorded(operation, (target, *operands), static)
    except NotImplementedError:
        check_type(operation, target, operands)
        raise
    if operation is assigned:
        check_writable(operation, target, operands)
    written(operation, target, operands, result)
    return result


def check_writable(operation: Op, target: Tensor, operands: tuple[Any, ...]) -> None:
    """RuntimeError where `operation` must not write `target`: it is a leaf that requires a gradient, it overlaps an
    operand or, inside a transform, it comes from outside."""
    target.__check_writable__()
    if (
        target.__view_path__
        and expand in [step.operation for step in target.__view_path__]
        and operation not in WRITING_SHARED
    ):
        target.__check_apart__()
    read_meanwhile = operation.torch_name in READ_MEANWHILE
    for operand in operands:
        if isinstance(operand, Tensor):
            if operand.__storage__ is target.__storage__ is not None:
                target.__check_overlap__(operand)
            if read_meanwhile and (operand is target or operand.__shares_memory__(target)):
                raise RuntimeError(OVERLAP)
    for guard in transforming().guards:
        guard.check(target, operation, len(operands))


def written(operation: Op, target: Tensor, operands: tuple[Any, ...], result: Node) -> Tensor:
    """Writes `result`, which `operation` gave for `target` and `operands`, into `target`, and returns `target`."""
    new = result
    if result.aval is not target.__node__.aval:
        _check_fit(operation, target, operands, result)
        new = converted(result, target.dtype)
    result.in_place = True
    limit_untracked_graph(result)
    if operation.promotion == COMPARE:
        tensors = tuple([each.__node__ for each in (target, *operands) if isinstance(each, Tensor)])
        new = record(unaffected, (new, *tensors), (operation.name, len(tensors) - 1))
    if TRACED:
        check_traced(target, new)
    target.__write__(new)
    return target


def _check_fit(operation: Op, target: Tensor, operands: tuple[Any, ...], result: Node) -> None:
    """RuntimeError where the result of an in-place operation has another shape, or a type `target` cannot hold."""
    if result.aval.shape != target.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(result.aval.shape)}\n"
            "An in-place operation cannot grow its tensor; write `x = x + y` for a new one."
        )
    if operation.name == "float_power":
        raise RuntimeError(
            f"the base given to float_power_ has dtype {target.dtype.legacy} but the operation's result requires dtype "
            f"{result.aval.dtype.legacy}\nIts results are double; write `y = x.float_power(2)` for a new tensor."
        )
    if operation.torch_name in ("cumsum", "cumprod") and target.dtype is bool_:
        raise NotImplementedError(f"\"{operation.torch_name}_out_cpu\" not implemented for 'Bool'")
    named = target.dtype.legacy
    if operation.torch_name.startswith("clamp") and not any(isinstance(operand, Tensor) for operand in operands):
        named = IN_C.get(named, named.lower())
    _check_castable(result.aval.dtype, target.dtype, named)
    if target.dtype.is_complex and result.aval.dtype.category == FLOATING:
        raise RuntimeError(
            f"In-place {operation.name} is not supported for complex tensors.\nIts result is real; write `y = "
            f"x.{operation.name}()`."
        )


def check_type(operation: Op, target: Tensor, operands: tuple[Any, ...]) -> None:
    """RuntimeError if `target` cannot hold the type that `operation` computes in.

    torch checks this before it looks for a kernel for the type.
    """
    if operation.promotion == ARITHMETIC:
        given = zip((target, *operands), operation.roles, strict=False)
        taking = [operand_node(each) for each, role in given if each is not None and role not in (KEPT, SCALAR)]
        _check_castable(common_dtype(taking), target.dtype)


IN_C = {"Long": "long int", "Int": "int", "Short": "short int", "Char": "signed char", "Byte": "unsigned char"}
"""How torch's errors of `clamp_` between numbers name a dtype; those of other operations say `Long`."""


def _check_castable(result: dtype, target: dtype, named: str = "") -> None:
    if not castable(result, target):
        raise RuntimeError(
            f"result type {result.legacy} can't be cast to the desired output type {named or target.legacy}\n"
            f"An in-place operation keeps its tensor's dtype, torch.{target.name}; write `x = x / y` for a new one."
        )


def castable(source: dtype, to: dtype) -> bool:
    """Whether an in-place result of type `source` may be stored as `to`: never to a lower category, bool aside."""
    return source.category <= to.category or source.category == BOOL

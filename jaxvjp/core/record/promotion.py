"""Brings the operands of an op to one dtype, by torch's rules, before it is recorded.

A Python number becomes a `Number` of the dtype that the op computes in; a tensor of another dtype gets a `cast` node,
through which gradients flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.record import record
from jaxvjp.core.record.saves import count_writes
from jaxvjp.ops.arguments import KEPT, SCALAR
from jaxvjp.ops.op import CHECKED, DOUBLE, FLOAT, KEEP, SHORT, Op
from jaxvjp.ops.pointwise import cast, mul
from jaxvjp.types.dtypes import (
    FLOATING,
    INTEGRAL,
    bool_,
    dtype,
    fitted,
    float32,
    float64,
    get_default_dtype,
    of_number,
    promote_types,
    result_type,
    wrapped,
)


def converted(node: Node, to: dtype) -> Node:
    """`node` in the dtype `to`; itself where it has it."""
    if node.aval.dtype is to:
        return node
    result = record(cast, (node,), (to,))
    if node.inference:  # what saves it saves a tensor of inference mode
        result.inference = True
    return result


def _read_as(node: Node, to: dtype) -> Node:
    """`converted`, as an operand: torch's kernels convert as they read, so that what saves it saves `node`."""
    result = converted(node, to)
    if result is not node:
        count_writes(result, node)
    return result


def common_dtype(operands: Sequence[Node | complex]) -> dtype:
    """The dtype that torch computes a mixture of tensors and Python numbers in."""
    nodes = [operand for operand in operands if isinstance(operand, Node)]
    return result_type(
        [node.aval.dtype for node in nodes if node.aval.shape],
        [node.aval.dtype for node in nodes if not node.aval.shape],
        [of_number(operand) for operand in operands if not isinstance(operand, Node)],
    )


def promoted(promotion: str, operands: Sequence[Any]) -> tuple[Node | Number, ...]:
    """`operands` (nodes and Python numbers) as an op with this promotion wants them."""
    if len(operands) == 2 and promotion != DOUBLE:  # the usual cases first: equal dtypes, or a tensor and a number
        first, second = operands
        if type(first) is Node:
            own = first.aval.dtype
            if own.category >= FLOATING:
                if type(second) is Node:
                    if second.aval.dtype is own:
                        return first, second
                elif type(second) is float or type(second) is int:
                    return first, Number(second, own)
        elif type(second) is Node and (type(first) is float or type(first) is int):
            own = second.aval.dtype
            if own.category >= FLOATING:
                return Number(first, own), second
    elif len(operands) == 1 and operands[0].aval.dtype.category >= FLOATING:
        return tuple(operands)
    if promotion == KEEP or not operands:
        first = next((operand.aval.dtype for operand in operands if type(operand) is Node), None)
        return tuple([operand if type(operand) is Node else _beside(operand, first) for operand in operands])
    common = common_dtype(operands)
    if promotion == DOUBLE:
        common = promote_types(common, float64)
    if promotion == FLOAT and common.category < FLOATING:
        common = get_default_dtype()
    if common.category == INTEGRAL:
        masks = all(operand.aval.dtype is bool_ for operand in operands if type(operand) is Node)
        operands = [operand if type(operand) is Node else wrapped(operand, common, masks) for operand in operands]
    read = converted if promotion == DOUBLE else _read_as  # torch converts for `float_power` beforehand
    return tuple([read(operand, common) if type(operand) is Node else Number(operand, common) for operand in operands])


def promoted_by_role(promotion: str, operands: Sequence[Any], roles: Sequence[str]) -> tuple[Node | Number, ...]:
    """As `promoted`, leaving out of promotion the operands of role KEPT, and numbers such as `alpha` (SCALAR)."""
    taking = [each for each, role in zip(operands, roles, strict=True) if role not in (SCALAR, KEPT)]
    rest = iter(promoted(promotion, taking))
    result: list[Any] = [next(rest) if role not in (SCALAR, KEPT) else None for role in roles]
    common = next(each.aval.dtype for each in (*result, *operands) if each is not None)
    for position, each in enumerate(operands):
        if type(each) is Node:
            result[position] = result[position] or each
        elif result[position] is None:
            result[position] = _beside(each, common)
    return tuple(result)


def as_computed(
    operation: Op, static: tuple[Any, ...], given: Sequence[Any], taken: tuple[Any, ...]
) -> tuple[Any, ...]:
    """`taken`, which are the operands `given` promoted, with numbers in the dtype that torch's kernel reads them in.

    Beside float16 operands, an OPMATH op reads numbers as float32, and also tensors without dimensions.
    RuntimeError where an op checks its numbers (CHECKED) and one is too large.
    """
    common = taken[0].aval.dtype
    short = common.numpy in SHORT
    if not (short or operation.mixed):
        return taken
    result = list(taken)
    positions = zip(operation.roles_of(static, len(taken)), operation.numbers_among(static, len(taken)), strict=True)
    for position, (role, opmath) in enumerate(positions):
        each = taken[position]
        if short and opmath:
            if type(each) is Number and (position or operation is mul):  # to torch `2 * x` is `x.mul(2)`
                result[position] = each = Number(each.value, float32)
            elif position and type(each) is Node and not each.aval.shape and given[position].aval.dtype is not common:
                result[position] = each = converted(given[position], float32)
        checked = role == SCALAR or (short and operation.numbers == CHECKED)
        if checked and type(each) is Number and each.aval.dtype.category == FLOATING:
            fitted(each.value, each.aval.dtype)
    return tuple(result)


def _beside(number: complex, common: dtype | None) -> Number:
    """A number that takes no part in promotion, in the dtype `common` of the tensors, or its own if that is wider."""
    own = of_number(number)
    if common is None:
        return Number(number, own)
    if common.category < own.category:
        return Number(number, own if own.category < FLOATING else promote_types(own, float64))
    return Number(fitted(number, common) if common.category == INTEGRAL else number, common)

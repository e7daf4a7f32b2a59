"""Makes functions of ops fast by remembering what calls recorded.

A **front** is the function, method or operator that the user calls: `torch.sum`, `x.sum`, `x * 2`. The slow front binds
arguments, promotes operands and finds the aval of the result. `remembering(slow)` is a front that looks for an earlier
call whose arguments had the same types, avals and static values. If there was one, it makes the node at once. If not,
it calls the slow front and reads off its node what to remember (`call_of`): only the slow one knows how a call becomes
a node.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.record import avals_of, leave_recorded_uncollected, record_with, signature_of
from jaxvjp.core.record.user_lines import UserLine, user_line
from jaxvjp.ops.arguments import SCALAR
from jaxvjp.ops.op import CHECKED, SHORT, Aval, Op
from jaxvjp.ops.strided import WHERE_STRIDES_ALLOW
from jaxvjp.tensor.apply import UNTRACKED_LIMIT, check_writable, limit_untracked_graph, written
from jaxvjp.tensor.autocasting import looks_for_a_block
from jaxvjp.tensor.storage import Stored, holding, shown, view_by
from jaxvjp.tensor.tensor import ORDINARY, Tensor
from jaxvjp.tensor.view_steps import Step
from jaxvjp.types import dtypes
from jaxvjp.types.accelerators import is_on
from jaxvjp.types.dtypes import FLOATING, dtype, int64
from jaxvjp.types.size import Size
from jaxvjp.types.tracebacks import without_own_lines_in_errors

Front = Callable[..., Any]
ON = is_on("remembered calls")
REMEMBERED = 512
"""A front remembers at most this many kinds of calls, and calls of a kind; then it forgets all."""
VALUES = frozenset([int, float, bool, str, type(None), dtype])
"""Types of static arguments that can be part of a key: equal values mean the same to an op."""
NUMBERS = frozenset([int, float])


class Call:
    """How to record a call like one before, from its arguments.

    Attributes:
        operation, static: those of the node.
        signature: see `record.Signature`.
        inputs: for each input of the node, which argument it is and, if that is a Python number, one of its dtype.
        plain: whether the node has one input, the first argument.
        row: the row that was called. `operation` may be another, which the row is rewritten as.
        step: of a view, its `Step`; else None.
    """

    def __init__(self, node: Node, inputs: tuple[tuple[int, Number | None], ...]) -> None:
        assert node.operation is not None
        self.operation = self.row = node.operation
        self.static = node.static
        self.signature = signature_of(node.operation, node.static, avals_of(node.inputs))
        self.inputs = inputs
        self.plain = inputs == ((0, None),)
        self.step = None if node.operation.write is None else Step(node.operation, node.static)

    def fits(self, source: Stored) -> bool:
        """Whether a view like this can be taken of `source`: whether torch can make some views depends on strides."""
        strided = source.__steps__ or source.__own_path__ or source.__shown__.aval.strides
        return not strided or self.operation not in WHERE_STRIDES_ALLOW

    def node(self, inputs: tuple[Node | Number, ...], where: UserLine) -> Node:
        """The node with these inputs, as `record.record` makes it."""
        node = record_with(self.signature, self.operation, inputs, self.static, where)
        leave_recorded_uncollected(node)
        return node

    def record(self, inputs: tuple[Node | Number, ...], where: UserLine) -> Any:
        """The tensor of that node, as `apply.apply` makes it."""
        node = self.node(inputs, where)
        tensor = holding(node, Tensor)
        if not node.requires_grad and not node.serial % UNTRACKED_LIMIT:  # seldom: no call of Python's for the others
            limit_untracked_graph(node)
        return tensor


class Kind:
    """Calls whose arguments have the same types and avals.

    Attributes:
        static: which arguments are static, such as `dim`. Other numbers are operands and may change from call to call.
        calls: for each tuple of values of the static arguments, the call.
    """

    def __init__(self, static: tuple[int, ...]) -> None:
        self.static = static
        self.calls: dict[tuple[Any, ...], Call] = {}


class Unlike(Exception):  # noqa: N818 - no error: the call is just not like any other
    """Raised for a call that cannot be remembered; `always`, if no call of its kind can be."""

    def __init__(self, always: bool) -> None:
        self.always = always


@dataclass(slots=True)
class Seen:
    """A call that is not remembered yet.

    Attributes:
        signature: the key of its kind.
        read: its arguments, with nodes for tensors.
        kind: the calls of its kind that are remembered.
    """

    signature: tuple[Any, ...]
    read: list[Any]
    kind: Kind


class Calls:
    """The remembered calls of one front. `by_value`, if the value of a number decides what is recorded: `x ** 2`."""

    def __init__(self, by_value: bool) -> None:
        self.by_value = by_value
        self.kinds: dict[tuple[Any, ...], Kind | None] = {}
        dtypes.REMEMBERED.append(self.kinds)

    def recalled(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Call, Any] | Seen | None:
        """A remembered call like this, and inputs for it; or a `Seen`, for `learn`; None if it cannot be learned."""
        values = (*arguments, *named.values()) if named else arguments
        key: list[Any] = [*named] if named else []
        read: list[Any] = []
        for value in values:
            kind = type(value)
            if kind is Tensor or kind in ORDINARY:
                node = shown(value)
                key.append(node.aval)
                read.append(node)
                continue
            if kind is int or kind is bool or kind is float or value is None or kind in VALUES:
                key.append(kind)
            elif (kind is tuple or kind is Size) and {*map(type, value)} <= {int}:
                key.append(tuple)
            else:
                return None
            read.append(value)
        signature = tuple(key)
        known: Kind | None = self.kinds.get(signature, UNSEEN)
        if known is None:
            return None
        if known is not UNSEEN:
            call: Call | None = known.calls.get(tuple([read[place] for place in known.static]))
            if call is not None:
                if call.plain:
                    return call, (read[0],)
                return call, tuple([read[at] if own is None else own.like(read[at]) for at, own in call.inputs])
        return Seen(signature, read, known)

    def learn(self, seen: Seen, node: Node | None) -> Call | None:
        """Remembers that the call recorded `node`, if it can be remembered."""
        try:
            call = call_of(seen.read, node)
        except Unlike as unlike:
            if unlike.always:
                _remember(self.kinds, seen.signature, None)
            return None
        operands = () if self.by_value else [at for at, own in call.inputs if own is not None]
        static = tuple(at for at, each in enumerate(seen.read) if not isinstance(each, Node) and at not in operands)
        known = seen.kind
        if known is UNSEEN:
            known = Kind(static)
            _remember(self.kinds, seen.signature, known)
        # 0.0 and -0.0 are equal keys, and not the same argument.
        if known.static == static and not any(type(seen.read[at]) is float and seen.read[at] == 0 for at in static):
            _remember(known.calls, tuple([seen.read[at] for at in static]), call)
        return call


def remembering(slow: Front, by_value: bool) -> Front:
    """The front `slow`, made to remember its calls. `by_value`: see `Calls`."""
    slow = without_own_lines_in_errors(slow)
    if not ON:
        return slow
    calls = Calls(by_value)
    alone: dict[Aval, Call] = {}  # of calls with one tensor and nothing else, such as `x.sum()`, by its aval
    dtypes.REMEMBERED.append(alone)

    @wraps(slow)
    def front(*arguments: Any, **named: Any) -> Any:
        if len(arguments) == 1 and not named and type(arguments[0]) in ORDINARY:
            node = shown(arguments[0])
            call: Call | None = alone.get(node.aval)
            if call is not None:
                return call.record((node,), user_line())
        found = calls.recalled(arguments, named)
        if isinstance(found, tuple):
            call, inputs = found
            if call.step is None:
                return call.record(inputs, user_line())
            if call.fits(arguments[0]):
                node = call.node(inputs, user_line())
                return view_by(node, arguments[0], (call.step,), Tensor)
            found = None
        result = slow(*arguments, **named)
        if found is not None:
            call = calls.learn(found, result.__node__ if _can_be_remembered(result, arguments) else None)
            if call is not None and call.step is None and len(arguments) == len(call.inputs) == 1 and not named:
                _remember(alone, found.read[0].aval, call)
        return result

    return front


def _can_be_remembered(result: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether a result is a tensor and no view, or a view of the first argument by one step without operands."""
    if type(result) is not Tensor:
        return False
    if result.__base_tensor__ is None:
        return True
    return bool(arguments) and type(arguments[0]) in ORDINARY and result.__node__.inputs == (arguments[0].__node__,)


def remembering_in_place(slow: Callable[..., tuple[Op, Node | None, Tensor]], by_value: bool) -> Front:
    """The front of an in-place form such as `x.mul_`, made to remember its calls.

    `slow` checks, records and writes. It returns the row, the node and what it wrote; None for the node, if another
    call has more to check than whether its first argument may be written.
    """
    slow = without_own_lines_in_errors(slow)
    calls = Calls(by_value)

    @wraps(slow)
    def front(*arguments: Any, **named: Any) -> Any:
        found = calls.recalled(arguments, named)
        if isinstance(found, tuple):
            call, inputs = found
            target, operands = arguments[0], (*arguments[1:], *named.values())
            check_writable(call.row, target, operands)
            return written(call.row, target, operands, call.node(inputs, user_line()))
        row, node, target = slow(*arguments, **named)
        learned = calls.learn(found, node) if ON and found is not None and arguments else None
        if learned is not None:
            learned.row = row
        return target

    return front


UNSEEN = Kind(())


def _remember(memory: dict[Any, Any], key: Any, value: Any) -> None:
    if len(memory) >= REMEMBERED:
        memory.clear()
    memory[key] = value


def _looks_again(operation: Op) -> bool:
    """Whether an op has more to look at, at each call, than the avals: values of operands, or an `autocast` block."""
    return operation.check_values is not None or looks_for_a_block(operation)


def call_of(read: Sequence[Any], node: Node | None) -> Call:
    """The `Call` by which a call with the arguments `read` (nodes for tensors) recorded `node`. Raises `Unlike`."""
    if node is None or node.operation is None or node.special or any(each is node for each in read):
        raise Unlike(always=True)
    if _looks_again(node.operation):
        raise Unlike(always=True)
    if not node.inputs:  # it was computed at once, and has forgotten them
        raise Unlike(always=False)
    inputs: list[tuple[int, Number | None]] = []
    for each, role in zip(node.inputs, node.operation.roles_of(node.static, len(node.inputs)), strict=True):
        if isinstance(each, Node):
            if role == SCALAR:  # that it requires no gradient is looked at again
                raise Unlike(always=True)
            places = [at for at, argument in enumerate(read) if argument is each]
        else:
            places = [at for at, argument in enumerate(read) if type(argument) in NUMBERS and argument == each.value]
        if isinstance(each, Number):
            own = each.aval.dtype
            checked = node.operation.numbers == CHECKED and own.numpy in SHORT
            if checked or (own.category < FLOATING and own is not int64):
                raise Unlike(always=True)  # another number may not fit the dtype
        if len(places) != 1:  # in `torch.where(mask, x, x)` an input may be either x
            raise Unlike(always=False)
        if isinstance(each, Number) and any(at > places[0] for at, _ in inputs):
            raise Unlike(always=True)  # an old form of call, `torch.addmm(2, x, y, z)`, which warns again
        inputs.append((places[0], each if isinstance(each, Number) else None))
    used = {at for at, _ in inputs}
    if len(used) < len(inputs) or any(isinstance(each, Node) and at not in used for at, each in enumerate(read)):
        raise Unlike(always=False)
    return Call(node, tuple(inputs))


def remembering_operator(slow: Front, by_value: bool) -> Front:
    """As `remembering`, for a binary operator: twice as fast."""
    slow = without_own_lines_in_errors(slow)
    if not ON:
        return slow
    calls: dict[tuple[Any, ...], Call] = {}
    dtypes.REMEMBERED.append(calls)

    @wraps(slow)
    def front(self: Tensor, other: Any) -> Any:
        left = shown(self)
        kind = type(other)
        call: Call | None
        if kind is Tensor or kind in ORDINARY:
            right = shown(other)
            key: tuple[Any, ...] = (left.aval, right.aval)
            call = calls.get(key)
            if call is not None:
                return call.record((left, right), user_line())
            result = slow(self, other)
            plain = not (result.__node__.special or _looks_again(result.__node__.operation))
            if result.__node__.inputs == (left, right) and plain:
                _remember(calls, key, Call(result.__node__, ()))
            return result
        if kind not in NUMBERS:
            return slow(self, other)
        key = (left.aval, kind, other) if by_value else (left.aval, kind)
        call = calls.get(key)
        if call is None:
            result = slow(self, other)
            with contextlib.suppress(Unlike):
                _remember(calls, key, call_of((left, other), result.__node__))
            return result
        if len(call.inputs) == 1:
            return call.record((left,), user_line())
        (_, first), (_, second) = call.inputs
        of_it: Number = first or second  # type: ignore[assignment]  # one of the two is a Number
        number = of_it.like(other)
        return call.record((left, number) if first is None else (number, left), user_line())

    return front

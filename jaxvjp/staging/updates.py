"""An optimizer's update of all parameters as one operation, once its rule was seen: `update_at_once`.

A rule is written for one parameter, in operations on tensors; Adam on 28 parameters records 470 of them in each step.
Here it is recorded once, on tensors without values, as a `Program`. A later step with parameters, gradients and state
of the same avals records one node, which carries that program, and writes its results. In what two steps may differ are
operands: the learning rate, and the number of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from jaxvjp.core.record.graph import Node, Number, reachable
from jaxvjp.core.record.modes import grad_mode, listening, staging, transforming
from jaxvjp.core.record.record import Signature, items, node_of_value, record_with
from jaxvjp.core.record.user_lines import user_line
from jaxvjp.core.run.program import Program, called, freeze, results_of
from jaxvjp.ops.identity import traced
from jaxvjp.ops.op import Aval
from jaxvjp.tensor.apply import limit_untracked_graph
from jaxvjp.tensor.storage import shown
from jaxvjp.tensor.tensor import ORDINARY, Tensor, wrap

Group = dict[str, Any]
REMEMBERED = 8
"""So many updates of an optimizer are remembered. One with ever other settings, such as one whose momentum a schedule
cycles, goes on operation by operation."""


class Rate(float):
    """The learning rate of a group, or what was computed from it: `(1 - rate * 0.1).of(0.5)` is 0.95."""

    group: int
    of: Callable[[float], float]

    def __new__(cls, value: float, group: int, of: Callable[[float], float] = float) -> Rate:
        """`value` is `of` the rate of the group with that number."""
        made = super().__new__(cls, value)
        made.group, made.of = group, of
        return made


def _followed(operator: Callable[..., Any]) -> Callable[..., Any]:
    def follow(self: Rate, *others: Any) -> Any:
        result = operator(self, *others)
        if result is NotImplemented:
            return result
        return Rate(result, self.group, lambda rate: operator(self.of(rate), *others))

    return follow


for _name in ("neg", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv"):
    setattr(Rate, f"__{_name}__", _followed(getattr(float, f"__{_name}__")))


class Count(int):
    """The number of one of `Step.counts`."""


class Part(NamedTuple):
    """What one parameter brings to a step.

    Attributes:
        group: the number of its group.
        which: the one of `Step.counts` that is its own; None for an optimizer that does not count.
        step: the tensor that holds it.
        names: those of the rest of its state.
        tensors: the parameter, its gradient, and the rest of its state.
    """

    group: int
    which: Count | None
    step: Tensor | None
    names: tuple[str, ...]
    tensors: list[Tensor]


class Step(NamedTuple):
    """A step that can be made at once.

    Attributes:
        parts: one for each parameter that has a gradient.
        nodes: those of the parts' tensors, in their order.
        counts: the different counts in a group, as they are after the step, with their aval.
        rates: the learning rate of each group.
        key: equal for steps that have the same update.
    """

    parts: list[Part]
    nodes: list[Node]
    counts: list[tuple[float, Aval]]
    rates: list[float]
    key: tuple[Any, ...]


class Update(NamedTuple):
    """How all parameters are updated.

    Attributes:
        program: from what it reads to the new contents of what it writes.
        reads: its operands: the place of a node, a `Count`, or what is always the same: a node, or a number, which may
            be a `Rate`.
        writes: the place of each tensor that is written, and how often the rule writes it.
        signature: that of the node.
    """

    program: Program
    reads: list[Any]
    writes: list[tuple[int, int]]
    signature: Signature


def update_at_once(optimizer: Any) -> bool:
    """Updates all parameters as one operation, if that can be done; else does nothing. Returns whether it did.

    The first step cannot, which makes the state; nor can parameters that share memory, that are complex or on another
    device than JAX's default, settings that are tensors, tensors of classes of the user's, or what is inside of a
    transform or of a staged step.
    """
    step = _step_of(optimizer)
    if step is None:
        return False
    known: dict[Any, Update | None] = optimizer.__dict__.setdefault("__updates__", {})
    if step.key not in known:
        if len(known) == REMEMBERED:
            return False
        known[step.key] = _recorded(optimizer, step)
    update = known[step.key]
    if update is not None:
        _apply(update, step)
    return update is not None


def computes() -> bool:
    """Whether what this thread does now is computed: not told to `explain`, nor in a staged step or a transform."""
    transforms = transforming()
    return not (listening() or staging().journal is not None or transforms.depth or transforms.forward)


def number_of_steps(step: Tensor) -> float | None:
    """What the count of a parameter is, where that need not be computed."""
    value = step.__node__.value
    if value is None or step.ndim or step.__node__.device is not None or not computes():
        return None
    return float(np.asarray(value))


def count(step: Tensor, number: float) -> None:
    """Writes the count of a parameter."""
    aval = step.__node__.aval
    step.__write__(node_of_value(np.asarray(number, aval.dtype.numpy), aval))


def _step_of(optimizer: Any) -> Step | None:
    mode = grad_mode()
    if not computes() or mode.inference or mode.mutation is not None or mode.autocast:
        return None
    step = Step([], [], [], [], ())
    key: list[Any] = []
    numbers: dict[tuple[int, float], Count] = {}
    memories: set[Any] = set()
    for group in optimizer.param_groups:
        if type(group["lr"]) is not float:
            return None
        settings = tuple([value for name, value in group.items() if name not in ("params", "param_names", "lr")])
        if any(isinstance(setting, Tensor | list) for setting in settings):
            return None
        key.append(settings)
        step.rates.append(group["lr"])
        for parameter in group["params"]:
            grad = parameter.grad
            if grad is None:
                continue
            state = optimizer.state.get(parameter) or {}
            counted, which = state.get("step"), None
            if counted is not None:
                if type(counted) is not Tensor or (number := number_of_steps(counted)) is None:
                    return None
                which = numbers.setdefault((len(step.rates), number), Count(len(step.counts)))
                if which == len(step.counts):
                    step.counts.append((number + 1, counted.__node__.aval))
                    key.append(counted.__node__.aval)
            names = tuple([each for each in state if each != "step"])
            tensors = [parameter, grad, *[state[each] for each in names]]
            for each in tensors if counted is None else [*tensors, counted]:
                if type(each) not in ORDINARY or each.__base_tensor__ is not None or each.__own_path__ is not None:
                    return None
                if each.storage in memories or each.storage.shared is not None:
                    return None
                memories.add(each.storage)
            key += (which, names)
            for tensor in tensors:
                node = shown(tensor)
                if (
                    node.inference
                    or node.aval.device is not None
                    or not node.aval.dtype.is_floating_point
                    or (tensor is grad and node.requires_grad)
                ):
                    return None
                key.append(node.aval)
                step.nodes.append(node)
            step.parts.append(Part(len(step.rates) - 1, which, counted, names, tensors))
    return step._replace(key=tuple(key)) if step.parts else None


def _recorded(optimizer: Any, step: Step) -> Update | None:
    """The update; None if it is not the same for each learning rate, or if the rule keeps something new."""
    others = [rate / 2 + 1e-3 for rate in step.rates]
    update, other = _record(optimizer, step, step.rates), _record(optimizer, step, others)
    if update is None or other is None or (update.program, update.writes) != (other.program, other.writes):
        return None
    for one, two in zip(update.reads, other.reads, strict=True):
        if isinstance(one, Number):
            rate = one.value
            if (rate.of(others[rate.group]) if type(rate) is Rate else rate) != two.value:
                return None
    return update


def _record(optimizer: Any, step: Step, rates: Sequence[float]) -> Update | None:
    """The update as the rule records it on tensors without values, with these learning rates."""
    given = [Node(traced, (), (), each.aval) for each in step.nodes]
    counts = [Node(traced, (), (), aval) for _, aval in step.counts]
    tensors, counted = [wrap(each) for each in given], [wrap(each) for each in counts]
    groups = [
        {**group, "lr": Rate(rate, number)}
        for number, (group, rate) in enumerate(zip(optimizer.param_groups, rates, strict=True))
    ]
    rest, known = iter(tensors), dict[Any, Any]()
    for part in step.parts:
        p, grad, *kept = [next(rest) for _ in part.tensors]
        state = dict(zip(part.names, kept, strict=True))
        if part.which is not None:
            state["step"] = counted[part.which]
        begun = {*state}
        if not begun and optimizer.__initial_state__(p, grad, groups[part.group]):
            return None
        optimizer.__apply_rule__(p, grad, state, groups[part.group], known)
        if {*state} != begun or grad.__node__.operation is not traced:
            return None
    if any(each.__node__.operation is not traced for each in counted):
        return None
    written = [place for place, each in enumerate(tensors) if shown(each) is not given[place]]
    outputs = [tensors[place].__node__ for place in written]
    behind = reachable(outputs, lambda each: each.inputs)
    program, arguments = freeze([each for each in behind if each.operation not in (None, traced)], outputs)
    places: dict[Any, Any] = {node: place for place, node in enumerate(given)}
    places.update((node, Count(place)) for place, node in enumerate(counts))
    return Update(
        program,
        [places.get(argument, argument) for argument in arguments],
        [(place, tensors[place].__versions__.count) for place in written],
        Signature(called, tuple([output.aval for output in outputs])),
    )


def _apply(update: Update, step: Step) -> None:
    inputs: list[Any] = []
    for each in update.reads:
        if type(each) is int:
            inputs.append(step.nodes[each])
        elif type(each) is Count:
            number, aval = step.counts[each]
            inputs.append(Number(number, aval.dtype))
        elif type(each) is Number and type(each.value) is Rate:
            inputs.append(Number(each.value.of(step.rates[each.value.group]), each.aval.dtype))
        else:
            inputs.append(each)
    where = user_line()
    node = record_with(update.signature, called, tuple(inputs), (update.program,), where)
    results = items(node)
    results_of[node] = [ref(each) for each in results]
    tensors = [each for part in step.parts for each in part.tensors]
    for (place, times), result in zip(update.writes, results, strict=True):
        tensor = tensors[place]
        tensor.__versions__.count += times - 1
        tensor.__write__(result)
    for part in step.parts:
        if part.step is not None and part.which is not None:
            count(part.step, step.counts[part.which][0])
    limit_untracked_graph(results[0])

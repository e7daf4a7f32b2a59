"""What nodes saved for their backward steps: `check_unchanged` looks whether it was written since, `release` frees it.

JAX's arrays never change and nothing is saved twice, so a value that was written in place or freed could still be
read. These are torch's rules of what may be read, and torch's errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from jaxvjp.core.derive.anomaly import blame
from jaxvjp.core.derive.residuals import overwritten_residual
from jaxvjp.core.record.graph import Node, Number, recording_order
from jaxvjp.core.record.lifetime import NodesMet, TensorsBehind, copy_without_inputs, drop_inputs_if_done
from jaxvjp.core.record.modes import grad_mode, listening, transforming
from jaxvjp.core.record.observers import Released, tell
from jaxvjp.core.record.record import leave_recorded_uncollected
from jaxvjp.core.record.saves import changed_in_place, saved_positions, saves_something, shows_overwritten
from jaxvjp.core.record.user_lines import UserLine, located, loop_around, user_line
from jaxvjp.core.record.versions import latest
from jaxvjp.ops.identity import variable
from jaxvjp.ops.op import REGISTRY
from jaxvjp.ops.pointwise import cast

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward."
)


def check_unchanged(operations: Sequence[Node]) -> None:
    """RuntimeError where a saved tensor of one of `operations` was written or detached in place since.

    If all were recorded after the last write to any memory, nothing has to be looked at. The error is that of the
    operation recorded last, be it a custom Function that saved what was written.
    AssertionError, as in torch, where one was recorded in a block of `allow_mutation_on_saved_tensors` that is over.
    """
    block = grad_mode().mutation
    _check_within(block, operations)
    if not operations:
        return
    first = min([node.serial for node in operations])
    if latest.detach > first:
        _check_undetached(operations)
    if latest.write <= first:
        return
    node: Node
    functions: list[Any] = []
    for node in reversed(operations):
        if block is not None and node.mutation is block:
            continue
        if node.special and node.python is not None:
            functions.append(node.python)
        changed = changed_in_place(node)
        if changed is None:
            changed = overwritten_residual(node)
        if changed is not None:
            for step in functions:
                step.check_saved()
            blame(node)
            raise changed_error(node, changed, operations)


def _check_within(block: Any, operations: Sequence[Node]) -> None:
    node: Node
    for node in operations:
        if node.special and node.mutation is not None and node.mutation is not block and saved_positions(node):
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was "
                "originally recorded."
            )


def _check_undetached(operations: Sequence[Node]) -> None:
    node: Node
    for node in operations:
        for position in saved_positions(node):
            if position is not None and node.inputs[position].detached_in_place:
                blame(node)
                raise RuntimeError(
                    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not "
                    "supported, please use out-of-place `.detach()` instead"
                )


def release(operations: Iterable[Node], met: NodesMet) -> None:
    """Frees `operations`, which a backward pass without `retain_graph` went through; `met` is all that it met.

    As in torch, a node is freed if its op saves tensors. After `loss = (h * h).sum()` and `loss.backward()` the product
    is freed and the sum is not: another `loss.backward()` goes through the sum and fails at the product. A freed node
    drops its inputs once it has a value. One that is not freed and that the user holds, such as this loss, gets as
    inputs copies of the nodes behind it, which keep no values (`copy_without_inputs`).
    """
    to_strip: list[Node] = []
    if listening():
        tell(Released(list(operations)))
    passed: TensorsBehind | None = None
    node: Node
    for node in operations:
        if node.value is not None:
            passed = node.passed = passed or TensorsBehind(met, user_line())
        if node.special and node.python is not None:
            node.python.free()
        elif node.operation is not None and saves_something(node):
            node.freed = node.special = True
            if node.value is not None:
                drop_inputs_if_done(node)
            continue
        if node.value is not None and node.held():
            to_strip.append(node)
    if not transforming().forward:
        _strip(to_strip, passed)


def _strip(to_strip: list[Node], passed: TensorsBehind | None) -> None:
    """Gives these nodes, as inputs, copies of the nodes behind them that have no values and, if they are freed, no
    inputs; the copies of others get such inputs in turn."""
    inputs_of = {node: node.inputs for node in to_strip}  # they are replaced below
    stripped: dict[Node, Node] = {}
    pending = [(node, node) for node in to_strip]
    hooked = False
    while pending:
        node: Node
        target: Node
        node, target = pending.pop()
        inputs: list[Node | Number] = []
        for each in inputs_of.get(node, node.inputs):
            if type(each) is Node:
                behind: Node = each
                leaf = behind.operation is None or behind.operation is variable  # as in `Node.is_leaf`, for C
                if behind.requires_grad and not leaf and behind._python is None:
                    copy = stripped.get(behind)
                    if copy is None:
                        copy = stripped[behind] = copy_without_inputs(behind, passed)
                        hooked = hooked or behind._hooks is not None
                        if not behind.freed:
                            pending.append((behind, copy))
                    each = copy
            inputs.append(each)
        target.inputs = tuple(inputs)
    new = [*stripped.values(), *to_strip]
    if hooked:
        new.sort(key=recording_order)  # a node after its inputs
    for node in new:
        leave_recorded_uncollected(node)


def _carried_on(node: Node, operations: Iterable[Node]) -> str:
    """What to write where the line of `node` ran again for a later one of `operations`; else nothing."""
    again = max((each.serial for each in operations if each.where == node.where), default=0)
    if not any(node.serial < each.serial < again and each.where != node.where for each in operations):
        return ""  # one line may record several nodes
    name = re.match(r"(\w+) = ", node.location.text if node.location else "")
    h = name[1] if name else "h"
    return (
        f"The line of {node.gradient_name} ran again since, and what it gave before is still in use: cut it off "
        f"between the rounds, `{h} = {h}.detach()`, and `.requires_grad_()` if its own gradient is wanted"
    )


def freed_error(node: Node, operations: Iterable[Node] = ()) -> RuntimeError:
    """torch's sentence, then the line that recorded the node and what to write instead; `operations` are those of the
    backward pass that came upon it."""
    here = user_line()
    loop = loop_around(here, node.where)
    by = next(
        (each.passed.where for each in (node, *operations) if each.passed is not None and each.passed.where), None
    )
    before = located(by)
    keep = "in the backward before"
    if before is not None:
        keep = f"in line {before.number}, `{before.text.partition('  #')[0].rstrip()}`, which freed it"
    carried = _carried_on(node, operations)
    if carried:
        advice = f"{carried}; or keep the graph, by `retain_graph=True` {keep}"
    elif loop is None or loop_around(here, by) == loop:  # it was freed before the loop
        advice = (
            "Record the graph anew before each backward, by running that line again; or keep the graph, by "
            f"`retain_graph=True` {keep}"
        )
    else:
        advice = (
            f"That line stands outside the loop of line {loop}, in which this is called each time round: move it "
            "inside the loop, so that each round records its own graph; or, where only v differs from round to round, "
            f"keep the graph, by `retain_graph=True` {keep}"
        )
    return RuntimeError(f"{FREED}\nThe freed node is {node.gradient_name}, recorded by {node.location}\n{advice}.")


def instead(where: UserLine, otherwise: str) -> str:
    """What to write in place of a line that writes in place, with its own names where it is `y += 1` or `y[0] = 1`; or
    `otherwise`."""
    line = located(where)
    code = "" if line is None else line.text.partition("  #")[0]
    part = re.fullmatch(r"(\w+)(\[.+?\]) ([-+*/@]|\*\*|//)?= (.+)", code)
    if part is not None:
        name, index, operation, value = part.groups()
        value = f"{name}{index} {operation} {value}" if operation else value
        return f"Write into a copy there, `new = {name}.clone()` and `new{index} = {value}`, and go on with that"
    method = re.fullmatch(r"(\w+)\.(\w+)_(\(.*\))", code)
    if method is not None and method[2] in REGISTRY and method[2] not in ("copy", "fill", "zero"):
        name, operation, value = method.groups()
        new = f"`{name} = {name}.{operation}{value}` instead of `{name}.{operation}_{value}`"
        return f"Make a new tensor there, {new}, {otherwise}"
    found = re.fullmatch(r"(\w+) ([-+*/@]|\*\*|//)= (.+)", code)
    name, operation, value = found.groups() if found else ("y", "+", "1")
    value = value if not found or re.fullmatch(r"[\w.()\[\]]+", value) else f"({value})"
    new = f"`{name} = {name} {operation} {value}` instead of `{name} {operation}= {value}`"
    return f"Make a new tensor there, {new}, {otherwise}"


def changed_error(node: Node, saved: Node, operations: Iterable[Node] = ()) -> RuntimeError:
    """torch's sentence, then both lines: who saved the tensor and who changed it."""
    if saved is not node and saved.operation is cast and saved.tensor is None:
        before = saved.inputs[0] if saved.inputs else None
        if isinstance(before, Node) and shows_overwritten(before) is not None:
            saved = before  # it was converted for this operation, as `promotion` does it
    change = shows_overwritten(saved)
    if saved is not node and saved.tensor is not None:
        saved.tensor.__check_current__()  # as in torch, whose sentence would name that tensor's step
    assert change is not None
    assert change.versions is not None
    aval = saved.aval
    if change is not saved:  # a view of what was changed, which torch takes anew by its strides
        now = saved if saved.tensor is None else saved.tensor.__node__
        origin = ", which is output 0 of AsStrided," if now.requires_grad else ""
    else:
        # torch names a saved operand by what it has become, a saved result by what it was.
        current = saved if saved is node or saved.tensor is None else saved.tensor.__gradient_node__
        aval = current.aval
        origin = "" if current.is_leaf else f", which is output 0 of {current.forward_name},"
    advice = _carried_on(node, operations) if saved.is_leaf else ""
    if saved.is_leaf and not advice:
        advice = "Compute the result anew after that line, or let that line wait for the last backward"
    count = change.versions.count - change.version
    often = f" {count} times since, the last time" if count > 1 else ""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{aval.dtype.legacy}Tensor {list(aval.shape)}]{origin} is at version {change.versions.count}; expected "
        f"version {change.version} instead. Hint: enable anomaly detection to find the operation that failed to "
        "compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).\n"
        f"It was saved for {node.gradient_name} by {node.location}\n"
        f"and changed in place{often} by {located(change.versions.where)}\n"
        f"{advice or instead(change.versions.where, 'or change a copy, from `.clone()`')}."
    )

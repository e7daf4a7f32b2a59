"""Backward steps that are Python code or have hooks: the walk takes each alone, between two segments.

So it does with every step in anomaly mode (`detect_anomaly`), which blames the line that recorded it for an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxvjp.core.derive.anomaly import Inside, anomaly, blame, look_for_nan
from jaxvjp.core.record.graph import Node, Number
from jaxvjp.core.record.observers import Stepped, Unpacked, observers, tell
from jaxvjp.core.record.versions import next_serial

if TYPE_CHECKING:
    from jaxvjp.core.derive.engine import Walk


def watched_step(walk: Walk, segment: list[Node]) -> None:
    """`take_step` in anomaly mode: an error is blamed on the line that recorded the node."""
    node, first = segment[0], next_serial()
    try:
        take_step(walk, segment)
    except Exception:
        blame(node)
        raise
    finally:
        if walk.create_graph:
            anomaly.steps.append(Inside(first, next_serial(), node.serial, node.gradient_name, node.where))


def take_step(walk: Walk, segment: list[Node]) -> None:
    """Takes the backward step of a single node, calls its hooks and, in anomaly mode, checks the result for NaN."""
    node, step, hooks = segment[0], segment[0].python, segment[0].step_hooks
    outputs = _outputs_of(segment)
    given: list[Node | None] = [each and walk.arrived.get(each) for each in outputs]
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
    if hooks is not None:
        for hook in list(hooks.after.values()):
            results = hooks.call(node, hook, results, given)
    if step is not None and observers.listening:
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
    if unpacked and observers.listening:
        tell(Unpacked(node, {node.inputs[position]: each for position, each in unpacked.items()}))
    pairs = [(each, v) for each, v in zip(outputs, cotangents, strict=True) if each is not None and v is not None]
    if pairs:  # there are none, if a hook has returned None
        walk.pull(segment, [each for each, _ in pairs], [v for _, v in pairs], unpacked)
    results = [
        walk.arrived.get(walk.current_of.get(each, each)) if isinstance(each, Node) else None for each in node.inputs
    ]
    walk.arrived = settled
    return results

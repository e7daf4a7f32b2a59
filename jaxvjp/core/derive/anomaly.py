"""Anomaly mode: the state behind `detect_anomaly`, the search for NaN, and the warning that says which line it was.

In this mode each operation is a segment of the backward pass by itself, so that an error is that of one step.
"""

from __future__ import annotations

import math
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.user_lines import UserLine, located
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.types.user_code import warn_user


class Inside(NamedTuple):
    """A backward step that recorded nodes, those from `first` to `last` in the order of recording."""

    first: int
    last: int
    serial: int
    name: str
    where: UserLine


class Anomaly(threading.local):
    """The state of a thread.

    Attributes:
        enabled: whether the mode is on.
        check_nan: whether the result of each step is checked for NaN.
        since: where the mode began in the order of recording.
        steps: the backward steps since then that recorded nodes, for the second derivative.
    """

    enabled = False
    check_nan = True
    since: float = math.inf
    steps: list[Inside] = []  # noqa: RUF012 - replaced, not changed, where the mode begins


anomaly = Anomaly()


def blame(node: Node) -> None:
    """In anomaly mode, warns as torch does that the error on its way is that of the backward step of `node`.

    Where a warning is an error, it is printed, so that the first error stays.
    """
    if not anomaly.enabled:
        return
    _warn(f"Error detected in {node.gradient_name}. " + _told(node.serial, node.where, "caused the error"))
    serial = node.serial
    while inside := next((step for step in reversed(anomaly.steps) if step.first <= serial < step.last), None):
        serial = inside.serial
        _warn(
            f"\n\nPrevious calculation was induced by {inside.name}. "
            + _told(serial, inside.where, "induced the previous calculation")
        )


def _told(serial: int, where: UserLine, what: str) -> str:
    location = located(where)
    lines = ""
    if location is not None and where is not None:
        frame = traceback.FrameSummary(location.filename, location.number, where[0].co_name, line=location.text)
        lines = "".join(traceback.format_list([frame]))
    if serial > anomaly.since:
        return f"Traceback of forward call that {what}:\n{lines}"
    return (
        "No forward pass information available. Enable detect anomaly during forward pass for more information.\n"
        f"The forward was recorded here:\n{lines}"
    )


def _warn(text: str) -> None:
    try:
        warn_user(text)
    except UserWarning:
        print(f"UserWarning: {text}", file=sys.stderr)


def _of_all_examples(node: Node) -> Node:
    """`node`; inside `vmap`, its whole batch, which has values."""
    for batch in reversed(transforming().batches):
        if batch.holds(node):
            (node,) = batch.batches([node], [0])
    return node


def look_for_nan(node: Node, results: Sequence[Node | None]) -> None:
    """RuntimeError where the backward step of `node` gave a NaN."""
    numbers = [None if result is None else _of_all_examples(result) for result in results]
    evaluate([number for number in numbers if number is not None])
    for place, each in enumerate(numbers):
        if each is not None and np.isnan(np.asarray(each.value)).any():
            raise RuntimeError(
                f"Function '{node.gradient_name}' returned nan values in its {place}th output.\n"
                f"Its forward was recorded by {node.location}\n"
                "The gradient is infinite times zero there, or zero by zero: keep the value away from the edge, "
                "`x.clamp(min=1e-6)`, before that line and not after it."
            )

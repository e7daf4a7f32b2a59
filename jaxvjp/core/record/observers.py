"""Who wants to be told what a backward pass does: a recording of a story, as `explain` makes it.

While nobody listens, telling costs a look at an empty list.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Walked(NamedTuple):
    """A backward pass that has ended.

    Attributes:
        roots, cotangents: where it began; None for a cotangent of 1.
        gradients: for each leaf or target the node of its gradient, as it came out of the pass.
        before, after: for each whose `grad` was added to, the node that it showed before (None where there was none)
            and the one that it shows now.
        batched: along how many dimensions, before its own, each cotangent held several.
        create_graph: whether the gradients can be differentiated in turn.
    """

    roots: Sequence[Any]
    cotangents: Sequence[Any]
    gradients: Mapping[Any, Any]
    before: Mapping[Any, Any]
    after: Mapping[Any, Any]
    batched: int
    create_graph: bool


class Released(NamedTuple):
    """A backward pass without `retain_graph` has freed these nodes."""

    operations: Sequence[Any]


class Hooked(NamedTuple):
    """A tensor hook was called on the cotangent of `node`, and made `after` of it."""

    node: Any
    before: Any
    after: Any


class Stepped(NamedTuple):
    """A Python backward step made `results` from `cotangents`."""

    step: Any
    cotangents: Sequence[Any]
    results: Sequence[Any]


class Pulled(NamedTuple):
    """A part of the graph that ends at `outputs` was pulled back, in a way that can be differentiated again."""

    outputs: Sequence[Any]
    results: Sequence[Any]


class Unpacked(NamedTuple):
    """Saved-tensor hooks gave `nodes` back in the place of operands that `node` had saved."""

    node: Any
    nodes: Mapping[Any, Any]


class Cleared(NamedTuple):
    """The `grad` of a tensor was set: to a node, or to None."""

    tensor: Any
    node: Any


class Observers(threading.local):
    """Those of this thread."""

    def __init__(self) -> None:
        self.listening: list[Callable[[Any], None]] = []


observers = Observers()


def tell(event: Any) -> None:
    """Tells everyone who listens; ask `observers.listening` first, so that the event is not made in vain."""
    for each in list(observers.listening):
        each(event)

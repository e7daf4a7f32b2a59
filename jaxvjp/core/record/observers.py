"""Events, of backward passes and of each `grad` that is set, for functions that listen to them.

`explain.story` notes them, to write a program. While nobody listens, an event costs a look at an empty list
(`if listening(): tell(...)`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from jaxvjp.core.record.modes import listening


class Walked(NamedTuple):
    """A backward pass that has ended.

    Attributes:
        roots, cotangents: the outputs that it began at, and their cotangents; None for a cotangent of 1.
        gradients: for each leaf or target the node of its gradient.
        before, after: for each leaf whose `grad` was set, the node of its `grad` before (None without one) and after.
        batched: how many leading batch dimensions each cotangent has (`is_grads_batched`).
        create_graph: whether the gradients can be differentiated in turn.
        older: for each node at which a part of a leaf's gradient arrives, as the leaf was written between two uses, the
            node under which its gradient is told.
        accumulates: whether it is a `backward`. Where it reaches only leaves whose tensors are gone, `after` is empty.
    """

    roots: Sequence[Any]
    cotangents: Sequence[Any]
    gradients: Mapping[Any, Any]
    before: Mapping[Any, Any]
    after: Mapping[Any, Any]
    batched: int
    create_graph: bool
    older: Mapping[Any, Any] = {}
    accumulates: bool = False


class Released(NamedTuple):
    """A backward pass without `retain_graph` has freed these nodes: `operations`."""

    operations: Sequence[Any]


class Hooked(NamedTuple):
    """A tensor hook of `node` was called on the cotangent `before` and returned `after`."""

    node: Any
    before: Any
    after: Any


class StepHooked(NamedTuple):
    """The hooks of the backward step of `node`, no Python step, were called; `changed` says whether one has replaced a
    cotangent."""

    node: Any
    changed: bool


class Stepped(NamedTuple):
    """A Python backward step, such as a custom `Function.backward`, returned `results` for `cotangents`: it and its
    hooks."""

    step: Any
    cotangents: Sequence[Any]
    results: Sequence[Any]


class Transformed(NamedTuple):
    """The part of the graph from `arguments` to `outputs` was transformed as a whole, into nodes that carry it as a
    program: pulled back with `create_graph`, pushed forward, or batched. `results` is what they gave."""

    arguments: Sequence[Any]
    outputs: Sequence[Any]
    results: Sequence[Any]


class Unpacked(NamedTuple):
    """Saved-tensor hooks unpacked what `node` had saved: `nodes` maps each saved operand to what they returned."""

    node: Any
    nodes: Mapping[Any, Any]


class GradSet(NamedTuple):
    """The `grad` of a tensor was set: to a node, or to None."""

    tensor: Any
    node: Any


class Read(NamedTuple):
    """The value of `node` was read."""

    node: Any


class Placed(NamedTuple):
    """The position `number`, an operand of a view, is the value of `node`: `x[j]`, of a tensor j."""

    number: Any
    node: Any


class Unclear(NamedTuple):
    """A backward pass from the tensors `roots` was refused, for the v of `root`: `gradient`, or None; `text` is the
    error's."""

    roots: Any
    root: Any
    gradient: Any
    text: str


@contextmanager
def unheard() -> Iterator[None]:
    """A block of whose events nobody is told."""
    heard = [*listening()]
    listening().clear()
    try:
        yield
    finally:
        listening()[:] = heard


def tell(event: Any) -> None:
    """Calls everyone who listens. Ask `if listening()` first, so that no event is made for nobody."""
    for each in list(listening()):
        each(event)

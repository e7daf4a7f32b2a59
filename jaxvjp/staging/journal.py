"""What a step does while it is staged, to tensors that were there before it: `Journal`.

A `Journal` notes the writes of a step, can undo them, and refuses a step that cannot be staged.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import changed, staging
from jaxvjp.core.record.user_lines import Where, located, user_line
from jaxvjp.core.record.versions import Versions, next_serial
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.tensor.storage import Storage
from jaxvjp.tensor.tensor import Tensor

ADVICE = (
    "A staged step runs as one compiled program, and Python looks at nothing on the way. Return such a tensor and read "
    "it outside the step, or let a step that cannot be staged run as it is: `jaxvjp.jit(step, fullgraph=False)`."
)


class UnstageableError(RuntimeError):
    """A step did what a compiled program cannot."""


class uncollected:  # noqa: N801 - reads as a word: `with uncollected():`
    """A block without garbage collections, so that what is made in it is among the youngest objects."""

    def __enter__(self) -> None:
        self.enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self.enabled:
            gc.enable()


def _collections() -> int:
    return sum(each["collections"] for each in gc.get_stats())


PLACE = ("_storage", "_path", "_base_tensor", "_steps", "_unrecorded")
"""What says of a tensor where its contents are, and what it is a view of."""


class Journal:
    """What a step does, while it is staged, to tensors that were there before it.

    Attributes:
        start: when it began, in the order of recording; what is older comes from outside.
        nodes: for each tensor that shows another node by now, the one before.
        places: for each tensor that has been given other `data`, what it had of `PLACE` before.
        grads: for each tensor that has another `grad` by now, the one before.
        contents: for each storage that was written, the node of its contents before.
        counts: for each count of writes that went on, where it stood before.
        draws: leaves of random numbers, each with what draws it again.
        drawing: whether that is going on.
        asked: tensors whose `grad` was read.
        values: for roots of a backward pass, nodes that give their values from the same program.
        inspections: nodes with what looks at their values at every call, and raises where those are wrong.
        refused: why it cannot be staged, once that is known.
    """

    def __init__(self, strict: bool) -> None:
        self.start = next_serial()
        self.collections = _collections()
        self.strict = strict
        self.nodes: dict[Tensor, Node] = {}
        self.places: dict[Tensor, list[Any]] = {}
        self.grads: dict[Tensor, Tensor | None] = {}
        self.contents: dict[Storage, Node] = {}
        self.counts: dict[Versions, int] = {}
        self.draws: list[tuple[Node, Callable[[], Tensor]]] = []
        self.drawing = False
        self.asked: set[Tensor] = set()
        self.values: dict[Node, Node] = {}
        self.inspections: list[tuple[Node, Callable[[Any], Any]]] = []
        self.refused: UnstageableError | None = None

    def shows(self, tensor: Tensor) -> None:
        """`tensor` is about to show another node."""
        self.nodes.setdefault(tensor, tensor._node)

    def moves(self, tensor: Tensor) -> None:
        """`tensor` is about to be given other `data`."""
        self.places.setdefault(tensor, [getattr(tensor, each) for each in PLACE])

    def writes(self, tensor: Tensor) -> None:
        """The storage of `tensor` is about to be written."""
        storage, versions = tensor.storage, tensor.versions
        self.contents.setdefault(storage, storage.contents)
        self.counts.setdefault(versions, versions.count)

    def takes(self, tensor: Tensor) -> None:
        """`tensor` is about to get another `grad`."""
        self.grads.setdefault(tensor, tensor._grad)

    def asks(self, tensor: Tensor) -> None:
        """The `grad` of `tensor` is read."""
        self.asked.add(tensor)

    def walks(self, operations: Iterable[Node]) -> None:
        """A backward pass has gone through `operations`."""
        outside = next(filter(self.older, operations), None)
        if outside is not None:
            self.refuse(
                "goes back through a graph that was there before it, and will not be there again", outside.where
            )

    def drawn(self, draw: Callable[[], Tensor]) -> Tensor:
        """A leaf of random numbers, which each later call draws anew."""
        self.drawing = True
        try:
            made = draw()
        finally:
            self.drawing = False
        self.draws.append((made._node, draw))
        return made

    def before(self, tensor: Tensor) -> Node:
        """The node that a tensor from outside showed when the step began."""
        return self.nodes.get(tensor, tensor._node)

    def grad_before(self, tensor: Tensor) -> Tensor | None:
        """The `grad` that a tensor from outside had when the step began."""
        return self.grads.get(tensor, tensor._grad)

    def older(self, node: Node) -> bool:
        """Whether a node was there before the step."""
        return node.serial < self.start

    def left_behind(self, known: set[Tensor]) -> list[Tensor]:
        """The tensors made in the step that outlive it, besides those `known`: as an attribute, say, or in a list."""
        # What is noted of tensors made in the step would hold them.
        self.nodes = {each: node for each, node in self.nodes.items() if self.older(node)}
        self.places = {each: place for each, place in self.places.items() if each in self.nodes}
        self.grads = {each: grad for each, grad in self.grads.items() if self.older(self.before(each))}
        self.asked = {each for each in self.asked if self.older(self.before(each))}
        if _collections() == self.collections and not self._made(gc.get_objects(generation=0), known):
            return []
        gc.collect()  # it may be garbage
        return self._made(gc.get_objects(), known)

    def _made(self, objects: list[Any], known: set[Tensor]) -> list[Tensor]:
        return [
            each
            for each in objects
            if issubclass(type(each), Tensor)
            and getattr(each, "_node", None) is not None  # another thread is making it
            and not self.older(self.before(each))
            and each._node.tensor is each  # and not one that only shows what is another's
            and each not in known
        ]

    def refuse(self, what: str, where: Where = None) -> None:
        """Ends the staging because the step `what`: by an error if that was asked for, else it just goes on."""
        staging().journal = None
        line = located(user_line(sys._getframe(1)) if where is None else where)
        told = "" if line is None else f"\nThat is {line}"
        self.refused = UnstageableError(f"This step cannot be staged, for it {what}.{told}\n{ADVICE}")
        if self.strict:
            raise self.refused
        self.inspect()

    def inspect(self) -> None:
        """Has the values looked at that this call came to."""
        for node, check in self.inspections:
            evaluate([node])
            check(np.asarray(node.value))

    def undo(self) -> None:
        """Puts back what the step changed."""
        for tensor, place in self.places.items():
            for name, value in zip(PLACE, place, strict=True):
                setattr(tensor, name, value)
        for written, node in self.contents.items():
            written.contents = node
        for tensor, node in self.nodes.items():
            tensor.show_instead(node)
        for versions, count in self.counts.items():
            versions.count = count
        for tensor, grad in self.grads.items():
            tensor._grad = grad
        changed()

"""What a step does while it is staged, to tensors that were there before it: `Journal`.

A `Journal` notes what a step writes to tensors that it did not make, can undo that, and refuses a step that cannot be
staged.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import count_change, staging
from jaxvjp.core.record.user_lines import UserLine, located, user_line
from jaxvjp.core.record.versions import Versions, next_serial
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.tensor.storage import Storage
from jaxvjp.tensor.tensor import Tensor

ADVICE = (
    "A staged step runs as one compiled program, and Python looks at nothing on the way. Return such a tensor and read "
    "it outside the step, or let a step that cannot be staged run as it is: `jaxvjp.jit(step, fullgraph=False)`."
)


class UnstageableError(RuntimeError):
    """A step did what a compiled program cannot do, for example `if loss > 1`."""


def _collections() -> int:
    return sum(each["collections"] for each in gc.get_stats())


STORAGE_ATTRIBUTES = ("__storage__", "__own_path__", "__base_tensor__", "__steps__", "__unrecorded__")
"""Attributes of a tensor that say which storage holds its contents, and of what it is a view."""


class Journal:
    """Notes what a step changes while it is staged, so that it can be undone, or repeated by a program.

    Attributes:
        start: the step's first number in the order of recording; nodes with lower numbers come from outside.
        nodes: for each tensor whose `_node` was replaced, the node before.
        places: for each tensor whose `data` was set, the attributes of `STORAGE_ATTRIBUTES` before.
        grads: for each tensor whose `grad` was replaced, the `grad` before.
        contents: for each storage that was written, the node of its contents before.
        counts: for each write counter (`_version`) that rose, its value before.
        draws: leaves of random numbers, each with the function that draws it again.
        drawing: whether random numbers are being drawn right now.
        asked: tensors whose `grad` was read.
        values: for roots of a backward pass, the nodes of the backward program that have the same values.
        inspections: nodes, each with a check of its value that runs at every call and raises torch's error.
        refused: why the step cannot be staged; None while it can.
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

    def note_node(self, tensor: Tensor) -> None:
        """Notes that the `_node` of `tensor` is about to be replaced."""
        self.nodes.setdefault(tensor, tensor.__shown__)

    def note_place(self, tensor: Tensor) -> None:
        """Notes that the `data` of `tensor` is about to be set."""
        self.places.setdefault(tensor, [getattr(tensor, each) for each in STORAGE_ATTRIBUTES])

    def note_write(self, tensor: Tensor) -> None:
        """Notes that the storage of `tensor` is about to be written."""
        self.contents.setdefault(tensor.storage, tensor.storage.contents)
        self.note_count(tensor.__versions__)

    def note_count(self, versions: Versions) -> None:
        """Notes that a write in place is about to be counted."""
        self.counts.setdefault(versions, versions.count)

    def note_new_grad(self, tensor: Tensor) -> None:
        """Notes that the `grad` of `tensor` is about to be replaced."""
        self.grads.setdefault(tensor, tensor._grad)

    def note_read_grad(self, tensor: Tensor) -> None:
        """Notes that the `grad` of `tensor` is read."""
        self.asked.add(tensor)

    def note_walk(self, operations: Iterable[Node]) -> None:
        """Notes that a backward pass has gone through `operations`."""
        outside = next(filter(self.older, operations), None)
        if outside is not None:
            self.refuse(
                "goes back through a graph that was there before it, and will not be there again", outside.where
            )

    def draw(self, draw: Callable[[], Tensor]) -> Tensor:
        """Draws random numbers as a leaf, and notes `draw` for later calls."""
        self.drawing = True
        try:
            made = draw()
        finally:
            self.drawing = False
        self.draws.append((made.__shown__, draw))
        return made

    def before(self, tensor: Tensor) -> Node:
        """The `_node` that a tensor from outside had when the step began."""
        return self.nodes.get(tensor, tensor.__shown__)

    def grad_before(self, tensor: Tensor) -> Tensor | None:
        """The `grad` that a tensor from outside had when the step began."""
        return self.grads.get(tensor, tensor._grad)

    def older(self, node: Node) -> bool:
        """Whether a node was there before the step."""
        return node.serial < self.start

    def left_behind(self, known: set[Tensor]) -> list[Tensor]:
        """The tensors made in the step that outlive it, besides those `known`: as an attribute, say, or in a list."""
        # Notes about tensors made in the step would keep them alive.
        self.nodes = {each: node for each, node in self.nodes.items() if self.older(node)}
        self.places = {each: place for each, place in self.places.items() if each in self.nodes}
        self.grads = {each: grad for each, grad in self.grads.items() if self.older(self.before(each))}
        self.asked = {each for each in self.asked if self.older(self.before(each))}
        if _collections() == self.collections and not self._made(gc.get_objects(generation=0), known):
            return []
        gc.collect()  # what only a cycle holds does not outlive the step
        return self._made(gc.get_objects(), known)

    def _made(self, objects: list[Any], known: set[Tensor]) -> list[Tensor]:
        return [
            each
            for each in objects
            if issubclass(type(each), Tensor)
            and getattr(each, "__shown__", None) is not None  # another thread is making it
            and not self.older(self.before(each))
            and each.__shown__.tensor is each  # and not another handle of some tensor, such as a view's base
            and each not in known
        ]

    def refuse(self, what: str, where: UserLine = None) -> None:
        """Ends the staging because the step `what` ("reads a value"): by an error under `fullgraph`, else silently."""
        staging().journal = None
        # What runs from here on is no part of the step: to name a line, IPython is asked for its cells.
        self.refused = UnstageableError(what)
        line = located(user_line(sys._getframe(1)) if where is None else where)
        told = "" if line is None else f"\nThat is {line}"
        self.refused = UnstageableError(f"This step cannot be staged, for it {what}.{told}\n{ADVICE}")
        if self.strict:
            raise self.refused
        self.inspect()

    def inspect(self) -> None:
        """Runs the noted checks on the values of this call."""
        for node, check in self.inspections:
            evaluate([node])
            check(np.asarray(node.value))

    def undo(self) -> None:
        """Puts back what the step changed."""
        for tensor, place in self.places.items():
            for name, value in zip(STORAGE_ATTRIBUTES, place, strict=True):
                setattr(tensor, name, value)
        for written, node in self.contents.items():
            written.contents = node
        for tensor, node in self.nodes.items():
            tensor.__replace_node__(node)
        for versions, count in self.counts.items():
            versions.count = count
        for tensor, grad in self.grads.items():
            tensor._grad = grad
        count_change()

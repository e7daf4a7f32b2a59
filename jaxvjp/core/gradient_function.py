"""The backward graph, to walk: `y.grad_fn`, its `name()` and `next_functions`. `engine` comes before this room."""

from __future__ import annotations

from typing import Any

from jaxvjp.core.engine import gradient_edges
from jaxvjp.core.graph import Node
from jaxvjp.ops.identity import item


class GradientFunction:
    """A step of the backward graph, as torch's `grad_fn`: it turns the cotangent of a result into those of its inputs.

    Underneath it is a node of the recorded graph. Two for one step are equal.
    """

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        self._node = node

    def name(self) -> str:
        """torch's name for it, such as `MulBackward0`."""
        return self._node.gradient_name

    @property
    def next_functions(self) -> tuple[tuple[GradientFunction | None, int], ...]:
        """The steps that the cotangents of the inputs go to, in the order of the inputs; None for a constant."""
        if self._node.is_leaf:
            return ()
        reached = set(gradient_edges(self._node))
        edges = self._node.inputs if self._node.edges is None else self._node.edges
        return tuple((GradientFunction(each), each.output_number) if each in reached else (None, 0) for each in edges)

    @property
    def _step(self) -> object:
        """What the nodes of all results of one step have in common."""
        return self._node.inputs[0] if self._node.operation is item else self._node.python or self._node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GradientFunction) and other._step is self._step

    def __hash__(self) -> int:
        return hash(self._step)

    def __getattr__(self, name: str) -> Any:
        """What a custom Function keeps in its `ctx`, which in torch is this object."""
        ctx = getattr(self._node.python, "ctx", None)
        if ctx is None:
            raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")
        return getattr(ctx, name)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self._node):#x}>"

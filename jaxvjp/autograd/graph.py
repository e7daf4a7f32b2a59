"""The backward graph, to walk and to hook: `y.grad_fn`; the names of `torch.autograd.graph`.

`core.engine` and `tensor` come before this room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxvjp.core.engine import gradient_edges
from jaxvjp.core.graph import Cotangents, Node, StepHooks
from jaxvjp.hooks import RemovableHandle
from jaxvjp.tensor import Tensor, checked_replacement, wrap


class GradientFunction:
    """A step of the backward graph, as torch's `grad_fn`: it turns the cotangent of a result into those of its inputs.

    Underneath it is a node of the recorded graph. Two for one node are equal.
    """

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        self._node = node

    def name(self) -> str:
        """torch's name for it, such as `MulBackward0`."""
        return self._node.qualified_name

    @property
    def next_functions(self) -> tuple[tuple[GradientFunction | None, int], ...]:
        """The steps that the cotangents of the inputs go to, in the order of the inputs; None for a constant."""
        if self._node.is_leaf:
            return ()
        reached = set(gradient_edges(self._node))
        edges = self._node.inputs if self._node.edges is None else self._node.edges
        return tuple((GradientFunction(each) if each in reached else None, 0) for each in edges)

    @property
    def variable(self) -> Any:
        """The leaf that an `AccumulateGrad` step adds to; AttributeError for any other step."""
        if not self._node.is_leaf:
            raise AttributeError(f"'{self.name()}' object has no attribute 'variable'")
        return self._node.tensor

    def register_prehook(self, hook: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
        """Calls `hook(grad_outputs)` before this step; a tuple that it returns replaces them."""
        return RemovableHandle(self._hooks().before, hook)

    def register_hook(self, hook: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> RemovableHandle:
        """Calls `hook(grad_inputs, grad_outputs)` after this step; a tuple that it returns replaces `grad_inputs`."""
        return RemovableHandle(self._hooks().after, hook)

    def _hooks(self) -> StepHooks:
        if self._node.is_leaf:
            raise RuntimeError(
                "a hook of an AccumulateGrad step is one of its leaf here.\n"
                "`x.register_hook(...)` sees the gradient before it is added, "
                "`x.register_post_accumulate_grad_hook(...)` the leaf after."
            )
        if self._node.step_hooks is None:
            self._node.step_hooks = StepHooks({}, {}, _called)
        return self._node.step_hooks

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GradientFunction) and other._node is self._node

    def __hash__(self) -> int:
        return hash(self._node)

    def __repr__(self) -> str:
        return f"<{self._node.gradient_name} object at {id(self._node):#x}>"


def _called(hook: Callable[..., Any], cotangents: Cotangents, arrived: Cotangents | None) -> Cotangents:
    """What a step's hook makes of the cotangents; `arrived` those on its other side, for a hook that sees both."""
    sides = [tuple(None if each is None else wrap(each) for each in side) for side in (cotangents, arrived or [])]
    returned = hook(sides[0]) if arrived is None else hook(*sides)
    if returned is None:
        return cotangents
    replaced = returned if isinstance(returned, tuple) else (returned,)
    if len(replaced) != len(cotangents):
        raise RuntimeError(
            f"hook '{getattr(hook, '__name__', type(hook).__name__)}' has returned an incorrect number of values (got "
            f"{len(replaced)}, but expected {len(cotangents)})"
        )
    return [
        each if new is None or each is None else checked_replacement(hook, new, each)
        for each, new in zip(cotangents, replaced, strict=True)
    ]


def _grad_fn(self: Tensor) -> GradientFunction | None:
    """The step of the backward graph that made this tensor; None for a leaf."""
    node = self.node
    return None if node.is_leaf else GradientFunction(node)


Tensor.grad_fn = property(_grad_fn)

"""The backward graph, to walk and to hook (`y.grad_fn`), and hooks on what it saves: `torch.autograd.graph`'s names.

`tensor` comes before this room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxvjp.core.evaluation import evaluate
from jaxvjp.core.graph import Cotangents, Node, StepHooks, record
from jaxvjp.core.modes import grad_mode, recording
from jaxvjp.creation import tensor
from jaxvjp.hooks import RemovableHandle
from jaxvjp.ops.identity import item, rebind
from jaxvjp.tensor import Tensor, blank, checked_replacement, wrap


class GradientFunction:
    """A step of the backward graph, as torch's `grad_fn`: it turns the cotangent of a result into those of its inputs.

    Underneath it is a node of the recorded graph. Two for one step are equal.
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
        edges = self._node.inputs if self._node.edges is None else self._node.edges
        reached = [each if isinstance(each, Node) and each.requires_grad else None for each in edges]
        return tuple((None, 0) if each is None else (GradientFunction(each), each.output_number) for each in reached)

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
            hooks = StepHooks({}, {}, _called)
            python = self._node.python
            for each in [self._node] if python is None else python.outputs:
                if each is not None:
                    each.step_hooks = hooks
            return hooks
        return self._node.step_hooks

    def __getattr__(self, name: str) -> Any:
        """What a custom Function keeps in its `ctx`, which in torch is this object."""
        ctx = getattr(self._node.python, "ctx", None)
        if ctx is None:
            raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")
        return getattr(ctx, name)

    @property
    def _step(self) -> object:
        """What the nodes of all results of one step have in common."""
        return self._node.inputs[0] if self._node.operation is item else self._node.python or self._node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GradientFunction) and other._step is self._step

    def __hash__(self) -> int:
        return hash(self._step)

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


class saved_tensors_hooks:  # noqa: N801 - torch's name
    """Has `pack_hook` called on every tensor that is saved for a backward in this block, `unpack_hook` in the backward.

    What `pack_hook` returns is kept in the tensor's place, and what `unpack_hook` makes of it is differentiated at.
    RuntimeError where a *result* (that of `exp`, say) comes back changed: jaxvjp computes it again from the operand.

    Counterpart of `torch.autograd.graph.saved_tensors_hooks`; the functional form is a choice of residuals, as
    `jax.checkpoint`'s `policy` makes it.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if _disabled:
            raise RuntimeError(_disabled[-1])
        self._outer = grad_mode.saving
        grad_mode.saving = self

    def __exit__(self, *_: object) -> None:
        grad_mode.saving = self._outer

    def __call__(self, node: Node) -> _Kept:
        """Packs what a node saves (`core.graph.GradMode.saving`)."""
        return _Kept(self, node)

    def packed(self, node: Node) -> Any:
        """What `pack_hook` makes of a saved tensor."""
        grad_mode.saving, outer = None, grad_mode.saving
        try:
            with recording(False):
                return _packed(self.pack_hook, node)
        finally:
            grad_mode.saving = outer

    def unpacked(self, kept: Any) -> Tensor:
        """What `unpack_hook` makes of that; TypeError where it is no tensor."""
        unpacked = self.unpack_hook(kept)
        if not isinstance(unpacked, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(unpacked).__name__}"
            )
        return unpacked


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - torch's name
    """Keeps what is saved in this block in the host's memory. Counterpart of `torch.autograd.graph.save_on_cpu`."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda saved: saved.detach().numpy(), tensor)


class disable_saved_tensors_hooks:  # noqa: N801 - torch's name
    """Has saved-tensor hooks raise RuntimeError(`error_message`) in this block."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        if grad_mode.saving is not None:
            raise RuntimeError(self.error_message)
        _disabled.append(self.error_message)

    def __exit__(self, *_: object) -> None:
        _disabled.pop()


_disabled: list[str] = []


class _Kept:
    """What the hooks keep of the tensors that one node saved (`core.graph.Packed`)."""

    def __init__(self, hooks: saved_tensors_hooks, node: Node) -> None:
        self.hooks = hooks
        saved = [(node if place is None else node.inputs[place], place is None) for place in node.saved()]
        self.kept = [(each, is_result, hooks.packed(each)) for each, is_result in saved if isinstance(each, Node)]

    def __call__(self, create_graph: bool) -> dict[Node, Node]:
        replaced: dict[Node, Node] = {}
        for node, is_result, kept in self.kept:
            unpacked = self.hooks.unpacked(kept)
            if is_result:
                _check_unchanged(node, unpacked)
            else:
                replaced[node] = record(rebind, (node, unpacked.node)) if create_graph else unpacked.node
        return replaced


def _packed(pack: Callable[[Tensor], Any], node: Node) -> Any:
    saved = blank(node)
    before = saved.versions.count
    kept = pack(saved)
    if saved.versions.count != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
            "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input to a pack hook."
        )
    return kept


def _check_unchanged(node: Node, unpacked: Tensor) -> None:
    evaluate((node,))
    if not np.array_equal(np.asarray(node.value), np.asarray(unpacked.value), equal_nan=node.aval.dtype.differentiable):
        raise RuntimeError(
            f"an unpack hook changed the saved result of {node.gradient_name}, which jaxvjp computes anew.\n"
            f"It was recorded by {node.location}\nLeave results as they are; operands may be changed."
        )


def _grad_fn(self: Tensor) -> GradientFunction | None:
    """The step of the backward graph that made this tensor; None for a leaf."""
    node = self.node
    return None if node.is_leaf else GradientFunction(node)


Tensor.grad_fn = property(_grad_fn)

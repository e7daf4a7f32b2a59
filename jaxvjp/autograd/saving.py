"""What is saved for a backward: hooks that replace it, and writes that leave it valid.

They are public as names of `autograd.graph`, as in torch.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from jaxvjp.core.record.blocks import Block
from jaxvjp.core.record.graph import Node, recording_order
from jaxvjp.core.record.modes import grad_mode, tracking
from jaxvjp.core.record.promotion import converted
from jaxvjp.core.record.record import record
from jaxvjp.core.record.saves import count_of_writes, saved_positions, shows_overwritten
from jaxvjp.core.record.versions import next_serial
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.library.creation import tensor
from jaxvjp.ops.identity import rebind
from jaxvjp.ops.op import Aval
from jaxvjp.tensor.tensor import Tensor, wrap, wrap_unlinked

UNDERNEATH = "no JAX: what the recorded graph keeps, where `jax.vjp` has residuals"


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
        if grad_mode().refusing is not None:
            raise RuntimeError(grad_mode().refusing)
        _entered.outer.append(grad_mode().saving)
        grad_mode().saving = self

    def __exit__(self, *_: object) -> None:
        grad_mode().saving = _entered.outer.pop()

    def __call__(self, node: Node, positions: Sequence[int | None] | None = None) -> _Kept:
        """Packs what a node saves (`core.record.modes.GradMode.saving`), or its operands of these positions."""
        kept = _Kept()
        for position in saved_positions(node) if positions is None else positions:
            kept.keep(self, node, position)
        return kept

    def __pack__(self, node: Node) -> Any:
        """The result of `pack_hook` for a saved tensor."""
        grad_mode().saving, outer = None, grad_mode().saving
        try:
            with tracking(False):
                return _packed(self.pack_hook, node)
        finally:
            grad_mode().saving = outer

    def __unpack__(self, kept: Any) -> Tensor:
        """The result of `unpack_hook` for a packed object; TypeError if that is no tensor."""
        saving, outer = grad_mode().saving, list(_entered.outer)
        try:
            unpacked = self.unpack_hook(kept)
        finally:  # a block that the hook enters or leaves is none of the walk's
            grad_mode().saving, _entered.outer = saving, outer
        if not isinstance(unpacked, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(unpacked).__name__}"
            )
        return unpacked


class _Entered(threading.local):
    """The hooks around the innermost ones of this thread, the outermost (None) first."""

    def __init__(self) -> None:
        self.outer: list[Any] = []


_entered = _Entered()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - torch's name
    """Keeps what is saved in this block in the host's memory. Counterpart of `torch.autograd.graph.save_on_cpu`."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda saved: saved.detach().__numbers__(), tensor)


class disable_saved_tensors_hooks(Block):  # noqa: N801 - torch's name
    """Has saved-tensor hooks raise RuntimeError(`error_message`) in this block."""

    def __init__(self, error_message: str) -> None:
        super().__init__(refusing=error_message)

    def __check__(self) -> None:
        if grad_mode().saving is not None:
            raise RuntimeError(self.__settings__["refusing"])


class _Kept:
    """What hooks keep of the tensors that one node saved (`core.record.steps.Packed`)."""

    def __init__(self) -> None:
        self.kept: dict[int | None, tuple[Node, saved_tensors_hooks, Any]] = {}

    def keep(self, hooks: saved_tensors_hooks, node: Node, position: int | None) -> None:
        """Packs the operand of `node` of that position, or with None its result."""
        saved = node if position is None else node.inputs[position]
        if isinstance(saved, Node) and type(saved.aval) is Aval:
            self.kept[position] = saved, hooks, hooks.__pack__(saved)

    def __call__(self, create_graph: bool) -> dict[int, Node]:
        replaced: dict[int, Node] = {}
        for position, (node, hooks, kept) in self.kept.items():
            unpacked = hooks.__unpack__(kept)
            if position is None:
                _check_unchanged(node, unpacked)
                continue
            if unpacked.shape != node.aval.shape:
                raise RuntimeError(
                    f"an unpack hook returned a tensor of shape {list(unpacked.shape)} for a saved tensor of shape "
                    f"{list(node.aval.shape)}\nIt has to return what `pack_hook` was given, or a tensor like it."
                )
            fitting = converted(unpacked.__node__, node.aval.dtype)
            replaced[position] = record(rebind, (node, fitting)) if create_graph else fitting
        return replaced

    def shown(self, position: int | None) -> Tensor | None:
        """What the unpack hook makes, now, of what was saved, the operand of that position or the result; None without
        hooks."""
        if position not in self.kept:
            return None
        node, hooks, kept = self.kept[position]
        with tracking(True):
            return wrap(record(rebind, (node, hooks.__unpack__(kept).__node__)))


class SavedTensor:
    """A tensor that a step keeps for its backward, `y.grad_fn._raw_saved_self`, to set hooks for it alone.

    Counterpart of `torch.autograd.SavedTensor`. RuntimeError for who makes one.
    """

    _register: Callable[[saved_tensors_hooks], None]

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    def register_hooks(self, *hooks: Any) -> None:
        """Sets the `pack_hook`, which is called now, and the `unpack_hook`, as `saved_tensors_hooks` has them.

        TypeError for what is no function; RuntimeError where there are hooks already, or the graph was freed.
        """
        if len(hooks) != 2 or not all(map(callable, hooks)):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types are supported:\n"
                "    1. (self: SavedTensor, arg0: collections.abc.Callable, arg1: collections.abc.Callable) -> None\n\n"
                f"Invoked with: {', '.join(map(repr, (self, *hooks)))}"
            )
        self._register(saved_tensors_hooks(*hooks))


def saved_tensor(register: Callable[[saved_tensors_hooks], None]) -> SavedTensor:
    """One for which `register(hooks)` sets hooks."""
    saved = SavedTensor.__new__(SavedTensor)
    saved._register = register
    return saved


def saved_tensor_of_step(node: Node, position: int | None) -> SavedTensor:
    """The operand of that position of a node, or its result."""

    def register(hooks: saved_tensors_hooks) -> None:
        kept: Any = node.packed if node.packed is not None else _Kept()
        check_hooks_settable(node.freed, True, position in kept.kept)
        kept.keep(hooks, node, position)
        node.packed = kept

    return saved_tensor(register)


def check_hooks_settable(freed: bool, is_tensor: bool, is_set: bool) -> None:
    """RuntimeError, in torch's words, where no hooks can be set for a saved tensor."""
    why = ""
    if freed:
        why = (
            "after it has been freed. Saved intermediate values of the graph are freed when you call .backward() or "
            "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
            "you need to access saved variables after calling backward."
        )
    elif not is_tensor:
        why = "with value None is forbidden"
    elif is_set:
        why = "whose hooks have already been set. Hint: only one pair of hooks is allowed at a time."
    if why:
        raise RuntimeError(f"Calling register_hooks on a saved tensor {why}")


def _packed(pack: Callable[[Tensor], Any], node: Node) -> Any:
    saved = wrap_unlinked(node)
    saved.__own_versions__ = count_of_writes(node)
    before = saved.__versions__.count
    kept = pack(saved)
    if saved.__versions__.count != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
            "be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if "
            "you need to perform in-place operations on the input to a pack hook."
        )
    return kept


def _check_unchanged(node: Node, unpacked: Tensor) -> None:
    evaluate((node,))
    if not np.array_equal(
        np.asarray(node.value), np.asarray(unpacked.__value__), equal_nan=node.aval.dtype.differentiable
    ):
        raise RuntimeError(
            f"an unpack hook changed the saved result of {node.gradient_name}, which jaxvjp computes anew.\n"
            f"It was recorded by {node.location}\nLeave results as they are; operands may be changed."
        )


class allow_mutation_on_saved_tensors:  # noqa: N801 - torch's name
    """In this block a saved tensor may be written in place, and its gradient is that of the values that were saved.

    RuntimeError inside another such block. Counterpart of `torch.autograd.graph.allow_mutation_on_saved_tensors`,
    which copies what is written to; here values never change, so that the block only has to switch the error off, for
    a graph that was recorded, and is walked, inside.
    """

    def __init__(self) -> None:
        self.begins = 0
        self.recorded: WeakSet[Node] = WeakSet()

    def __enter__(self) -> allow_mutation_on_saved_tensors:
        if grad_mode().mutation is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self.begins = next_serial()
        grad_mode().mutation = self
        return self

    def __exit__(self, *_: object) -> None:
        grad_mode().mutation = None
        self.clear()

    @property
    def cloned(self) -> dict[Node, Tensor]:
        """What the graph of this block has saved and was written since, with the values that it saved."""
        nodes = sorted(self.recorded, key=recording_order)
        nodes = [each for each in nodes if each.requires_grad and not each.freed]
        saved = [node if place is None else node.inputs[place] for node in nodes for place in saved_positions(node)]
        written = [each for each in saved if isinstance(each, Node) and shows_overwritten(each) is not None]
        return {each: wrap_unlinked(each) for each in written}

    def clear(self) -> None:
        """Forgets what was saved; as there are no copies to give up, its gradient stays."""
        self.recorded.clear()


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Counts a write to a tensor, or to each of several, that jaxvjp did not see: earlier saved values become invalid.

    Counterpart of `torch.autograd.graph.increment_version`.
    """
    listed: Any = [tensor] if isinstance(tensor, Tensor) else tensor
    if not isinstance(listed, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for each in listed:
        base = each if each.__base_tensor__ is None else each.__base_tensor__
        same = copy.copy(base.__node__)
        same.serial = next_serial()
        base.__write__(same)

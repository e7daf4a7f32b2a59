"""`ctx`: what a custom Function's `forward` leaves for its `backward`.

`FunctionCtx` has the methods that a `forward` calls; `SavedTensor` keeps a tensor, with torch's check that nobody wrote
to it meanwhile. The saved tensors are what JAX calls the residuals of a `jax.custom_vjp`.
"""

from __future__ import annotations

from typing import Any, Protocol
from weakref import ref

from jaxvjp.autograd.saving import SavedTensor as RawSaved
from jaxvjp.autograd.saving import check_hooks_settable, saved_tensor, saved_tensors_hooks
from jaxvjp.core.derive.saved import FREED, instead
from jaxvjp.core.record.graph import Node, hold
from jaxvjp.core.record.modes import grad_mode, tracking
from jaxvjp.core.record.record import record
from jaxvjp.core.record.saves import check_savable
from jaxvjp.core.record.user_lines import located
from jaxvjp.ops.identity import rebind
from jaxvjp.tensor.tensor import Tensor, wrap, wrap_unlinked
from jaxvjp.types.user_code import warn_user


class OutputsByPosition(Protocol):
    """An object that returns the outputs of a Function's call (`autograd.function_step.FunctionStep`)."""

    name: str

    def output_node(self, position: int) -> Node: ...


class SavedTensor:
    """One saved tensor, and the count of writes to it at that time.

    For an output only the value is kept: its node holds the step, the step holds `ctx`, and `ctx` holds this object, so
    to keep the node would make a cycle.
    """

    __slots__ = ("hooks", "node", "packed", "position", "tensor", "version")

    def __init__(self, tensor: Tensor, value: Node | None = None, position: int | None = None) -> None:
        """`value` and `position` are given for an output."""
        node = tensor.__node__ if value is None else value
        check_savable([node])
        self.node = node
        self.tensor = tensor if value is None else aliased(tensor, value)
        self.hooks = grad_mode().saving
        self.packed = None if self.hooks is None else self.hooks.__pack__(node)
        self.position = position
        self.version = tensor.__versions__.count

    def unpacked(self, step: OutputsByPosition | None) -> Tensor:
        """The tensor again, with its place in the graph; RuntimeError where it was written to since.

        Its value comes from the saved-tensor hooks, if there were any when it was saved.
        """
        tensor = self.tensor
        if self.hooks is not None:
            given: Tensor = self.hooks.__unpack__(self.packed)
            node = tensor.__node__ if self.position is None or step is None else step.output_node(self.position)
            if not node.requires_grad:
                return given
            with tracking(True):
                return wrap(record(rebind, (node, given.__node__)))
        version = tensor.__versions__.count
        block = grad_mode().mutation
        if version != self.version and block is not None and self.node.serial > block.begins:
            return wrap_unlinked(
                self.node if self.position is None or step is None else step.output_node(self.position)
            )
        if version != self.version:
            raise RuntimeError(self._modified(version, step))
        if self.position is None or step is None:
            return tensor
        node = step.output_node(self.position)
        if node.held():
            held: Tensor = node.tensor
            return held
        shown = aliased(tensor, node)
        hold(node, shown)
        return shown

    def _modified(self, version: int, step: OutputsByPosition | None) -> str:
        node = self.tensor.__node__
        which = ""
        if self.position is not None and step is not None:
            which = f", which is output {self.position} of {step.name.partition('Backward')[0]},"
        elif not node.is_leaf:
            which = f", which is output {node.output_number} of {node.forward_name},"
        return (
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[torch.{node.aval.dtype.legacy}Tensor {list(node.aval.shape)}]{which} is at version {version}; expected "
            f"version {self.version} instead. Hint: enable anomaly detection to find the operation that failed to "
            "compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).\n"
            "It was saved by the custom Function's ctx and changed in place by "
            f"{located(self.tensor.__versions__.where)}\n"
            f"{instead(self.tensor.__versions__.where, 'or save a copy: ctx.save_for_backward(y.clone())')}."
        )


def aliased(tensor: Tensor, node: Node) -> Tensor:
    """Another tensor over the storage of `tensor`, which shows `node`."""
    alias = wrap_unlinked(node)
    alias.__storage__ = tensor.storage
    alias.__seen__ = tensor.storage.version
    alias.__base_tensor__, alias.__steps__, alias.__own_path__ = (
        tensor.__base_tensor__,
        tensor.__steps__,
        tensor.__own_path__,
    )
    alias.__own_versions__ = tensor.__versions__
    return alias


class FunctionCtx:
    """What `forward` (or `setup_context`) tells `backward`: saved tensors, marks, and whatever attributes one sets.

    Counterpart of `torch.autograd.function.FunctionCtx`.

    Attributes:
        needs_input_grad: for each argument of `forward`, whether it requires a gradient.
    """

    needs_input_grad: tuple[bool, ...]

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps inputs, outputs or other tensors for `backward`, until the graph is freed; None stays None.

        The last call counts. `apply` raises TypeError for what is no tensor: other values go into attributes.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for `jvp`; AssertionError for what is no tensor."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                    "on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says which inputs `forward` wrote to: each has to be returned, and becomes an output itself."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says which outputs have no gradient; `backward` still gets a cotangent for each of them, of zeros."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` and `jvp` get zeros (True, as it starts) or None where there is no cotangent."""
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - got (), but expected (bool)\n"
                f"It was given {value!r}."
            )
        self.materialize_grads = value


class BackwardCFunction(FunctionCtx):
    """A `FunctionCtx` as `backward` and `jvp` get it: what was saved can be read.

    Each Function has its own subclass, named after it; the user never makes one. Counterpart of
    `torch.autograd.function.BackwardCFunction`.
    """

    _forward_cls: Any
    needs_input_grad: tuple[bool, ...] = ()
    to_save: tuple[Any, ...] = ()
    saved_for_forward: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    materialize_grads = _materialize_non_diff_grads = True
    __saved__: tuple[SavedTensor | None, ...] = ()
    __saved_for_forward__: tuple[SavedTensor | None, ...] = ()
    __in_jvp__ = False
    __freed__ = False
    __accessed__ = False
    __step__: ref[Any] | None = None
    __generated__ = False

    def name(self) -> str:
        """torch's name for the backward step: that of the Function and `Backward`; inside of a transform such as
        `func.grad`, which makes a Function of this one, and `GeneratedBackward`."""
        own = type(self).__name__
        return own.removesuffix("Backward") + "GeneratedBackward" if self.__generated__ else own

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The old name of `saved_tensors`."""
        warn_user("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` kept (in `jvp`, what `save_for_forward` kept).

        RuntimeError once the graph is freed, and where a saved tensor was modified in place after it was saved.
        """
        if self.__freed__:
            raise RuntimeError(FREED + "\nIt was ctx that saved them; `y.backward(retain_graph=True)` keeps them.")
        step = None if self.__step__ is None else self.__step__()
        saved = self.__saved_for_forward__ if self.__in_jvp__ else self.__saved__
        tensors = tuple(None if each is None else each.unpacked(step) for each in saved)
        if self._forward_cls.clear_saved_tensors_on_access and not self.__in_jvp__:
            if self.__accessed__:
                raise RuntimeError(
                    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                    "autograd.Function. Either access saved_tensors only once, or set "
                    "clear_saved_tensors_on_access=False."
                )
            self.__accessed__, self.__saved__ = True, ()
        return tensors

    @property
    def _raw_saved_tensors(self) -> tuple[RawSaved, ...]:
        """What `save_for_backward` kept, without unpacking it: to set hooks of each."""
        if self.__freed__:
            raise RuntimeError(FREED)

        def setting(saved: SavedTensor | None) -> RawSaved:
            def register(hooks: saved_tensors_hooks) -> None:
                check_hooks_settable(self.__freed__, saved is not None, saved is not None and saved.hooks is not None)
                if saved is not None:
                    saved.packed = hooks.__pack__(saved.node)
                    saved.hooks = hooks

            return saved_tensor(register)

        return tuple([setting(each) for each in self.__saved__])


def free(ctx: BackwardCFunction) -> None:
    """Gives up what was saved, and keeps how much that was."""
    ctx.__saved__, ctx.__saved_for_forward__ = (None,) * len(ctx.__saved__), ()
    ctx.__freed__ = True

"""`autograd.Function`: a backward step in the user's own Python.

Underneath it is what `jax.custom_vjp` is to a JAX function. Its methods work on lazy tensors: a backward that only
computes with them is recorded like everything else and stays in the one program; one that reads a value
(`.numpy()`, `if`) is computed up to there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from jaxvjp.autograd.context import BackwardCFunction, FunctionCtx, SavedTensor
from jaxvjp.autograd.function_batch import (
    EXTENDING,
    GeneratedRule,
    VmapInfo,
    batch_of,
    differentiated_inside,
    lifted,
)
from jaxvjp.autograd.function_step import FunctionStep, OnceStep, type_name
from jaxvjp.core.record.blocks import restored
from jaxvjp.core.record.modes import grad_mode, tracking, transforming
from jaxvjp.core.record.record import detached
from jaxvjp.ops.identity import dual
from jaxvjp.ops.view import alias, function_view
from jaxvjp.tensor.tensor import Tensor, view, wrap
from jaxvjp.tensor.view_steps import Step
from jaxvjp.types.user_code import warn_user

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "VmapInfo",
    "once_differentiable",
]

NO_RULE = (
    "it does not have vmap support. Please override and implement the vmap staticmethod or set generate_vmap_rule=True."
)
TWO_RULES = (
    "it has both generate_vmap_rule=True and an overridden vmap staticmethod. Please set generate_vmap_rule=False or "
    "delete the overridden vmap staticmethod to avoid ambiguity."
)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a `backward` that shall not be recorded, such as one in NumPy: differentiating it raises RuntimeError.

    Counterpart of `torch.autograd.function.once_differentiable`.
    """

    @wraps(fn)
    def unrecorded(ctx: Any, *gradients: Any) -> Any:
        with tracking(False):
            returned = fn(ctx, *gradients)
        if not grad_mode().enabled or not any(isinstance(each, Tensor) and each.requires_grad for each in gradients):
            return returned
        listed = returned if isinstance(returned, tuple) else (returned,)
        step = OnceStep(gradients, listed)
        refused: list[Any] = []
        for position, each in enumerate(listed):
            tensor = isinstance(each, Tensor)
            step.add_output(each.__node__.aval if tensor else None, each.__node__ if tensor else None)
            refused.append(wrap(step.output_node(position)) if tensor else each)
        return tuple(refused)

    return unrecorded


class FunctionMeta(type):
    """Gives each Function the class of its `ctx`, named after it. Counterpart of torch's of the same name."""

    _backward_cls: type[BackwardCFunction]

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        super().__init__(name, bases, attrs)
        shown = {"_forward_cls": cls, "__module__": "torch.autograd.function"}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), shown)


class Function(metaclass=FunctionMeta):
    """A differentiable function with its own derivative; subclass it and call `apply`.

    Write `forward(ctx, *arguments)`, which returns a tensor or a tuple of them (and of other values), and
    `backward(ctx, *gradients)`, which gets the cotangent of each output and returns that of each argument, None for
    those that have none::

        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, gradient):
                (x,) = ctx.saved_tensors
                return gradient * 2 * x

        y = Square.apply(x)

    Or write `forward(*arguments)` and `setup_context(ctx, inputs, output)`. Counterpart of `torch.autograd.Function`;
    underneath as `jax.custom_vjp` (with `jvp`, `jax.custom_jvp`; with `vmap`, `jax.custom_batching`).

    Attributes:
        generate_vmap_rule: whether batching `forward` and `backward` as they stand is right; instead of `vmap`.
        clear_saved_tensors_on_access: whether `ctx.saved_tensors` may be read once only and lets go of them then.
        boxed_grads_call: whether `backward` gets its cotangents as one list, from which it may take them away.
    """

    generate_vmap_rule = False
    clear_saved_tensors_on_access = False
    boxed_grads_call = False

    def __init__(self, *arguments: Any, **named: Any) -> None:
        warn_user(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so you "
            "should invoke them on the class itself. Instantiating an autograd function will raise an error in a "
            "future version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """RuntimeError: a Function is not called, its class's `apply` is."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)\n"
            f"Call the class instead: `{type(self).__name__}.apply(x)`."
        )

    @staticmethod
    def forward(*arguments: Any, **named: Any) -> Any:
        """What the Function computes, on tensors that record no gradient."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fills `ctx` after a `forward` that does not take it."""
        raise NotImplementedError("setup_context is not implemented.")

    # A subclass may give these methods any parameters: `*` and `**` of Any tell type checkers so.

    @staticmethod
    def backward(ctx: Any, *gradients: Any, **named: Any) -> Any:
        """The cotangents of the arguments, from those of the outputs; `vjp` is another name for it."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *tangents: Any, **named: Any) -> Any:
        """The tangents of the outputs, from those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: VmapInfo, in_dims: tuple[int | None, ...], *arguments: Any) -> Any:
        """The outputs for a batch of arguments, and which of their dimensions are the batch."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    @restored
    def apply(cls, *arguments: Any, **named: Any) -> Any:
        """Runs `forward` without recording its inside, and records this Function as the step that goes back."""
        separate = cls.__separates_context__()
        if separate:
            bound = inspect.signature(cls.forward).bind(*arguments, **named)
            bound.apply_defaults()
            arguments = bound.args
            if bound.kwargs and batch_of([*arguments, *bound.kwargs.values()]) is not None:
                raise NotImplementedError(
                    "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only Tensors "
                    f"to autograd.Function. Got: {bound.kwargs}"
                )
            for keyword in bound.kwargs:
                raise TypeError(f"forward() got an unexpected keyword argument '{keyword}'")
        elif transforming().depth:
            _refuse_transforms(cls)
        batch = batch_of(arguments)
        if batch is not None:
            rule = cls.vmap if _has_own_vmap(cls) else partial(_generated_vmap, cls)
            computed = lifted(cls.__name__, rule, batch, arguments)
            if not differentiated_inside(batch, arguments):
                return computed
        ctx = cls._backward_cls()
        if transforming().depth:  # torch's name there
            ctx.__generated__ = True
        step = FunctionStep(ctx, arguments, lifted=batch is not None)
        with tracking(False):
            if separate:
                returned = cls.forward(*arguments) if batch is None else computed
                cls.setup_context(ctx, arguments, returned)
            else:
                returned = cls.forward(ctx, *arguments, **named)
            outputs = _Outputs(step, arguments, separate).of(returned)
        if transforming().level is not None:  # as in torch, a wrong `jvp` is an error here, not where a tangent is read
            transforming().level.tangents_of([output for output in step.outputs if output is not None])
        return outputs

    @classmethod
    def __backward_method__(cls) -> Callable[..., Any]:
        """The method that goes back: `vjp` is another name for `backward`. RuntimeError where there are both."""
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return cls.vjp

    @classmethod
    def __separates_context__(cls) -> bool:
        return cls.setup_context is not Function.setup_context


def _has_own_vmap(function: Any) -> bool:
    """Whether a batch goes through `vmap`, not `generate_vmap_rule`; RuntimeError where there is not just one."""
    if not function.__separates_context__():
        _refuse_transforms(function)
    own = function.vmap is not Function.vmap
    if own == function.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but {TWO_RULES if own else NO_RULE} {EXTENDING}"
        )
    return own


def _refuse_transforms(function: Any) -> None:
    if transforming().pure:
        raise RuntimeError(
            f"a JAX function cannot go through the custom autograd.Function {function.__name__}: JAX knows no rule of "
            "its backward.\nWrite it with tensor operations, whose derivatives need no rule; or as a `jax.custom_vjp`, "
            "by `torch.wrap`."
        )
    raise RuntimeError(
        "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
        f"override the setup_context staticmethod. {EXTENDING}"
    )


def _generated_vmap(function: Any, info: VmapInfo, in_dims: tuple[int | None, ...], *arguments: Any) -> Any:
    """The `vmap` that `generate_vmap_rule` stands for: another Function, of this one's methods batched."""
    rule = GeneratedRule(function, info, in_dims)
    batched = FunctionMeta("Vmapped" + function.__name__, (Function,), rule.methods())
    outputs = batched.apply(*arguments)  # type: ignore[attr-defined]
    if not isinstance(outputs, tuple):
        return outputs, 0
    return outputs, tuple([0 if isinstance(output, Tensor) else None for output in outputs])


class InplaceFunction(Function):
    """A Function, under the name that old code gives to one that writes in place. Counterpart of torch's."""


class _Outputs:
    """Turns what `forward` returned into the outputs of its step."""

    def __init__(self, step: FunctionStep, arguments: Sequence[Any], separate: bool) -> None:
        self.step = step
        self.ctx = step.ctx
        self.recorded = step.tracked or transforming().forward  # forward mode needs this step even without a gradient
        self.separate = separate
        self.given = arguments
        self.arguments = [argument for argument in arguments if isinstance(argument, Tensor)]
        self.inputs = {id(argument) for argument in self.arguments}
        self.dirty = _identities(step.ctx.dirty_tensors, "mark_dirty can only accept variables, but argument")

    def of(self, returned: Any) -> Any:
        """The outputs for the user, each with its gradient; tensors of `ctx.save_for_backward` are then saved."""
        raw = returned if isinstance(returned, tuple) else (returned,)
        last = {id(each): position for position, each in enumerate(raw)}
        if (self.inputs & self.dirty) - last.keys():
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )
        without = _identities(
            self.ctx.non_differentiable, "mark_non_differentiable only accepts variable arguments, but got"
        )
        differentiable = [
            self.recorded and isinstance(each, Tensor) and each.dtype.differentiable and id(each) not in without
            for each in raw
        ]
        if self.dirty - self.inputs:
            warn_user(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
                "should be passed to ctx.mark_dirty().",
            )
        written = {id(each) for each, known in zip(raw, differentiable, strict=True) if known} & self.inputs
        for each in self.ctx.dirty_tensors:
            if id(each) not in written:  # `_written` counts that write itself
                self._count(each)
        results: list[Any] = []
        for position, each in enumerate(raw):
            if not isinstance(each, Tensor):
                self.step.add_output(None)
                results.append(each)
            elif not differentiable[position]:
                self.step.add_output(each.__node__.aval)
                if not self.ctx._materialize_non_diff_grads:
                    self.step.unfilled.add(position)
                results.append(self._without_gradient(each))
            elif id(each) in self.inputs & self.dirty:
                results.append(self._written(position, each, sum(differentiable) > 1))
            elif id(each) not in self.inputs and last[id(each)] != position:  # returned twice: the last position counts
                self.step.add_output(each.__node__.aval)
                results.append(each)
            else:
                results.append(self._with_gradient(position, each, len(raw) > 1))
        if self.recorded:
            as_is = (self.inputs & last.keys()) - self.dirty
            self.ctx.__saved__ = self._saved(self.ctx.to_save, as_is)
            self.ctx.__saved_for_forward__ = self._saved(self.ctx.saved_for_forward, as_is)
        self.ctx.to_save = self.ctx.saved_for_forward = self.ctx.dirty_tensors = self.ctx.non_differentiable = ()
        return tuple(results) if isinstance(returned, tuple) else results[0]

    def _without_gradient(self, tensor: Tensor) -> Tensor:
        """The output itself, or a view of it if it is the user's input, which must stay as it is."""
        if id(tensor) in self.inputs and (tensor.requires_grad or id(tensor) not in self.dirty):
            return tensor.detach() if tensor.requires_grad else self._again(tensor)
        if tensor.requires_grad:
            tensor.__show__(detached(tensor.__node__))
        if tensor.__base_tensor__ is not None and not self.recorded and id(tensor) not in self.inputs & self.dirty:
            self._mark(tensor, False)
        return tensor

    @staticmethod
    def _again(tensor: Tensor) -> Tensor:
        """A view of an input that is returned as it is; for a subclass what its `view_as` gives, as in torch."""
        own: Tensor = view(tensor, Step(alias, ())) if type(tensor) is Tensor else tensor.view_as(tensor)
        return own

    @staticmethod
    def _mark(tensor: Tensor, several: bool) -> None:
        """Notes that a view was made by a Function, which refuses writes that are recorded."""
        mark = (Step(function_view, (several,)),)
        tensor.__unrecorded__ = None  # the Function itself is recorded
        tensor.__own_path__ = None if tensor.__own_path__ is None else tensor.__own_path__ + mark
        tensor.__steps__ += mark

    @staticmethod
    def _count(tensor: Tensor) -> None:
        """`forward` has written; torch counts a write by the Function, too. What reads the tensor now reads it as it is
        after that."""
        with tracking(False):
            tensor.__write__(detached(tensor.__node__))

    def _written(self, position: int, tensor: Tensor, several: bool) -> Tensor:
        """Makes an input that `forward` wrote to show this output from now on."""
        base = tensor.__base_tensor__
        marked = base is not None and base.requires_grad and tensor.__marked__
        if marked and (tensor.__unrecorded__ is None or not tensor.__shown__.is_leaf):
            tensor.__refuse__("is being modified inplace")
        if marked or (tensor.is_leaf and tensor.requires_grad):
            self._count(tensor)
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        with tracking(True):
            tensor.__check_writable__()
            if several and tensor.__base_tensor__ is not None:
                raise RuntimeError(
                    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                    "return more than one Tensor. This is not supported by the current autograd engine. You should "
                    "either make sure the input is not a view (using .clone() for example) or make your Function only "
                    "return one Tensor (potentially splitting it into two Functions: one doing the inplace that "
                    "returns a single Tensor and a second one that does the other operations). You can ask on the "
                    "forum https://discuss.pytorch.org/ if you need help to do this change."
                )
            tensor.grad = None  # torch drops what `retain_grad` has collected
            value = detached(tensor.__node__)
            self.step.add_output(value.aval, value)
            self.step.written[position] = self._argument(tensor)
            tensor.__write__(self.step.output_node(position))
        if tensor.__base_tensor__ is None:
            # Aliases read this; the output would keep `ctx` alive.
            tensor.storage.contents = tensor.__contents_with__(value) if tensor.__view_path__ else value
        return tensor

    def _with_gradient(self, position: int, tensor: Tensor, several: bool) -> Tensor:
        if id(tensor) in self.inputs:
            tensor = self._again(tensor)
        value = detached(tensor.__node__)
        if self.step.lifted:  # a gradient from outside the vmap flows through the value, a view of the batch
            value = tensor.__node__
            tensor.__base_tensor__, tensor.__steps__, tensor.__own_path__, tensor.__storage__, tensor.__seen__ = (
                None,
                (),
                None,
                None,
                0,
            )
        tensor.storage  # noqa: B018 - made now, from the value; made from the output it would keep `ctx` alive
        self.step.add_output(value.aval, value)
        if tensor.__base_tensor__ is not None:
            self._mark(tensor, several)
            tensor.__counted__ = tensor.__base_tensor__.__versions__.count
            source = next((argument for argument in self.arguments if argument is tensor.__base_tensor__), None)
            if source is None:
                of_base = [each for each in self.arguments if each.__base_tensor__ is tensor.__base_tensor__]
                source = of_base[0] if of_base else None
            if source is None:
                self.step.aliased[position] = None
            else:
                of_view = any(step.operation is not dual for step in source.__steps__)
                self.step.aliased[position] = self._argument(source), of_view
        tensor.__show__(self.step.output_node(position))
        return tensor

    def _argument(self, tensor: Tensor) -> int:
        """The position of a tensor among the arguments of `forward`."""
        return next(position for position, each in enumerate(self.given) if each is tensor)

    def _saved(self, tensors: tuple[Any, ...], as_is: set[int]) -> tuple[SavedTensor | None, ...]:
        kept: list[SavedTensor | None] = []
        for place, each in enumerate(tensors):
            if each is None:
                kept.append(None)
                continue
            if not isinstance(each, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {place} is of type "
                    f"{type_name(each)}\nOther values go into attributes: `ctx.exponent = 2`."
                )
            if self.separate and id(each) in as_is:
                raise RuntimeError(
                    "An input that has been returned as-is as output is being saved for backward. This is not "
                    "supported if you override setup_context. You should return and save a view of the input instead, "
                    "e.g. with x.view_as(x) or setup ctx inside the forward function itself."
                )
            node = each.__node__
            position = node.output_number if node.python is self.step else None
            kept.append(SavedTensor(each, None if position is None else self.step._values[position], position))
        return tuple(kept)


def _identities(tensors: tuple[Any, ...], refusal: str) -> set[int]:
    for tensor in tensors:
        if not isinstance(tensor, Tensor):
            raise RuntimeError(f"{refusal} \nIt was given a {type_name(tensor)}.")
    return {id(tensor) for tensor in tensors}

"""Hooks of modules, and the call of one that has any."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from jaxvjp.autograd.function import Function
from jaxvjp.autograd.modes import is_grad_enabled
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.hooks import RemovableHandle, put
from jaxvjp.types.user_code import warn_user

Hook = Callable[..., Any]
Hooks = OrderedDict[int, Hook]
Marks = dict[int, bool]

ANYWHERE: Marks = {}
"""The numbers of the hooks of all modules that a call has to heed. While it is empty a call looks no further."""
_global_forward_pre_hooks: Hooks = OrderedDict()
_global_forward_hooks: Hooks = OrderedDict()
_global_forward_hooks_always_called: Marks = {}
_global_forward_hooks_with_kwargs: Marks = {}
_global_backward_pre_hooks: Hooks = OrderedDict()
_global_backward_hooks: Hooks = OrderedDict()
FULL: dict[None, bool] = {}
"""Under None: whether the backward hooks of all modules are full ones; empty before the first."""
REGISTRATIONS: dict[str, Hooks] = {"buffer": OrderedDict(), "module": OrderedDict(), "parameter": OrderedDict()}
"""Hooks that are called before a module gets a buffer, a module or a parameter."""

BOTH = "Cannot use both regular backward hooks and full backward hooks {}. Please use only one of them."


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """What hooks of registrations make of a `value` that `module` is to have as `name`."""
    for hook in REGISTRATIONS[kind].values():
        returned = hook(module, name, value)
        value = value if returned is None else returned
    return value


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, name, buffer)` before any module gets a buffer; what it returns replaces the buffer."""
    return put(REGISTRATIONS["buffer"], hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, name, submodule)` before any module gets a submodule; what it returns replaces that."""
    return put(REGISTRATIONS["module"], hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, name, parameter)` before any module gets a parameter; what it returns replaces that."""
    return put(REGISTRATIONS["parameter"], hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Calls `hook(module, args)` before the `forward` of every module; what it returns replaces `args`."""
    return put(_global_forward_pre_hooks, hook, ANYWHERE)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls `hook(module, args, output)` after the `forward` of every module; see `Module.register_forward_hook`."""
    return put(
        _global_forward_hooks,
        hook,
        ANYWHERE,
        *[_global_forward_hooks_with_kwargs] * with_kwargs,
        *[_global_forward_hooks_always_called] * always_call,
    )


def _put_backward(hook: Hook, full: bool) -> RemovableHandle:
    if FULL.setdefault(None, full) is not full:
        raise RuntimeError(BOTH.format("as a global Module hook"))
    return put(_global_backward_hooks, hook, ANYWHERE)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_backward_hook` of every module."""
    return _put_backward(hook, False)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_full_backward_pre_hook` of every module."""
    return put(_global_backward_pre_hooks, hook, ANYWHERE)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """`Module.register_full_backward_hook` of every module."""
    return _put_backward(hook, True)


def forget_global_hooks() -> None:
    """Removes the hooks of all modules."""
    for each in (_global_forward_pre_hooks, _global_forward_hooks, _global_backward_pre_hooks, _global_backward_hooks):
        each.clear()
    for marks in (ANYWHERE, FULL, _global_forward_hooks_always_called, _global_forward_hooks_with_kwargs):
        marks.clear()


def _forward_unimplemented(self: Any, *input: Any) -> None:
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Hooked:
    """What has hooks, and calls them around `forward`: the part of `Module` about that."""

    training: bool
    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks
    _is_full_backward_hook: bool | None
    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: Marks
    _forward_hooks_always_called: Marks
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: Marks
    _compiled_call_impl: Callable[..., Any] | None = None

    forward: Callable[..., Any] = _forward_unimplemented

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, args)` before `forward`; what it returns, a tuple or one value, replaces `args`.

        Args:
            hook: with `with_kwargs` it is called as `hook(module, args, kwargs)` and returns None or both.
            prepend: whether it is called before the hooks that the module has already.
            with_kwargs: whether it gets the arguments by name, too.
        """
        marks = [self._forward_pre_hooks_with_kwargs] * with_kwargs
        return put(self._forward_pre_hooks, hook, *marks, prepend=prepend)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, args, output)` after `forward`; what it returns replaces the output.

        Args:
            hook: with `with_kwargs` it is called as `hook(module, args, kwargs, output)`.
            prepend: whether it is called before the hooks that the module has already.
            with_kwargs: whether it gets the arguments by name, too.
            always_call: whether it is called also where `forward` raises.
        """
        marks = [self._forward_hooks_with_kwargs] * with_kwargs + [self._forward_hooks_always_called] * always_call
        return put(self._forward_hooks, hook, *marks, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_output)` when `backward` arrives; a tuple that it returns replaces the gradients of
        the outputs."""
        return put(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_input, grad_output)` when `backward` has passed; a tuple that it returns replaces
        the gradients of the inputs."""
        _choose_backward_hooks(self, True)
        return put(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Calls `hook(module, grad_input, grad_output)` after the step that made the output; see
        `register_full_backward_hook`, which has the gradients of all inputs."""
        _choose_backward_hooks(self, False)
        return put(self._backward_hooks, hook)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__  # read once, as each attribute of a class with `__getattr__` takes long
        if (
            own.get("_forward_hooks", True)
            or own["_forward_pre_hooks"]
            or own["_backward_hooks"]
            or own["_backward_pre_hooks"]
            or ANYWHERE
            or "_compiled_call_impl" in own
        ):
            return (self._compiled_call_impl or self._call_impl)(*args, **kwargs)
        return self.forward(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        result = None
        called: set[int] = set()
        try:
            for number, hook in (*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
                if number in self._forward_pre_hooks_with_kwargs:
                    both = hook(self, args, kwargs)
                    if both is not None:
                        if not (isinstance(both, tuple) and len(both) == 2):
                            raise RuntimeError(
                                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                                f"{both}."
                            )
                        args, kwargs = both
                elif (new := hook(self, args)) is not None:
                    args = new if isinstance(new, tuple) else (new,)
            backward = [(FULL.get(None), _global_backward_hooks), (self._is_full_backward_hook, self._backward_hooks)]
            full = [hook for is_full, hooks in backward if is_full is True for hook in hooks.values()]
            others = [hook for is_full, hooks in backward if is_full is False for hook in hooks.values()]
            before = [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
            sides = _Sides(self, full, before) if full or before else None
            if sides is not None:
                args = sides.at_inputs(args)
            result = self.forward(*args, **kwargs)
            for number, hook in _forward_hooks_of(self):
                called.add(number)
                new = _call_hook(self, number, hook, args, kwargs, result)
                result = result if new is None else new
            if sides is not None:
                result = sides.at_outputs(result)
            if others:
                _at_last_step(self, others, args, result)
            return result
        except Exception:
            for number, hook in _forward_hooks_of(self):
                own = number in self._forward_hooks_always_called
                if number not in called and (own or number in _global_forward_hooks_always_called):
                    try:
                        new = _call_hook(self, number, hook, args, kwargs, result)
                        result = result if new is None else new
                    except Exception as silenced:
                        warn_user(
                            f"{'' if own else 'global '}module forward hook with ``always_call=True`` raised an "
                            f"exception that was silenced as another error was raised in forward: {silenced}",
                        )
            raise


def _choose_backward_hooks(module: Hooked, full: bool) -> None:
    if module._is_full_backward_hook is (not full):
        raise RuntimeError(BOTH.format("on a single Module"))
    module._is_full_backward_hook = full


def _call_hook(module: Hooked, number: int, hook: Hook, args: Any, kwargs: Any, result: Any) -> Any:
    if number in module._forward_hooks_with_kwargs or number in _global_forward_hooks_with_kwargs:
        return hook(module, args, kwargs, result)
    return hook(module, args, result)


def _forward_hooks_of(module: Hooked) -> list[tuple[int, Hook]]:
    return [*_global_forward_hooks.items(), *module._forward_hooks.items()]


class BackwardHookFunction(Function):
    """Gives its arguments as they are; its step of the backward graph is where a module's backward hooks hang."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients


class _Sides:
    """The backward hooks of one call of a module: a step before its `forward` and one after it, which call them."""

    def __init__(self, module: Any, after: list[Hook], before: list[Hook]) -> None:
        self.module, self.after, self.before = module, after, before
        self.input_count = 0
        self.inputs: list[int] | None = None
        self.arrived: Any = None

    def at_inputs(self, args: Any) -> Any:
        self.input_count = len(args)
        args, self.inputs = _through(args, self._passed)
        return args

    def at_outputs(self, result: Any) -> Any:
        if not isinstance(result, Tensor | tuple):
            warn_user(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
            )
        outputs = result if isinstance(result, tuple) else (result,)
        self.output_count = len(outputs)
        outputs, self.outputs = _through(outputs, self._arrives)
        return outputs if isinstance(result, tuple) else outputs[0]

    def _passed(self, gradients: tuple[Any, ...], _: Any) -> Any:
        """The hook of the step before `forward`, which has the gradients of the inputs."""
        if self.arrived is None:
            return None
        assert self.inputs is not None
        seen = _among(self.inputs, gradients, self.input_count)
        for hook in self.after:
            seen = _or_as_many(hook(self.module, seen, self.arrived), seen, "Backward hook", "grad_input")
        self.arrived = None
        return tuple([seen[place] for place in self.inputs])

    def _arrives(self, _: Any, gradients: tuple[Any, ...]) -> Any:
        """The hook of the step after `forward`, where the gradients of the outputs arrive."""
        assert self.outputs is not None
        arrived = _among(self.outputs, gradients, self.output_count)
        for hook in self.before:
            arrived = _or_as_many(hook(self.module, arrived), arrived, "Backward pre hook", "grad_output")
        self.arrived = arrived
        if self.inputs is None:
            warn_user(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no "
                "inputs require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#"
                "torch.nn.Module.register_full_backward_hook for more details.",
            )
            for hook in self.after:
                returned = hook(self.module, (None,) * self.input_count, arrived)
                if returned is not None and not (
                    isinstance(returned, tuple) and all(each is None for each in returned)
                ):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None "
                        "for all gradients."
                    )
            self.arrived = None
        return tuple([arrived[place] for place in self.outputs])

    _passed.__name__ = _arrives.__name__ = "hook"  # in torch's errors


def _or_as_many(returned: Any, before: Any, who: str, what: str) -> Any:
    """What a hook returned in the place of gradients, which are as many; those before where that is None."""
    if returned is None:
        return before
    if len(returned) != len(before):
        raise RuntimeError(
            f"{who} returned an invalid number of {what}, got {len(returned)}, but expected {len(before)}"
        )
    return returned


def _among(places: Sequence[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """`values` at their places among `count`, None elsewhere."""
    known = dict(zip(places, values, strict=True))
    return tuple([known.get(place) for place in range(count)])


def _through(values: Any, hook: Hook) -> tuple[Any, list[int] | None]:
    """A tuple whose tensors went through one step with that `hook`, and their places; None if no gradient can come."""
    places = [place for place, each in enumerate(values) if isinstance(each, Tensor)]
    if not (is_grad_enabled() and any(values[place].requires_grad for place in places)):
        return values, None
    passed = BackwardHookFunction.apply(*[values[place] for place in places])
    next(each.grad_fn for each in passed if each.requires_grad).register_hook(hook)
    replaced = dict(zip(places, passed, strict=True))
    every = [replaced.get(place, each) for place, each in enumerate(values)]
    return tuple(every) if type(values) is tuple else type(values)(*every), places


INCOMPLETE = {
    "result": ("on a Module that does not return a single Tensor or a tuple of Tensors", "some of the grad_output"),
    "args": ("on a Module that does not take as input a single Tensor or a tuple of Tensors", "some of the grad_input"),
    "nested": ("when outputs are nested in python data structure", "some grad_output"),
    "outputs": ("when outputs are generated by different autograd Nodes", "some grad_output"),
    "inputs": ("when the forward contains multiple autograd Nodes", "some grad_input"),
}
"""By what a hook of the last step cannot see through: how torch words it, and what the hook misses."""


def _at_last_step(module: Any, hooks: list[Hook], args: Any, result: Any) -> None:
    """Hangs hooks that are no full ones on the step that made the first tensor of `result`."""
    first = result
    while not isinstance(first, Tensor):
        members = first.values() if isinstance(first, dict) else first
        first = next(member for member in members if isinstance(member, Tensor) or not isinstance(first, dict))
    step = first.grad_fn
    if step is None:
        return
    owner = ref(module)
    for hook in hooks:
        step.register_hook(lambda *sides, hook=hook: hook(owner(), *sides))
    missed = _missed(step, args, (result,) if isinstance(result, Tensor) else result)
    if missed:
        how, what = INCOMPLETE[missed]
        named = "non-full backward hooks" if missed in ("result", "args") else "a non-full backward hook"
        advice = "" if missed == "nested" else " Please use register_full_backward_hook to get the documented behavior."
        warn_user(
            f"Using {named} {how} is deprecated and will be removed in future versions. This hook will be missing "
            f"{what}.{advice}",
            FutureWarning,
        )


def _missed(step: Any, args: Any, outputs: Any) -> str:
    for name, values in (("result", outputs), ("args", args)):
        if not (isinstance(values, tuple) and all(isinstance(value, Tensor) for value in values)):
            return name
    steps = {output.grad_fn for output in outputs if output.grad_fn is not None}
    if len(steps) != 1 or step not in steps:
        return "outputs" if len(steps) > 1 else "nested"
    reached = {argument.grad_fn for argument in args if argument.grad_fn is not None}
    return "" if reached == {each for each, _ in step.next_functions} else "inputs"

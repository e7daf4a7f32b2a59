"""`Parameter`: a leaf tensor that is to be trained."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from jaxvjp.library.creation import empty
from jaxvjp.library.crossing import state_of, with_state
from jaxvjp.tensor.overriding import SILENT, disabled
from jaxvjp.tensor.refusals import advice_on
from jaxvjp.tensor.storage import of_class
from jaxvjp.tensor.tensor import ORDINARY, Tensor

UNDERNEATH = "a leaf: what `jax.grad` calls an argument"


def clear_gradients(parameters: Iterable[Any], set_to_none: bool) -> None:
    """Sets the gradients of parameters to None, or to zeros."""
    for parameter in parameters:
        if parameter.grad is not None and set_to_none:
            parameter.grad = None
        elif parameter.grad is not None:
            parameter.grad.detach_() if parameter.grad.grad_fn is not None else parameter.grad.requires_grad_(False)
            parameter.grad.zero_()


class ParameterMeta(type):
    """Has `isinstance(x, Parameter)` hold for a parameter of a class of its own, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        mark = MARKS.get(cls)
        return super().__instancecheck__(instance) or (
            mark is not None and isinstance(instance, Tensor) and getattr(instance, mark, False)
        )


class Parameter(Tensor, metaclass=ParameterMeta):
    """A leaf that shares the storage of `data`, and requires a gradient if `requires_grad`.

    Any operation on it gives an ordinary tensor. AttributeError where `data` is no tensor, RuntimeError where it has a
    dtype that cannot require a gradient. Counterpart of `torch.nn.Parameter`.

    Args:
        data: a tensor of any shape; an empty one by default.
        requires_grad: whether `backward` accumulates into its `.grad`.
    """

    __slots__ = ()
    __torch_function__ = staticmethod(disabled)

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        source = empty(0) if data is None else data
        if not isinstance(source, Tensor):
            raise AttributeError(
                f"'{type(source).__name__}' object has no attribute 'detach'\n"
                f"A parameter is made of a tensor. {advice_on(source)}"
            )
        if requires_grad and not source.dtype.differentiable:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients\n"
                f"This one is torch.{source.dtype.name}; convert it first, or say `requires_grad=False`."
            )
        if type(source) in (Tensor, Parameter):
            made = source.detach()
            if type(requires_grad) is not bool:
                made.requires_grad_(requires_grad)  # which says what is wrong
            made.requires_grad = requires_grad  # also in a function that is being transformed, as in torch
            return as_parameter(made, cls)
        made = source.detach().requires_grad_(requires_grad)
        if type(made) is not type(source):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(source).__name__} requires that detach() returns "
                f"an instance of the same type, but return type {type(made).__name__} was found instead. To use the "
                "type as a Parameter, please correct the detach() semantics defined by its __torch_dispatch__() "
                "implementation."
            )
        own: Any = made
        own._is_param = True
        return own

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Data and attributes; one of a subclass becomes a `Parameter`, as in torch."""
        return rebuilt_parameter, (self.data, self.requires_grad, None, state_of(self))

    def __copy__(self) -> Any:
        function, arguments = self.__reduce_ex__(2)
        return function(*arguments)

    def __repr__(self) -> str:
        text = super().__repr__()
        return f"Parameter containing:\n{text if type(self) is Parameter else f'Parameter({text})'}"


def rebuilt_parameter(data: Tensor, requires_grad: bool, hooks: Any = None, state: Any = None) -> Parameter:
    """What pickles and torch's files call for a parameter."""
    return with_state(Parameter(data, requires_grad), state)


ORDINARY.add(Parameter)
SILENT.add(Parameter)


def as_parameter(tensor: Tensor, kind: type[Parameter] = Parameter) -> Parameter:
    """Turns `tensor`, which must be new and held by nobody else, into a parameter."""
    return of_class(tensor, kind)


class Buffer(Tensor, metaclass=ParameterMeta):
    """A tensor that a module which it is assigned to keeps as a buffer; `isinstance` knows it, its class is Tensor.

    Args:
        persistent: whether `state_dict` has it.
    """

    __torch_function__ = staticmethod(disabled)

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Tensor:  # type: ignore[misc]
        source = empty(0) if data is None else data
        made: Any = source.detach().requires_grad_(source.requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return made


MARKS: dict[type, str] = {Parameter: "_is_param", Buffer: "_is_buffer"}
"""Attributes that say of a tensor of another class what it is."""


NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
    "when trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the "
    "parameters before accessing their attributes."
)
ALLOWED = frozenset(
    [
        *("__hash__", "size", "copy_", "is_complex", "is_floating_point", "get_device", "cuda", "cpu", "to"),
        *("half", "float", "double", "char", "short", "int", "long"),
    ]
)
"""The methods that a tensor without a shape has."""


class UninitializedTensorMixin:
    """What a tensor has whose shape is not known yet."""

    cls_to_become: type

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Gives it a shape, and memory with no numbers in particular; it becomes of an ordinary class."""
        own = self.data
        self.data = empty(
            shape, device=own.device if device is None else device, dtype=own.dtype if dtype is None else dtype
        )
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """RuntimeError: there is none yet."""
        raise RuntimeError(NO_SHAPE)

    def share_memory_(self) -> Any:
        """RuntimeError: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return type(self), (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if type(func).__name__ == "method-wrapper" or func.__name__ in ALLOWED:
            made: Any = disabled(func, types, args, kwargs)
            if type(made) is Tensor and cls.cls_to_become is Tensor and func.__name__ in ALLOWED:
                setattr(made, "__class__", cls)  # noqa: B010 - a buffer in another dtype has no shape either
            return made
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )


def is_lazy(param: Any) -> bool:
    """Whether the shape of a parameter or buffer is not known yet. Counterpart of `torch.nn.parameter.is_lazy`."""
    return isinstance(param, UninitializedTensorMixin)


LATER = dict.fromkeys(("UninitializedBuffer", "UninitializedParameter"), "jaxvjp.nn.uninitialized")
"""Names whose module is imported at first use."""


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(LATER[name]), name)

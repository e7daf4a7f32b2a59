"""Classes that say what becomes of torch's functions that they are given to, by `__torch_function__`.

torch's functions look for such classes among their arguments (`saying`). When such a class is made, its methods become
ones that ask it.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from types import FunctionType
from typing import Any

from jaxvjp.ops.view import alias
from jaxvjp.tensor.published import public
from jaxvjp.tensor.refusals import advice_on
from jaxvjp.tensor.remembered_calls import remembering
from jaxvjp.tensor.signatures import NUMERIC
from jaxvjp.tensor.storage import Stored, of_class
from jaxvjp.tensor.tensor import Tensor, view
from jaxvjp.tensor.view_steps import Step
from jaxvjp.types.devices import device
from jaxvjp.types.dtypes import dtype, typename
from jaxvjp.types.tracebacks import without_own_lines

UNDERNEATH = "no JAX: Python calls what a class says"

NOT_ASKED = frozenset(
    [
        *("__class__", "__new__", "__init__", "__init_subclass__", "__torch_function__", "__getattr__", "__setattr__"),
        *("__getattribute__", "__delattr__", "__hash__", "__dir__", "__sizeof__", "__subclasshook__", "__getstate__"),
        *("__reduce__", "__array_priority__", "__array_wrap__", "__doc__", "__module__", "as_subclass", "value"),
        *("__alias__", "__apart__", "__check_no_inference__", "__conjugated__", "__evaluated__", "__jax_array__"),
        *("__numbers__", "__scalar__", "__text__", "__update_views__"),
    ]
)
"""Attributes of `Tensor` of which a class is not asked."""
OTHERS = "floordiv eq and or xor lshift rshift"
OPERATORS = {each: each for each in ["add", "sub", "mul", "pow", "matmul", "lt", "le", "gt", "ge", "ne"]}
OPERATORS |= {"truediv": "div", "mod": "remainder"}
BINARY = {f"__{side}{each}__" for each in (*OPERATORS, *OTHERS.split()) for side in ("", "r", "i")}
TOLD_AS = {f"__{each}__": name for each, name in OPERATORS.items()}
TOLD_AS |= {f"__i{each}__": f"{name}_" for each, name in OPERATORS.items()}
TOLD_AS |= {"__radd__": "add", "__rmul__": "mul", "__ifloordiv__": "floor_divide_"}
"""The method that a class is told of, by the operator, where its operand is a tensor or a number."""
FUNCTIONS_NOT_ASKED = frozenset(
    ["as_tensor", "asarray", "as_torch", "compare", "compile", "is_tensor", "jit", "tensor", "typename", "vmap"]
)
FUNCTIONS = (FunctionType, type(remembering))
"""What functions are of, also where they are compiled."""
SILENT: set[type] = {Tensor, bool, complex, device, dtype, float, int, str, type(None)}
"""Common types of arguments, which say nothing; `nn.Parameter` adds itself."""
SEVERAL = (list, tuple)


class _State(threading.local):
    disabled = 0


_state = _State()


class DisableTorchFunctionSubclass:
    """No `__torch_function__` is asked in a block. Counterpart of `torch.DisableTorchFunctionSubclass`."""

    def __enter__(self) -> None:
        _state.disabled += 1

    def __exit__(self, *_: object) -> None:
        _state.disabled -= 1


def disabled(function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that say nothing of functions, such as `Parameter`."""
    with DisableTorchFunctionSubclass():
        return function(*args, **(kwargs or {}))


def _says(value: Any) -> bool:
    kind = type(value)
    if kind in SILENT or getattr(kind, "__torch_function__", disabled) is disabled:
        return False
    # A tensor of real torch says something of torch's functions, not of these.
    return issubclass(kind, Tensor) or not any(base.__module__.startswith("torch.") for base in kind.__mro__)


def _saying(values: Iterable[Any]) -> list[Any]:
    """Those whose classes say something, also in lists among them."""
    found = []
    for value in values:
        if not isinstance(value, SEVERAL):
            found += [value] * _says(value)
        elif not SILENT.issuperset(map(type, value)):
            found += [one for one in value if _says(one)]
    return found


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether the class of one of these has a `__torch_function__`. As `torch.overrides.has_torch_function`.

    Args:
        relevant_args: arguments of a function.
    """
    return not _state.disabled and any(_says(each) for each in relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What the first class that does not say NotImplemented makes of a call; TypeError where each does.

    Args:
        public_api: the function that was called.
        relevant_args: those of its arguments whose classes are asked, subclasses first.
        args: what it was called with.
        kwargs: and by name.
    """
    first: dict[type, Any] = {}
    for each in relevant_args:
        if _says(each):
            first.setdefault(type(each), each)
    order: list[type] = []
    for kind in first:  # before the first that it inherits from, or else last
        place = next((at for at, other in enumerate(order) if issubclass(kind, other)), len(order))
        order.insert(place, kind)
    for kind in order:
        result = first[kind].__torch_function__(public_api, tuple(order), args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"Multiple dispatch failed for 'torch.{getattr(public_api, '__name__', public_api)}'; all __torch_function__ "
        "handlers returned NotImplemented:\n" + "\n".join(f"  - tensor subclass {each}" for each in order)
    )


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or says what functions make of it. Counterpart of `torch.overrides.is_tensor_like`.

    Args:
        inp: anything.
    """
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def _torch_function(cls: type, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
    """What a class says unless it says otherwise: that results are of the class, too."""
    if not all(issubclass(cls, each) for each in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if func in _NOT_CONVERTED else _converted(result, cls)


_NOT_CONVERTED = {Tensor.grad.__get__, Tensor._base.__get__}


def _converted(result: Any, cls: type) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return as_subclass(result, cls)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[_converted(each, cls) for each in result])
    if type(result) in (tuple, list):
        return type(result)(_converted(each, cls) for each in result)
    return result


@public("method")
def as_subclass(self: Tensor, cls: type) -> Any:
    """A view of the tensor, of a class that inherits from `Tensor`. Counterpart of `torch.Tensor.as_subclass`.

    Args:
        cls: the class.
    """
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            "class inherits from Tensor."
        )
    return of_class(view(self, Step(alias, ())), cls)


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:
    """A leaf on the storage of a tensor, of a class that inherits from `Tensor`."""
    return of_class(data.detach().requires_grad_(require_grad), cls)


def saying(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
    """Those of a call's arguments whose classes are to be asked."""
    silent = SILENT.issuperset(map(type, args)) and (not kwargs or SILENT.issuperset(map(type, kwargs.values())))
    return [] if silent or _state.disabled else _saying([*args, *kwargs.values()])


def asking(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which asks the classes of its arguments."""
    if not isinstance(function, FUNCTIONS) or function.__name__ in FUNCTIONS_NOT_ASKED:
        return function

    @wraps(function)
    def front(*args: Any, **kwargs: Any) -> Any:
        if found := saying(args, kwargs):
            return handle_torch_function(front, found, *args, **kwargs)
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError, AttributeError) as error:
            own = str(error).startswith(f"{function.__name__}(")  # it checks its arguments itself
            if function.__module__.startswith("jaxvjp.nn.") and not own:
                check_tensors(function, args, kwargs)
            raise without_own_lines(error)  # noqa: B904  # it is the same error

    return front


TOLD_NAMES = {"cross_entropy": "cross_entropy_loss", "nll_loss": "nll_loss_nd"}
"""What torch's errors call functions of `nn.functional`."""


def check_tensors(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """TypeError, in torch's words, where something else was passed for an argument that is a tensor."""
    signature = inspect.signature(function)
    try:
        passed = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return
    for position, (name, parameter) in enumerate(signature.parameters.items(), 1):
        if parameter.annotation in ("Tensor", Tensor) and name in passed and not is_tensor_like(passed[name]):
            told = TOLD_NAMES.get(function.__name__, function.__name__)
            place = f"{told}(): argument '{name}' (position {position})"
            raise TypeError(
                f"{place} must be Tensor, not {typename(passed[name])}\n{advice_on(passed[name])}"
            ) from None


def _asking_method(name: str) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        told = TOLD_AS.get(name, name) if isinstance(args[-1], (Tensor, *NUMERIC)) else name
        function = getattr(Tensor, told)
        if _state.disabled or not (saying := _saying([*args, *kwargs.values()])):  # nothing: a `Parameter` as well
            return function(*args, **kwargs)
        try:
            return handle_torch_function(function, saying, *args, **kwargs)
        except TypeError:
            if name in BINARY:
                return NotImplemented
            raise

    method.__name__ = method.__qualname__ = name
    return method


def _asking_property(own: property) -> property:
    def read(self: Tensor) -> Any:
        if _state.disabled or not _says(self):
            return own.__get__(self)
        return handle_torch_function(own.__get__, [self], self)

    def write(self: Tensor, value: Any) -> None:
        if _state.disabled:
            own.__set__(self, value)
        else:
            handle_torch_function(own.__set__, [self], self, value)

    return property(read, own.fset and write, own.fdel)


told_of_classes: list[Callable[[Any], None]] = []
"""Who wants to know of each new class that inherits from `Tensor`."""


def _asked(cls: type) -> None:
    """Has the methods of a new class that inherits from `Tensor` ask it."""
    for tell in told_of_classes:
        tell(cls)
    if cls.__torch_function__ is disabled:  # type: ignore[attr-defined]
        return
    for name in dir(Tensor):
        own = inspect.getattr_static(Tensor, name)
        inner = name.startswith("_") and not (name.startswith("__") and name in vars(Tensor) and callable(own))
        if inner or name in NOT_ASKED or name in vars(Stored) or inspect.getattr_static(cls, name) is not own:
            continue
        if isinstance(own, property):
            setattr(cls, name, _asking_property(own))
        elif hasattr(own, "__get__") and not isinstance(own, classmethod | staticmethod | type):
            setattr(cls, name, _asking_method(name))


def attach_methods() -> None:
    """Has classes that inherit from `Tensor` from here on be asked."""
    setattr(Tensor, "__torch_function__", classmethod(_torch_function))  # noqa: B010 - hung on, as methods are
    setattr(Tensor, "__init_subclass__", classmethod(_asked))  # noqa: B010
    setattr(Tensor, "_make_subclass", staticmethod(_make_subclass))  # noqa: B010

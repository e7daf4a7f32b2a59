"""torch's old constructors: `torch.LongTensor([1, 2])`, `torch.Tensor(2, 3)`, `x.new(...)`; and its names of types.

What is given decides: sizes make a tensor that nobody has filled, data one with a copy of it, a tensor a view of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxvjp.library.creation import empty, tensor
from jaxvjp.library.crossing import from_dlpack, from_jax, from_numpy
from jaxvjp.library.factories import sizes
from jaxvjp.library.storages import Memory
from jaxvjp.ops.layouts import strided
from jaxvjp.ops.view import alias
from jaxvjp.tensor.conversion import converted_to
from jaxvjp.tensor.published import public
from jaxvjp.tensor.signatures import NUMERIC
from jaxvjp.tensor.storage import of_class
from jaxvjp.tensor.tensor import Tensor, view
from jaxvjp.tensor.view_steps import Step
from jaxvjp.types.devices import count_of
from jaxvjp.types.dtypes import ALL, CTYPES, UNSIGNED, Dtype, get_default_dtype, set_default_dtype, taken, typename
from jaxvjp.types.settings import warn_once
from jaxvjp.types.size import Size

UNDERNEATH = "a leaf, made of a NumPy array"

OPTIONS = (
    "TensorOptions(dtype={}, device={}, layout=Strided, requires_grad=false (default), pinned_memory=false (default), "
    "memory_format=(nullopt))"
)
WAYS = (
    " * (*, torch.device device = None)\n * (tuple of ints size, *, torch.device device = None)\n"
    " * (object data, *, torch.device device = None)\n * (Tensor other)"
)
DEPRECATED = (
    "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
    "torch.set_default_device() as alternatives."
)


def made(own: Dtype | None, arguments: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
    """What the constructor of tensors of dtype `own` makes; without one it is that of `Tensor`, which views any."""
    given = dict(named)
    device = given.pop("device", None)
    key = next(iter(given), "")
    if len(given) + bool(arguments) > 1 or key not in ("", "size", "data", "other"):
        raise TypeError(_unfit(arguments, named))
    values = (given[key],) if key else arguments
    kind = own or get_default_dtype()
    if not values:
        return empty(0, dtype=kind, device=device)
    first = values[0]
    if len(values) == 1 and (isinstance(first, Tensor | np.ndarray | bool) or not hasattr(first, "__index__")):
        if isinstance(first, Tensor):
            if own is not None and first.dtype is not own:
                wanted, got = (OPTIONS.format(CTYPES[each.name], first.device) for each in (own, first.dtype))
                raise TypeError(f"expected {wanted} (got {got})\nConvert it: `x.to(torch.{own.name})`.")
            return view(first, Step(alias, ()))
        if isinstance(first, Memory):
            return empty(0, dtype=kind).set_(first)
        if isinstance(first, Size) or key == "size":
            return empty(tuple(first), dtype=kind, device=device)
        if not isinstance(first, np.ndarray | Sequence) and not hasattr(first, "__len__"):
            raise TypeError(
                f"new(): data must be a sequence (got {typename(first)})\nSuch as `[2.5]`, or sizes: `2, 3`."
            )
        return tensor(first, dtype=kind, device=device)
    if len(values) > 1 and not hasattr(first, "__index__"):
        raise TypeError(_unfit(arguments, named))
    return empty(*sizes("new", values), dtype=kind, device=device)


def _unfit(arguments: tuple[Any, ...], named: dict[str, Any]) -> str:
    got = ", ".join([*map(typename, arguments), *[f"{name}={typename(each)}" for name, each in named.items()]])
    got += ", " * (not arguments and bool(named))
    return f"new() received an invalid combination of arguments - got ({got}), but expected one of:\n{WAYS}"


class tensortype(type):  # noqa: N801 - torch's name
    """The class of `torch.LongTensor` and its like, which no tensor is made of: it stands for those of one dtype."""

    dtype: Dtype
    layout = strided
    is_cuda = is_sparse = False

    def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> tensortype:
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(mcs, name, bases, space)

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, Tensor) or instance.dtype is not cls.dtype:
            return False
        return instance.is_cuda is cls.is_cuda and instance.layout is cls.layout

    def __call__(cls, *arguments: Any, **named: Any) -> Tensor:
        if not cls.is_cuda:
            return made(cls.dtype, arguments, named)
        if not count_of("cuda"):
            raise TypeError(
                f"type {cls.__module__}.{cls.__name__} not available. Torch not compiled with CUDA enabled."
            )
        return made(cls.dtype, arguments, {"device": "cuda", **named})


tensortype.__module__ = "torch"


def _type(own: Dtype, module: str) -> tensortype:
    name = f"{own.legacy}Tensor"
    text = f"torch's old constructor of tensors of dtype {own}: `{name}([1, 2])` of data, `{name}(2, 3)` of sizes."
    cuda = module == "torch.cuda"
    return tensortype(name, (), {"dtype": own, "is_cuda": cuda, "__module__": module, "__doc__": text})


TYPES = {f"{each.legacy}Tensor": _type(each, "torch") for each in ALL if not each.is_complex}
"""By name, the types that have a constructor: `FloatTensor`, `LongTensor` and others."""
CUDA_TYPES = {name: _type(each.dtype, "torch.cuda") for name, each in TYPES.items()}
"""Those of `torch.cuda`, whose tensors are on a GPU."""


@public("method")
def new(self: Tensor, *arguments: Any, **named: Any) -> Tensor:
    """As the constructor of this tensor's type, `torch.FloatTensor(...)`. Counterpart of `torch.Tensor.new`."""
    return made(self.dtype, arguments, {"device": self.device, **named})


@public("method", "type")
def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of its old tensor type, or the tensor in another dtype; counterpart of `torch.Tensor.type`."""
    names = {f"torch.{each.legacy}Tensor": each for each in (*ALL, *UNSIGNED)}
    if dtype is None:
        name = next(name for name, each in names.items() if each is self.dtype)
        return name.replace("torch.", f"torch.{self.device.type}.") if self.is_cuda or self.is_meta else name
    if isinstance(dtype, tensortype):
        dtype = f"{dtype.__module__}.{dtype.__name__}"
    place = None
    if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
        dtype, place = dtype.replace("torch.cuda.", "torch."), "cuda"
    elif dtype is Tensor:
        dtype = get_default_dtype()
    if isinstance(dtype, str | type):
        text = dtype if isinstance(dtype, str) else dtype.__name__
        if text not in names:
            raise ValueError(f"invalid type: '{text}'")
        dtype = names[text]
    if not isinstance(dtype, Dtype):
        raise TypeError("dtype must be a type, str, or dtype object")
    return converted_to(self, dtype, place)


@public("function")
def set_default_tensor_type(t: Any) -> None:
    """Makes the dtype of an old tensor type the default; counterpart of `torch.set_default_tensor_type`.

    Args:
        t: such as `torch.DoubleTensor`, or its name, "torch.DoubleTensor".
    """
    if isinstance(t, str):
        module, _, name = t.rpartition(".")
        if module != "torch" or name not in TYPES:
            raise ModuleNotFoundError(f"No module named '{module or t}'")
        t = TYPES[name]
    if not isinstance(t, tensortype):
        raise TypeError("invalid type object")
    warn_once("set_default_tensor_type", DEPRECATED)
    set_default_dtype(t.dtype)


def attach_methods() -> None:
    """Makes `Tensor` itself a constructor, and classes that inherit from it."""

    def new(cls: type, *arguments: Any, **named: Any) -> Any:
        return of_class(made(None, arguments, named), cls)

    Tensor.__new__ = new  # type: ignore[method-assign, assignment]


def _bytes_of(buffer: Any) -> memoryview:
    try:
        return memoryview(buffer).cast("B")
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None


@public("function")
def frombuffer(buffer: Any, *, dtype: Dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A leaf on the bytes of an object with a buffer, read as `dtype`. Counterpart of `torch.frombuffer`.

    What is written to the one is in the other, too, where the buffer can be written.

    Args:
        buffer: such as `bytes` or `array.array`.
        dtype: what its bytes are.
        count: how many elements to read; -1 for all.
        offset: how many bytes to leave out first.
    """
    data = _bytes_of(buffer)
    size, length = dtype.itemsize, len(data)
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({size})"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    array = np.frombuffer(data, dtype.numpy, count if count > 0 else (length - offset) // size, offset)
    if not array.flags.writeable or array.dtype.kind == "V":
        return tensor(array.copy(), dtype=dtype, requires_grad=requires_grad)
    return from_numpy(array).requires_grad_(requires_grad)


@public("function")
def asarray(
    obj: Any,
    *,
    dtype: Dtype | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """`obj` as a tensor: a tensor as it is, where dtype and device allow, data as a leaf. As `torch.asarray`.

    Args:
        obj: a tensor, an array, an object with a buffer, a number, or nested sequences of numbers.
        dtype: the dtype, by default its own.
        device: where it shall be, by default where it is.
        copy: whether to copy in any case; False for an error where a copy is needed.
        requires_grad: whether it shall require a gradient; None for what it does.

    ValueError where `copy=False` and a copy is needed.
    """
    own = taken("asarray", dtype)
    if type(obj).__name__ == "PyCapsule":
        obj = from_dlpack(obj)
    if isinstance(obj, Tensor | np.ndarray | np.generic | jax.Array):
        if copy is False and isinstance(obj, np.generic):
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
        shares = type(obj) is np.ndarray and copy is not True and obj.flags.writeable
        shares_jax = isinstance(obj, jax.Array) and copy is not True
        known = obj if isinstance(obj, Tensor) else from_numpy(obj) if shares else from_jax(obj) if shares_jax else None
        source = tensor(obj) if known is None else known
        if copy is False and own not in (None, source.dtype):
            raise ValueError(f"can't alias tensor with dtype '{source.dtype.legacy}' into dtype '{own.legacy}'.")
        result = converted_to(source, own, device, bool(copy) and source is obj)
    elif not isinstance(obj, list | tuple | str) and _has_buffer(obj):
        result = frombuffer(obj, dtype=own or get_default_dtype())
        result = result.clone() if copy else result
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        result = tensor(obj, dtype=own, device=device)
    if requires_grad is False and result.requires_grad:
        return result.detach()
    if requires_grad and not result.requires_grad:
        if not result.dtype.differentiable:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        result = (result.detach() if result is obj else result).requires_grad_()
    return result


def _has_buffer(obj: Any) -> bool:
    if isinstance(obj, NUMERIC):
        return False
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True

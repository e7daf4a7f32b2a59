"""Conversion of tensors from and to torch, NumPy and any library with DLPack; copies and pickles.

A value is converted without its graph, and without a copy where the device and the memory layout allow.
"""

import importlib
from contextlib import suppress
from copy import deepcopy
from copyreg import _slotnames  # type: ignore[attr-defined]
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.core.record.graph import Node, hold
from jaxvjp.core.record.modes import grad_mode, transforming
from jaxvjp.core.record.record import detached, node_of_value, separate, tracers, variable_of
from jaxvjp.library.creation import tensor as tensor_of
from jaxvjp.library.factories import laid
from jaxvjp.ops.identity import traced, variable
from jaxvjp.ops.layouts import Layout, like
from jaxvjp.ops.op import Aval
from jaxvjp.tensor import bindings
from jaxvjp.tensor.conversion import converted_to
from jaxvjp.tensor.published import public
from jaxvjp.tensor.refusals import advice_on, advice_on_array, is_key
from jaxvjp.tensor.shared_memory import address, owner_of, share, storage_of
from jaxvjp.tensor.storage import FIELDS, Storage, new_storage, of_class
from jaxvjp.tensor.tensor import Tensor, wrap, wrap_unlinked
from jaxvjp.tensor.view_steps import strided_step
from jaxvjp.types.devices import place_of
from jaxvjp.types.dtypes import Dtype, taken
from jaxvjp.types.dtypes import from_numpy as dtype_of
from jaxvjp.types.meshes import OnMesh, on_axes_of
from jaxvjp.types.user_code import own_name, warn_user

UNDERNEATH = "`jnp.from_dlpack` and `np.asarray`; a value without its graph"


def from_torch(tensor: Any, *, copy: bool = False) -> Tensor:
    """The value of a torch tensor, as a leaf; `requires_grad` and, as a value, `.grad` cross with it.

    The memory is shared, by DLPack, where JAX can read it as it is, and copied where it cannot (strided tensors, memory
    that is not aligned). A write by torch to shared memory changes recorded values unnoticed: if torch goes on writing,
    ask for a `copy`.

    Raises:
        TypeError: for something else than a torch tensor.
        RuntimeError: for a tensor that was computed from one that requires a gradient: its graph cannot cross.

    Counterpart of `torch.utils.dlpack.from_dlpack`.
    """
    if not any((base.__module__, base.__name__) == ("torch", "Tensor") for base in type(tensor).__mro__):
        raise TypeError(
            f"expected torch.Tensor (got {type(tensor).__name__})\n`{own_name()}.tensor(data)` takes numbers."
        )
    _check_leaf(tensor)
    crossed = from_dlpack(tensor.detach(), copy=copy).requires_grad_(tensor.requires_grad)
    if tensor.is_leaf and tensor.grad is not None:
        crossed.grad = from_torch(tensor.grad.detach(), copy=copy)
    return crossed


def to_torch(self: Tensor, *, copy: bool = False) -> Any:
    """The value as a torch tensor, as a leaf; `requires_grad` and, as a value, `.grad` cross with it.

    The memory is shared, by DLPack, where torch can read it. JAX's arrays never change, so torch must not write to it:
    if it has to, ask for a `copy`. RuntimeError for a tensor whose graph would be lost (`detach` it), ImportError where
    torch is not installed.
    """
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as error:
        raise ImportError("to_torch needs torch: pip install 'jaxvjp[compare]'") from error
    _check_leaf(self)
    crossed = torch.from_dlpack(self.__value__)
    crossed = (crossed.clone() if copy else crossed).requires_grad_(self.requires_grad)
    if self.is_leaf and self.grad is not None:
        crossed.grad = to_torch(self.grad.detach(), copy=copy)
    return crossed


def _check_leaf(tensor: Any) -> None:
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Only a leaf can cross: this tensor was computed from one that requires a gradient, and its graph stays "
            f"behind.\nIts value crosses as `x.detach()`; its shape is {list(tensor.shape)}."
        )


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A leaf with the memory of an object that has `__dlpack__`, shared where JAX can read it; see `from_torch`.

    Raises:
        TypeError: there is no `__dlpack__`, or a type that torch does not have.

    Counterpart of `torch.from_dlpack`.
    """
    if device is not None:
        return from_dlpack(ext_tensor, copy=copy).to(device)
    if isinstance(ext_tensor, np.ndarray) and not copy:
        return from_numpy(ext_tensor)
    if isinstance(ext_tensor, Tensor):
        return ext_tensor.detach().clone() if copy else ext_tensor.data
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = _Capsule(ext_tensor)
        with suppress(BufferError, RuntimeError, TypeError):  # what NumPy has no type for
            array = np.from_dlpack(ext_tensor)
            known = storage_of(array)
            return tensor_of(array) if known is None or copy else _shown(array, *known)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TypeError(f"from_dlpack takes an object with __dlpack__, not {type(ext_tensor).__name__}")
    with jax.enable_x64(True):
        try:
            value = jax.dlpack.from_dlpack(ext_tensor)
        except (RuntimeError, ValueError):  # strides that JAX has no layout for
            torch_has_it = hasattr(ext_tensor, "contiguous")  # NumPy cannot read bfloat16
            value = jax.dlpack.from_dlpack(
                ext_tensor.contiguous() if torch_has_it else np.array(np.from_dlpack(ext_tensor))
            )
        if copy:
            value = jnp.copy(value)
    return wrap(node_of_value(value, Aval(value.shape, dtype_of(value.dtype), place=place_of(value))))


def from_jax(array: Any, *, requires_grad: bool = False) -> Tensor:
    """A JAX array as a tensor that shows the same memory.

    Args:
        array: the array. One of a weak type, as `jnp.asarray(2.0)` is, becomes one of its dtype.

    Returns:
        a leaf of the array's shape, dtype and device. JAX's arrays never change: a write to the tensor leaves it alone.

    Raises:
        TypeError: something else than a JAX array, or one of keys of `jax.random`; or a tracer, outside of functions
            of `torch.functional`: that makes tensors of its arguments.
        RuntimeError: `requires_grad` for a dtype that is neither floating point nor complex.

    One that is sharded stays so. What is computed of it is sharded by GSPMD, and has axes like its own, `Explicit` ones
    too, when it goes back to JAX.

    Underneath: the array itself.
    """
    if not (isinstance(array, jax.Array) and is_array(array)):
        if isinstance(array, Tensor):
            advice = "It is one already, as all arguments of a function of `torch.functional` are."
        elif any(isinstance(each, jax.Array) for each in jax.tree.leaves(array)) and not is_key(array):
            advice = f"Of a pytree each: `jax.tree.map({own_name()}.from_jax, tree)`."
        else:
            advice = advice_on(array)
        raise TypeError(f"expected jax.Array (got {type(array).__name__})\n{advice}")
    if isinstance(array, jax.core.Tracer) and not transforming().pure:
        raise TypeError(f"expected jax.Array (got a tracer)\n{advice_on(array)}")
    made = wrap(node_of(array))
    return made.requires_grad_() if requires_grad else made


def is_array(value: Any) -> bool:
    """Whether JAX takes a value for an array of numbers; its keys of random numbers are none."""
    if isinstance(value, jax.Array):
        return not jnp.issubdtype(value.dtype, jax.dtypes.extended)
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind != "O"


def aval_of(array: Any) -> Aval:
    """The abstract value of an array, a NumPy one or a tracer; TypeError for a dtype that torch does not have."""
    place = place_of(array) if isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer) else None
    return Aval(tuple(array.shape), dtype_of(array.dtype), place=place)


def node_of_array(array: Any) -> Node:
    """A node with this array, of JAX or NumPy, as its value."""
    if isinstance(array, jax.Array) and array.weak_type:
        array = jax.dlpack.from_dlpack(array)  # the same memory, of the same type for good
    aval = aval_of(array)
    if type(aval.device) is OnMesh:
        importlib.import_module("jaxvjp.library.sharding")  # a tensor on a mesh has `placements`
        array = on_axes_of(aval.device.mesh, array)
    return node_of_value(array, aval)


def node_of(array: Any) -> Node:
    """A node with an array as its value, or standing for a tracer."""
    return argument_node(aval_of(array), array) if isinstance(array, jax.core.Tracer) else node_of_array(array)


def argument_node(aval: Aval, array: Any = None) -> Node:
    """A leaf without a value that stands for an argument of a pure function: for `array`, if that is known.

    It requires a gradient, so that `detach`, `no_grad` and custom Functions are recorded; JAX may differentiate. Under
    `no_grad()` it does not, as the user's block is around what JAX traces, and JAX differentiates all the same.
    """
    tracked = aval.dtype.differentiable and grad_mode().enabled
    node = Node(variable, (), (Node(traced, (), (), aval),), aval, tracked)
    if array is not None:
        tracers[node] = array
    return node


class _Capsule:
    """What has a DLPack capsule of memory on the CPU."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _dlpack(self: Tensor, **arguments: Any) -> Any:
    """A DLPack capsule of the value; BufferError where a gradient would be lost unnoticed."""
    stream = arguments.get("stream")
    if stream is not None and not isinstance(stream, int):
        raise TypeError("stream must be ``int`` or ``none``")
    if self.is_cpu and stream is not None:
        raise AssertionError("stream should be None on cpu.")
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    shared = self.numpy() if self.is_cpu else self.__value__
    return (shared if isinstance(shared, np.ndarray) and shared.flags.writeable else self.__value__).__dlpack__(
        **arguments
    )


def _dlpack_device(self: Tensor) -> Any:
    """The value's device in DLPack's numbers."""
    value: Any = self.__value__
    return value.__dlpack_device__()


def _wrapped(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
    """What NumPy makes of the result of its functions on tensors, `np.sin(x)`: a tensor, of truth values as uint8."""
    result = np.asarray(array)
    return tensor_of(result.astype(np.uint8) if result.dtype == bool else result)


def _beside_array(other: Any) -> Any:
    """An array of NumPy's that is compared with a tensor as one, where torch has its type."""
    return tensor_of(other) if isinstance(other, np.ndarray) and other.dtype.kind in "biufc" else other


def _rebuilt(
    array: Any,
    own: Dtype,
    requires_grad: bool,
    kind: type[Tensor] | None = None,
    strides: tuple[int, ...] | None = None,
    state: Any = None,
) -> Tensor:
    tensor = tensor_of(array, dtype=own, requires_grad=requires_grad)
    if strides is not None:
        laid(tensor, strides)
    tensor.__versions__.count = 1  # as in torch, which fills it by `set_`
    tensor.__count_for__(tensor.__node__)
    return with_state(of_class(tensor, kind or Tensor), state)


def _reduced(self: Tensor, _protocol: Any) -> tuple[Any, ...]:
    """What `pickle` writes: type, value, dtype, `requires_grad` and the user's attributes, neither graph nor `.grad`,
    as in torch."""
    layout, state = self.__layout__(), state_of(self)
    rest = () if type(self) is Tensor and layout.contiguous and not state else (type(self), like(layout), state)
    return _rebuilt, (np.asarray(self.__value__), self.dtype, self.requires_grad, *rest)


OWN = frozenset(["__shown__", *FIELDS])
"""The attributes that a tensor keeps for itself; others are the user's."""


def _attributes(tensor: Tensor) -> tuple[dict[str, Any], dict[str, Any]]:
    """The user's attributes of a tensor, and those in `__slots__`."""
    slots = [name for name in _slotnames(type(tensor)) if name not in OWN and hasattr(tensor, name)]
    return dict(vars(tensor)), {name: getattr(tensor, name) for name in slots}


def state_of(tensor: Tensor) -> Any:
    """What a pickle and a copy keep of the user's attributes, as `object.__getstate__` has it; None for nothing."""
    own: Any = type(tensor).__getstate__
    if own is not object.__getstate__:
        return own(tensor)
    given, slots = _attributes(tensor)
    return (given, slots) if slots else given or None


def with_state(made: Any, state: Any) -> Any:
    """A tensor with the attributes of such a state. TypeError for one that a tensor keeps for itself."""
    own: Any = getattr(type(made), "__setstate__", None)
    if own is not getattr(Tensor, "__setstate__", None):  # a subclass's; Cython gives its classes one that refuses
        own(made, state)
        return made
    for each in state if isinstance(state, tuple) else (state,):
        for name, value in (each or {}).items():
            if name in OWN:
                raise TypeError(f"a tensor keeps {name} for itself")
            setattr(made, name, value)
    return made


def _copied(self: Tensor) -> Tensor:
    """What `copy.copy` gives: another tensor on the same storage, with the same attributes."""
    alias = self.data.requires_grad_(self.requires_grad)
    alias.__versions__.count = 1
    alias.__count_for__(alias.__node__)
    return with_state(of_class(alias, type(self)), state_of(self))


def _deeply_copied(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """What `copy.deepcopy` gives: a leaf of its own with the same value, and the same `.grad`."""
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001\n"
            "This one was computed from a tensor that requires a gradient; `x.detach()` has a value and no graph."
        )
    if id(self) not in memo:
        made = wrap_unlinked((variable_of if self.requires_grad else separate)(self.__node__))
        hold(made.__node__, made)
        if self.__storage__ is not None:
            memo.setdefault(id(self.__storage__), new_storage(detached(self.__contents__)))
            made.__place__(memo[id(self.__storage__)], self.__view_path__)
        made.__versions__.count = 1  # torch fills the copy by `set_`, which counts
        made.__count_for__(made.__shown__)
        made = of_class(made, type(self))
        given, slots = _attributes(self)
        made.__dict__.update(deepcopy(given, memo))
        for name, each in slots.items():
            setattr(made, name, deepcopy(each, memo))
        made.grad = None if self.grad is None else _deeply_copied(self.grad, memo)
        memo[id(self)] = made
    return memo[id(self)]


def attach_methods() -> None:
    """Adds the methods of conversion to `Tensor`."""
    bindings.BESIDE.update({"==": _beside_array, "r/": _beside_array})
    for name, method in {
        "to_torch": to_torch,
        "__array_wrap__": _wrapped,
        "__dlpack__": _dlpack,
        "__dlpack_device__": _dlpack_device,
        "__reduce_ex__": _reduced,
        "__copy__": _copied,
        "__deepcopy__": _deeply_copied,
    }.items():
        method.__name__ = name
        setattr(Tensor, name, method)


@public("function")
def from_numpy(ndarray: Any) -> Tensor:
    """A leaf on the memory of a NumPy array; counterpart of `torch.from_numpy`.

    On a CPU what is written to the one is in the other, too; elsewhere it is a copy.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__}){advice_on_array(ndarray)}")
    if any(stride < 0 for stride in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    if any(stride % ndarray.itemsize for stride in ndarray.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
            "memory."
        )
    if not ndarray.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
            "currently not supported."
        )
    if not ndarray.flags.writeable:
        warn_user(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
            "data or make it writable before converting it to a tensor. This type of warning will be suppressed for "
            "the rest of this program."
        )
    known = storage_of(ndarray)
    if known is not None:
        return _shown(ndarray, *known)
    made = tensor_of(ndarray)
    layout = Layout(ndarray.shape, tuple([stride // ndarray.itemsize for stride in ndarray.strides]))
    if layout.dense:
        laid(made, layout.strides)
    else:
        length = layout.reach[1]
        whole = np.lib.stride_tricks.as_strided(ndarray, (length,), (ndarray.itemsize,))
        memory = node_of_value(np.array(whole), made.__node__.aval.shaped((length,)))
        made.__place__(new_storage(memory), (strided_step(memory, *layout[:3]),))
    owner = owner_of(ndarray)
    if made.is_cpu and ndarray.flags.writeable and owner.flags.forc:
        share(made.storage, owner, address(ndarray) - address(owner))
    return made


def _shown(array: Any, memory: Storage, begins: int) -> Tensor:
    """A tensor on a storage that shares the array's memory, where `array` is in it."""
    made: Tensor = tensor_of(np.empty(0, array.dtype))
    strides = tuple([stride // array.itemsize for stride in array.strides])
    made.__move__(memory, (strided_step(memory.contents, array.shape, strides, begins),))
    return made


@public("function")
def as_tensor(data: Any, dtype: Dtype | None = None, device: Any = None) -> Tensor:
    """`data` as a tensor: itself where it is one of that dtype and device, else a copy. As `torch.as_tensor`.

    A NumPy array is shared, as by `from_numpy`, and one of JAX, as by `from_jax`.
    """
    dtype = taken("as_tensor", dtype)
    if type(data) is np.ndarray and data.flags.writeable and min(data.strides, default=0) >= 0:
        data = from_numpy(data)
    data = from_jax(data) if isinstance(data, jax.Array) else data
    return (
        converted_to(data, dtype, device) if isinstance(data, Tensor) else tensor_of(data, dtype=dtype, device=device)
    )

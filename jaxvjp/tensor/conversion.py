"""A tensor in another dtype or on another device: `x.to(...)`, `x.double()`, `x.cuda()`.

Each returns the tensor itself if nothing has to change, else a new one through which gradients flow: by a `cast` in the
program, or by a transfer between programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from jaxvjp.core.record.record import record
from jaxvjp.core.run.transfer import moved
from jaxvjp.ops.layouts import by_channels, contiguous_format, preserve_format
from jaxvjp.ops.pointwise import cast
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.devices import device as Device  # noqa: N812 - `device` is an argument's name here
from jaxvjp.types.devices import of, place
from jaxvjp.types.dtypes import ALIASES, FROM_PYTHON, advice_on_type, bfloat16, bool_, check_usable, int8, uint8
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: N812 - `dtype` is an argument's name here
from jaxvjp.types.meshes import OnMesh


@overload
def to(self: Tensor, dtype: Dtype, non_blocking: bool = False, copy: bool = False) -> Tensor: ...
@overload
def to(
    self: Tensor,
    device: Device | str | int | None = None,
    dtype: Dtype | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    *,
    memory_format: Any = None,
) -> Tensor: ...
@overload
def to(self: Tensor, tensor: Tensor, non_blocking: bool = False, copy: bool = False) -> Tensor: ...
def to(self: Tensor, *arguments: Any, **named: Any) -> Tensor:
    """The tensor in another dtype or on another device, through which gradients flow; itself where it is so already.

    `to(dtype)`, `to(device)`, `to(device, dtype)` or `to(other)`, for the dtype and device of another tensor; each
    with `copy=True` for a copy in any case, and with `non_blocking`, for JAX waits for no move anyway. TypeError for
    other arguments. Counterpart of `torch.Tensor.to`; underneath, `jax.device_put` and `astype`.
    """
    first = named.pop("tensor") if "tensor" in named else arguments[0] if arguments else None
    if isinstance(first, Tensor):
        arguments = (first.device, first.dtype, *(arguments[1:] if arguments and arguments[0] is first else arguments))
    elif isinstance(first, Dtype) or (isinstance(first, type) and first in FROM_PYTHON):
        arguments = (None, *arguments)
    given = dict(zip(("device", "dtype", "non_blocking", "copy"), arguments, strict=False)) | named
    if isinstance(given.get("dtype"), type):
        given["dtype"] = FROM_PYTHON.get(given["dtype"], given["dtype"])
    fits = (
        len(arguments) <= 4
        and len(given) == len(arguments) + len(named)
        and given.keys() <= {"device", "dtype", "non_blocking", "copy", "memory_format"}
        and isinstance(given.get("device"), Device | str | int | None)
        and isinstance(given.get("dtype"), Dtype | None)
    )
    if not fits:
        kinds = [type(argument).__name__ for argument in arguments]
        kinds += [f"{name}={type(each).__name__}" for name, each in named.items()]
        got = ", ".join(kinds) + ("" if arguments else ", ")
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({got}), but expected one of:\n"
            " * (device, dtype, non_blocking=False, copy=False)\n * (dtype, non_blocking=False, copy=False)\n"
            " * (other, non_blocking=False, copy=False)" + "".join(map(advice_on_type, (*arguments, *named.values())))
        )
    made = converted_to(self, given.get("dtype"), given.get("device"), bool(given.get("copy")))
    return _in_format(self, made, given.get("memory_format"))


def _in_format(given: Tensor, made: Tensor, form: Any) -> Tensor:
    """What was made of a tensor, laid out by `form`: itself where it is the tensor, whose strides suggest that."""
    if form is None or form is preserve_format:
        return made
    if made is given and by_channels(given.__layout__()) == (form is not contiguous_format):
        return made
    copied: Tensor = made.clone(memory_format=form)
    return copied


def converted_to(tensor: Tensor, dtype: Dtype | None, device: Any, copy: bool = False) -> Tensor:
    """`tensor` in a dtype and on a device, None for its own; itself, unless `copy`, where both are its own."""
    check_usable(dtype)
    # As in torch, the tensor itself is also given where it is a view that may not be read.
    node = tensor.__node__
    where = node.device if device is None else place(device)
    if type(node.device) is OnMesh and of(where).type == of(node.device).type:
        where = node.device  # as in torch, it stays on its mesh
    if not copy and where is node.device and dtype in (None, node.aval.dtype):
        return tensor
    node = tensor.__node__
    if dtype not in (None, node.aval.dtype) or where is node.device:
        node = record(cast, (node,), (dtype or node.aval.dtype,))
    return wrap(moved(node, where))


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor in the host's memory; itself where it is there. Counterpart of `torch.Tensor.cpu`."""
    return converted_to(self, None, "cpu")


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor on a GPU, the first unless told otherwise; AssertionError where JAX has none."""
    where = Device("cuda" if device is None else device)
    if where.type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device\nIt is '{where}', to which `to` moves a tensor.")
    return converted_to(self, None, where)


def conversion_to(name: str, target: Dtype) -> Callable[..., Tensor]:
    """torch's method for a dtype: `x.double()`."""

    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        return _in_format(self, converted_to(self, target, None), memory_format)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The tensor as {target}; itself where it is one. Counterpart of `torch.Tensor.{name}`."
    return method


def attach_methods() -> None:
    """Adds `to`, `cpu`, `cuda` and a method for every dtype to `Tensor`."""
    for method in (to, cpu, cuda):
        setattr(Tensor, method.__name__, method)
    for name, target in {**ALIASES, "bool": bool_, "bfloat16": bfloat16, "byte": uint8, "char": int8}.items():
        setattr(Tensor, name, conversion_to(name, target))

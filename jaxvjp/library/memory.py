"""Addresses, storages, memory formats, and `set_`.

JAX shows no memory, so an address here is an invented number. As in torch, it tells which tensors share a storage, and
where in it they begin.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Self

from jaxvjp.core.record.modes import grad_mode
from jaxvjp.core.record.record import record
from jaxvjp.library.creation import empty
from jaxvjp.ops.arguments import size as size_argument
from jaxvjp.ops.identity import clone
from jaxvjp.ops.layouts import contiguous_format, contiguous_strides, memory_format, preserve_format
from jaxvjp.ops.strided import laid
from jaxvjp.tensor import storage
from jaxvjp.tensor.published import public
from jaxvjp.tensor.storage import Storage
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.tensor.view_steps import strided_step
from jaxvjp.types.devices import device, of
from jaxvjp.types.dtypes import CTYPES, uint8

UNDERNEATH = "what is known of the tensor's storage; a copy of it is a recorded op"

ADDRESS_STEP = 1 << 44
"""The distance of the addresses of two storages; no storage is longer."""
_next_address = count(ADDRESS_STEP, ADDRESS_STEP).__next__


class UntypedStorage:
    """The memory that tensors share, as bytes; counterpart of `torch.UntypedStorage`."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.device: device = of(storage.contents.device)

    def data_ptr(self) -> int:
        """The address: equal for the same storage only, and 0 for one of no bytes."""
        if not self._storage.address:
            shared = self._storage.shared
            self._storage.address = (shared is not None and shared.address()) or _next_address()
        address: int = self._storage.address if self.nbytes() else 0
        return address

    _cdata = property(data_ptr)

    def nbytes(self) -> int:
        """How many bytes it has."""
        count: int = self._storage.contents.aval.nbytes
        return count

    def size(self) -> int:
        """How many elements it has, which are bytes."""
        return self.nbytes() // self.element_size()

    def __len__(self) -> int:
        return self.size()

    def element_size(self) -> int:
        """1, for it is bytes."""
        return 1

    def _elements(self) -> Tensor:
        """A tensor of all that is in it."""
        return self._typed().view(uint8)

    def _typed(self) -> Tensor:
        return set_(empty(0, dtype=self._storage.contents.aval.dtype), self)

    def __getitem__(self, index: int) -> Any:
        return self._elements()[index].item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._elements()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """What is in it, as Python numbers."""
        numbers: list[Any] = self._elements().tolist()
        return numbers

    def fill_(self, value: complex) -> Self:
        """Writes a number everywhere."""
        self._elements().fill_(value)
        return self

    def clone(self) -> Self:
        """A copy of it."""
        return type(self)(self._typed().clone().storage)


class TypedStorage(UntypedStorage):
    """The memory that tensors share, as numbers of their type; counterpart of `torch.TypedStorage`."""

    _told = False

    def __init__(self, storage: Storage) -> None:
        if not TypedStorage._told:
            TypedStorage._told = True
            warnings.warn(
                "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only "
                "storage class. This should only matter to you if you are using storages directly.  To access "
                "UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()",
                UserWarning,
                stacklevel=3,
            )
        super().__init__(storage)
        self.dtype = storage.contents.aval.dtype

    def element_size(self) -> int:
        """How many bytes a number has."""
        return int(self.dtype.itemsize)

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._storage)

    _elements = UntypedStorage._typed


def is_contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> bool:
    """Whether the elements lie in memory in their order, or in that of a format. As `torch.Tensor.is_contiguous`."""
    layout, order = self._layout(), memory_format.order
    if order is None:
        return layout.contiguous
    return len(layout.shape) == len(order) and layout.ordered(order)


def contiguous(self: Tensor, memory_format: memory_format = contiguous_format) -> Tensor:
    """This tensor, or a copy of it that is contiguous, or laid out by a format. As `torch.Tensor.contiguous`.

    RuntimeError for a format of tensors of another number of dimensions.
    """
    if memory_format is preserve_format:
        if self._layout().contiguous:
            return self
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    strides = memory_format.strides(self._layout())
    return self if is_contiguous(self, memory_format) else wrap(record(laid, (self.node,), (strides,)))


@public("method function", name="clone")
def copy_of(input: Tensor, *, memory_format: memory_format | None = preserve_format) -> Tensor:
    """A copy with storage of its own, through which gradients flow. Counterpart of `torch.clone`.

    It is laid out as the tensor is, where that leaves no gaps, or by another `memory_format`.
    """
    if memory_format is None or memory_format is preserve_format:
        return wrap(record(clone, (input.node,)))
    return wrap(record(laid, (input.node,), (memory_format.strides(input._layout()),)))


@public("method")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor shares with its views. Counterpart of `torch.Tensor.untyped_storage`."""
    return UntypedStorage(self.storage)


@public("method")
def data_ptr(self: Tensor) -> int:
    """The address of the first element, as a number to compare. Counterpart of `torch.Tensor.data_ptr`."""
    if not self.numel():
        return 0
    return UntypedStorage(self.storage).data_ptr() + self.storage_offset() * int(self.dtype.itemsize)


@public("method")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both show the same part of a storage in the same way. Counterpart of `torch.Tensor.is_set_to`."""
    ours, theirs = [(each.storage_offset(), each.shape, each.stride()) for each in (self, tensor)]
    return self.storage is tensor.storage and ours == theirs


@public("method")
def set_(
    self: Tensor,
    source: Tensor | UntypedStorage | None = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """In place: shows another tensor's part of a storage, or the part named. Counterpart of `torch.Tensor.set_`.

    Args:
        source: whose storage; none for an empty one.
        storage_offset, size, stride: which part of it; without a size that which `source` shows.

    RuntimeError for a leaf that requires a gradient, outside of `no_grad`, and for what was computed from one.
    """
    self.check_writable()
    if grad_mode().enabled and self.requires_grad:
        raise RuntimeError("the derivative for 'set_' is not implemented.\nWrite `x = y`, or `x = x.detach()` first.")
    given = empty(0, dtype=self.dtype) if source is None else source
    memory = given._storage if isinstance(given, UntypedStorage) else given.storage
    dtype = memory.contents.aval.dtype
    if dtype is not self.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {CTYPES[dtype.name]} to a tensor of type {CTYPES[self.dtype.name]}\n"
            "Both have to be of one dtype; `source.to(x.dtype)` converts."
        )
    if isinstance(given, Tensor) and size is None:
        path = given.path
    else:
        shape = (math.prod(memory.contents.aval.shape),) if size is None else size_argument(size)
        strides = contiguous_strides(shape) if stride is None else size_argument(stride)
        path = (strided_step(memory.contents, shape, strides, storage_offset),)
    self.versions.written(given.node.where if isinstance(given, Tensor) else None)
    self.storage.version += 1  # so that views of it are computed anew
    self.move(memory, path)
    return self


def _nbytes(self: Tensor) -> int:
    """How many bytes its elements take."""
    return self.numel() * int(self.dtype.itemsize)


def attach_methods() -> None:
    """Adds `nbytes` and what takes a memory format to `Tensor`; `x.storage()` gives a `TypedStorage`."""
    storage.typed = TypedStorage
    for name, attribute in {
        "nbytes": property(_nbytes),
        "is_contiguous": is_contiguous,
        "contiguous": contiguous,
    }.items():
        setattr(Tensor, name, attribute)

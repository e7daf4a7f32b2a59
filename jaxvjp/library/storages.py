"""Storages as objects: `x.untyped_storage()`, the bytes that a tensor shares, and torch's old storages with a dtype.

JAX shows no memory, so an address here is an invented number, but for memory that is shared with NumPy. As in torch, it
tells which tensors share a storage, and where in it they begin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partialmethod
from itertools import count
from typing import Any, Self

import numpy as np

from jaxvjp.core.record.record import detached
from jaxvjp.library.creation import empty, tensor
from jaxvjp.library.files import from_file
from jaxvjp.tensor import storage
from jaxvjp.tensor.answers import publish
from jaxvjp.tensor.published import public
from jaxvjp.tensor.storage import Storage, new_storage
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.tensor.view_steps import strided_step
from jaxvjp.types import dtypes
from jaxvjp.types.devices import META, device, of
from jaxvjp.types.dtypes import Dtype
from jaxvjp.types.settings import warn_once

UNDERNEATH = "what is known of the tensor's storage; its contents are those of a tensor that shows all of it"

ADDRESS_STEP = 1 << 44
"""The distance of the addresses of two storages; no storage is longer."""
_next_address = count(ADDRESS_STEP, ADDRESS_STEP).__next__
DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
    "This should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)


def whole(memory: Storage, own: Dtype) -> Tensor:
    """All that is in a storage, as a tensor on it, its bytes read as `own`; those beyond the last element left out."""
    size = math.prod(memory.contents.aval.shape)
    made: Tensor = empty(0, dtype=memory.contents.aval.dtype, device=of(memory.contents.device))
    made.__move__(memory, (strided_step(memory.contents, (size,), (1,), 0),))
    if own is made.dtype:
        return made
    data = made.view(dtypes.uint8)
    return data[: data.numel() // own.itemsize * own.itemsize].view(own)


class Memory:
    """What both kinds of storages have: elements of `dtype`, on a `Storage`."""

    __slots__ = ()
    dtype: Dtype
    _storage: Any

    def _alike(self, memory: Storage) -> Self:
        """Such an object for another storage."""
        raise NotImplementedError

    def _elements(self) -> Tensor:
        return whole(self._storage, self.dtype)

    @property
    def device(self) -> device:
        """Where it is."""
        return of(self._storage.contents.device)

    is_cuda = property(lambda self: self.device.type == "cuda")

    def data_ptr(self) -> int:
        """The address: equal for the same storage only, and 0 for one of no bytes."""
        memory = self._storage
        if memory.contents.device is META:
            return 0
        if not memory.address:
            memory.address = (memory.shared is not None and memory.shared.address()) or _next_address()
        return memory.address if self.nbytes() else 0

    _cdata = property(data_ptr)

    def shown_as(self, own: Dtype | None) -> Tensor:
        """A tensor on it, of all its elements: what `torch.tensor(storage)` gives."""
        if own not in (None, self.dtype):
            raise RuntimeError(
                f"Expected a Storage of type {own.legacy} or an UntypedStorage, but got {self.dtype.legacy}"
            )
        return whole(self._storage, own or self.dtype)

    def nbytes(self) -> int:
        """How many bytes it has."""
        length: int = self._storage.contents.aval.nbytes
        return length

    def size(self) -> int:
        """How many elements it has."""
        return self.nbytes() // self.element_size()

    __len__ = size

    def element_size(self) -> int:
        """How many bytes an element has."""
        return int(self.dtype.itemsize)

    def resizable(self) -> bool:
        """Whether nobody else has its memory, such as NumPy."""
        return self._storage.shared is None

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def _place(self, index: Any) -> Any:
        if isinstance(index, slice):
            return index
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if not -self.size() <= index < self.size():
            raise IndexError(f"index {index} out of range for storage of size {self.size()}")
        return index

    def _readable(self) -> None:
        if self._storage.contents.device is META:
            raise NotImplementedError("Not available for 'meta' device type")

    def _listed(self) -> str:
        return "...\n" if self._storage.contents.device is META else "".join([f" {each}\n" for each in self.tolist()])

    def __setitem__(self, index: int | slice, value: Any) -> None:
        if isinstance(value, Memory):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        self._elements()[self._place(index)] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """What is in it, as Python numbers."""
        self._readable()
        numbers: list[Any] = self._elements().tolist()
        return numbers

    def fill_(self, value: complex) -> Self:
        """Writes a number everywhere."""
        self._elements().fill_(value)
        return self

    def copy_(self, source: Memory, non_blocking: bool | None = None) -> Self:
        """Writes the elements of another storage, converted."""
        self._elements().copy_(source._elements())
        return self

    def resize_(self, size: int) -> None:
        """Another number of elements, on the device `meta`; elsewhere NotImplementedError, as tensors are on it."""
        if self._storage.contents.device is not META:
            raise NotImplementedError("A storage keeps its size here\n`x.resize_(shape)` gives a tensor another one.")
        self._storage.contents = empty(size, dtype=self.dtype, device=META).__node__
        self._storage.version += 1

    def clone(self) -> Self:
        """A copy of it."""
        return self._alike(self._elements().clone().storage)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._alike(memo.setdefault(id(self._storage), new_storage(detached(self._storage.current()))))

    def cpu(self) -> Self:
        """It in the host's memory; itself where it is there."""
        return self if self.device.type == "cpu" else self._alike(self._elements().cpu().storage)


def _read_buffer(buffer: Any, own: Dtype, byte_order: str | None) -> Tensor:
    if own.itemsize > 1 and byte_order is None:
        raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
    data = bytes(buffer)
    array = np.frombuffer(data[: len(data) // own.itemsize * own.itemsize], np.uint8).copy()
    if byte_order == "big":
        array = array.reshape(-1, own.itemsize)[:, ::-1].reshape(-1)
    return tensor(array != 0) if own is dtypes.bool_ else tensor(array).view(own)


def _filled(arguments: tuple[Any, ...], own: Dtype, place: Any, told: str) -> Storage:
    """A new storage: of no elements, of a number of them, or of a sequence of numbers."""
    if len(arguments) > 1:
        raise RuntimeError(f"{told}\nToo many positional arguments")
    first = arguments[0] if arguments else 0
    if isinstance(first, int):
        return empty(first, dtype=own, device=place).storage
    if not isinstance(first, Sequence):
        raise TypeError(f"{told}\nArgument type not recognized: {type(first)}")
    return tensor(first, dtype=own, device=place).storage


class UntypedStorage(Memory, Storage):
    """The memory that tensors share, as bytes; counterpart of `torch.UntypedStorage`.

    The storage of each tensor is one, also before anybody asks for it.

    `UntypedStorage(3)` has three bytes, `UntypedStorage([1, 2])` these two.
    """

    def __init__(self, *arguments: Any, device: Any = None) -> None:
        told = "UntypedStorage() received an invalid combination of arguments"
        Storage.__init__(self, _filled(arguments, dtypes.uint8, device, told).contents)

    dtype = dtypes.uint8
    _storage = property(lambda self: self)

    def _alike(self, memory: Storage) -> Self:
        return self._of(memory.contents)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._of(detached(self.current()))

    def _of(self, contents: Any) -> Self:
        made: Self = type(self).__new__(type(self))
        Storage.__init__(made, contents)
        return made

    def __getitem__(self, index: int | slice) -> Any:
        self._readable()
        found = self._elements()[self._place(index)]
        return found.clone().storage if isinstance(index, slice) else found.item()

    def __repr__(self) -> str:
        return f"{self._listed()}[torch.storage.UntypedStorage(device={self.device}) of size {self.size()}]"

    def shown_as(self, own: Dtype | None) -> Tensor:
        return whole(self._storage, own or dtypes.int64)

    def untyped(self) -> UntypedStorage:
        """It is bytes already."""
        return self

    def byteswap(self, dtype: Dtype) -> None:
        """Turns the bytes of each element of a dtype around."""
        part = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        data = self._elements()
        data.copy_(data.clone().view(-1, part).flip(1).reshape(-1))

    @classmethod
    def from_buffer(cls, buffer: Any, byte_order: str | None = None, *, dtype: Dtype = dtypes.uint8) -> UntypedStorage:
        """A storage with a copy of the bytes of a buffer that has elements of a dtype."""
        return untyped(_read_buffer(buffer, dtype, byte_order).storage)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The memory of a file's bytes, as `torch.from_file` has it."""
        return untyped(from_file(filename, shared, nbytes, dtype=dtypes.uint8).storage)

    @property
    def filename(self) -> str | None:
        """The file that it is mapped to; None if there is none."""
        shared = self._storage.shared
        return None if shared is None else getattr(shared.owner.array, "filename", None)


def untyped(memory: Any) -> UntypedStorage:
    """A storage, for who wants it as the public class that it is of."""
    return memory


class TypedStorage(Memory):
    """The memory that tensors share, as numbers of their type; counterpart of `torch.TypedStorage`.

    Args:
        arguments: none, how many elements, or a sequence of numbers.
        dtype: their dtype, by default the default dtype.
        device: where they shall be.
        wrap_storage: whose bytes to read as that dtype.
    """

    def __init__(
        self,
        *arguments: Any,
        dtype: Dtype | None = None,
        device: Any = None,
        wrap_storage: UntypedStorage | None = None,
    ) -> None:
        warn_once("TypedStorage", DEPRECATED)
        own = dtypes.get_default_dtype() if dtype is None else dtype
        told = "TypedStorage.__init__ received an invalid combination of arguments."
        if wrap_storage is None:
            self._storage, self.dtype = _filled(arguments, own, device, told), own
            return
        if arguments:
            raise RuntimeError(f"{told}\nNo positional arguments should be given when using 'wrap_storage'")
        if dtype is None:
            raise RuntimeError(f"{told}\nArgument 'dtype' must be specified")
        if not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(f"{told}\nArgument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
        self._storage, self.dtype = wrap_storage, own

    def _alike(self, memory: Storage) -> Self:
        made: Self = object.__new__(type(self))
        made._storage, made.dtype = memory, self.dtype
        return made

    def __getitem__(self, index: int) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        self._readable()
        return self._elements()[self._place(index)].item()

    def __repr__(self) -> str:
        told = f"dtype={self.dtype}, device={self.device}"
        return f"{self._listed()}[torch.storage.TypedStorage({told}) of size {self.size()}]"

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return untyped(self._storage)

    _untyped_storage = property(untyped)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of its old type, or a copy of another dtype."""
        return f"torch.{self.dtype.legacy}Storage" if dtype is None else self._converted(dtype)

    def _converted(self, own: Dtype) -> TypedStorage:
        made = self._alike(self._elements().to(own).storage)
        made.dtype = own
        return made


CONVERSIONS = {
    **{name: each for name, each in dtypes.ALIASES.items() if not each.is_complex},
    "bool": dtypes.bool_,
    "bfloat16": dtypes.bfloat16,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
    "complex_float": dtypes.complex64,
    "complex_double": dtypes.complex128,
}
"""Methods of a `TypedStorage`, and the dtype that they convert to."""


for _name, _own in CONVERSIONS.items():
    setattr(TypedStorage, _name, partialmethod(TypedStorage._converted, _own))


class storagetype(type):  # noqa: N801 - as `tensortype`
    """The class of `torch.FloatStorage` and its like, which no storage is made of: it stands for those of one dtype."""

    dtype: Dtype

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __call__(cls, *arguments: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
        told = f"{cls}.__new__ received an invalid combination of arguments. Expected one of:"
        for name in named:
            raise RuntimeError(f"{told}\nKeyword argument '{name}' cannot be specified")
        if wrap_storage is None and arguments:  # whose errors have this class's name
            _filled(arguments, cls.dtype, None, told)
        return TypedStorage(*arguments, dtype=cls.dtype, wrap_storage=wrap_storage)

    def from_buffer(cls, buffer: Any, byte_order: str | None = None) -> TypedStorage:
        """A storage with a copy of the bytes of a buffer."""
        return TypedStorage(dtype=cls.dtype, wrap_storage=untyped(_read_buffer(buffer, cls.dtype, byte_order).storage))

    def from_file(cls, filename: str, shared: bool, size: int) -> TypedStorage:
        """The memory of a file, as `torch.from_file` has it."""
        memory = from_file(filename, shared, size, dtype=cls.dtype).storage
        return TypedStorage(dtype=cls.dtype, wrap_storage=untyped(memory))


def _type(own: Dtype) -> storagetype:
    name = f"{own.legacy}Storage"
    text = f"torch's old constructor of storages of dtype {own}: `{name}([1, 2])` of data, `{name}(2)` of a size."
    return storagetype(name, (), {"dtype": own, "__module__": "torch", "__doc__": text})


STORAGES = {f"{each.legacy}Storage": _type(each) for each in dtypes.ALL}
"""torch's old types of storages, by name: `FloatStorage`, `LongStorage` and others."""


OF_TENSORS = """
untyped_storage(self: Tensor) -> UntypedStorage = untyped(self.storage)
    The memory that the tensor shares with its views.
storage_type(self: Tensor) -> storagetype = STORAGES[f"{self.dtype.legacy}Storage"]
    The old type of its storage, such as `torch.FloatStorage`.
"""
publish({"method": OF_TENSORS}, globals())


@public("method")
def data_ptr(self: Tensor) -> int:
    """The address of the first element, as a number to compare. Counterpart of `torch.Tensor.data_ptr`."""
    if not self.numel() or self.is_meta:
        return 0
    return untyped(self.storage).data_ptr() + self.storage_offset() * int(self.dtype.itemsize)


def typed(memory: Storage) -> TypedStorage:
    """What `x.storage()` gives."""
    return TypedStorage(dtype=memory.contents.aval.dtype, wrap_storage=untyped(memory))


storage.typed, storage.kind_of_storage = typed, UntypedStorage

"""Memory that a storage shares with NumPy's arrays, as `x.numpy()` and `torch.from_numpy(a)` have it in torch.

JAX's arrays never change, so there are two memories, the array's and the storage's. What is written to the storage is
copied into the array at once. What NumPy writes is noticed when the tensor is next read: what is read, `x[3]` for
example, differs from the storage's contents. A storage holds the array; once nobody else does, what the array has is
taken over at the next read, and the sharing ends.
"""

from __future__ import annotations

from bisect import bisect
from sys import getrefcount
from types import SimpleNamespace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.record import node_of_value
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.values import readonly_array_of
from jaxvjp.ops.layouts import Layout
from jaxvjp.tensor.view_steps import Steps, laid_out, memory_of

Array = np.ndarray[Any, Any]


class Owner:
    """An array whose memory storages share: itself no view of another array.

    Attributes:
        array: the array. Nobody else here holds it for longer than a call.
        storages: those that share some of its memory; `latest` is the last one that began to.
        parts: where these parts begin and end, sorted; None once two of them have met.
        asked: whether somebody has asked for its address, and may write there.
    """

    def __init__(self, array: Array) -> None:
        self.array = array
        self.storages: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self.latest = 0
        self.parts: list[tuple[int, int]] | None = []
        self.asked = False

    def alone(self) -> bool:
        """Whether nobody else can write to a storage's part: no array, view or buffer is left, nor another storage."""
        apart = self.parts is not None or len(self.storages) < 2
        return apart and not self.asked and _references(self) == UNSHARED and _own(self.array)

    def add(self, storage: Any, begins: int) -> None:
        """Has a storage share the part that begins there."""
        storage.shared = shared = SharedMemory(storage.contents, self, begins)
        self.latest = id(storage)
        self.storages[self.latest] = storage
        if self.parts is not None:
            ends = begins + shared.nbytes
            place = bisect(self.parts, (begins, ends))
            meets = any(first < ends and begins < last for first, last in self.parts[max(place - 1, 0) : place + 1])
            self.parts.insert(place, (begins, ends))
            self.parts = None if meets else self.parts

    def end(self, storage: Any) -> None:
        """Ends the sharing with a storage."""
        storage.shared = None
        self.storages.pop(id(storage), None)


def _references(holder: Any) -> int:
    return getrefcount(holder.array)


UNSHARED = _references(SimpleNamespace(array=np.empty(0)))


def _own(array: Array) -> bool:
    """Whether memory is an array's alone: it has allocated it, or it is a `bytearray`'s that nobody else has."""
    buffer = array.base
    if not isinstance(buffer, memoryview):
        return buffer is None
    return type(buffer.obj) is bytearray and getrefcount(buffer) == 3 and getrefcount(buffer.obj) == 2


class SharedMemory:
    """The memory of a NumPy array that is that of a storage, too.

    Attributes:
        owner: the array that the memory belongs to.
        begins, nbytes: which part of it.
        known: its bytes when both sides last agreed.
        contents: the contents of the storage then.
    """

    def __init__(self, contents: Node, owner: Owner, begins: int = 0) -> None:
        self.owner = owner
        self.begins = begins
        self.nbytes = contents.aval.nbytes
        self.contents = contents
        self.known = self._bytes_of(contents)

    def bytes(self) -> Array:
        """The memory as it is now."""
        return np.ndarray(self.nbytes, np.uint8, _flat(self.owner.array), self.begins)

    def renewed(self, contents: Node, path: Steps, picks: tuple[Any, ...] = ()) -> Node:
        """The contents of the storage, which were `contents`, after what NumPy has written where `path` leads to, and
        of that where an index of NumPy's, `picks`, does."""
        if contents is not self.contents:  # a staged step has written them
            self.take(contents)
        elif not self._agrees(path, picks):
            self.known = self.bytes().copy()
            self.contents = node_of_value(np.asarray(_as_contents(self.known, contents), order="C"), contents.aval)
            if transforming().depth:
                self.contents.serial = contents.serial  # it was there before the function that is transformed
        return self.contents

    def _agrees(self, path: Steps, picks: tuple[Any, ...]) -> bool:
        """Whether the memory is as it was known, in that part."""
        layout = memory_of(self.contents)
        try:
            layout = laid_out(layout, path)
        except (AssertionError, ValueError):  # no part that has strides
            layout, picks = memory_of(self.contents), ()
        now, before = [_words(each, layout)[picks] for each in (self.bytes(), self.known)]
        return not (now != before).any()

    def address(self) -> int:
        """Where the memory begins, which stays as long as the storage does."""
        self.owner.asked = True
        return address(self.owner.array) + self.begins

    def take(self, contents: Node) -> None:
        """Has NumPy's arrays show new contents of the storage."""
        if contents.value is None:
            evaluate((contents,))
        _as_contents(self.bytes(), contents)[...] = readonly_array_of(contents)
        self.known, self.contents = self._bytes_of(contents), contents

    def _bytes_of(self, contents: Node) -> Array:
        """The bytes of contents that the memory has: without a copy, where they lie in order."""
        value = readonly_array_of(contents)
        if value.flags.c_contiguous and memory_of(contents).contiguous:
            return value.reshape(-1).view(np.uint8)
        return self.bytes().copy()

    def array(self, layout: Layout, dtype: Any) -> Array:
        """An array of this memory, laid out so."""
        if 0 in layout.shape:
            return np.empty(layout.shape, dtype)
        strides = [stride * layout.itemsize for stride in layout.strides]
        begins = self.begins + layout.offset * layout.itemsize
        return np.ndarray(layout.shape, dtype, _flat(self.owner.array), begins, strides)


_owners: WeakValueDictionary[int, Owner] = WeakValueDictionary()
"""Those whose memory is shared, by its address."""
SWEPT = 1 << 24
"""Bytes that may be shared anew until `look_everywhere`; more, if more was in use."""
_shared = SimpleNamespace(bytes=0, limit=SWEPT)


def share(storage: Any, array: Array, begins: int = 0) -> None:
    """Has a storage share that part of the memory of an array."""
    owner = _owners.get(address(array))
    if owner is None or owner.array is not array:
        owner = _owners[address(array)] = Owner(array)
    owner.add(storage, begins)
    _shared.bytes += storage.shared.nbytes + 1024
    if _shared.bytes > _shared.limit:
        look_everywhere()
        used = sum(each.shared.nbytes for owner in list(_owners.values()) for each in list(owner.storages.values()))
        _shared.bytes, _shared.limit = 0, max(SWEPT, used)


def look_everywhere() -> None:
    """Takes over what NumPy has written to any memory, also of tensors that nobody reads, and ends the sharing of what
    no array has any more."""
    for owner in list(_owners.values()):
        for storage in list(owner.storages.values()):
            storage.current()


def storage_of(array: Array) -> tuple[Any, int] | None:
    """The storage that shares an array's memory already, and at which element the array begins there; else None."""
    owner = _owners.get(address(owner_of(array)))
    storage = None if owner is None else owner.storages.get(owner.latest)
    if owner is None or storage is None:
        return None
    begins = address(array) - address(owner.array) - storage.shared.begins
    size = array.itemsize
    ends = begins + size + sum(by * (length - 1) for by, length in zip(array.strides, array.shape, strict=True))
    same = storage.contents.aval.dtype.numpy == array.dtype and not begins % size
    return (storage, begins // size) if same and array.size and begins >= 0 and ends <= storage.shared.nbytes else None


def new_memory(storage: Any) -> None:
    """Has a storage share its contents with NumPy, in a new memory."""
    contents = storage.contents
    owner = np.empty(contents.aval.nbytes, np.uint8)
    if contents.value is None:
        evaluate((contents,))
    _as_contents(owner, contents)[...] = readonly_array_of(contents)
    share(storage, owner)


def owner_of(array: Array) -> Array:
    """The array that an array's memory belongs to: itself, or the one that it is a view of."""
    while True:
        base: Any = array.base.obj if isinstance(array.base, memoryview) else array.base
        if not isinstance(base, np.ndarray):
            return array
        array = base


def address(array: Array) -> int:
    """Where the memory of an array begins."""
    begins: int = array.__array_interface__["data"][0]
    return begins


def _flat(owner: Any) -> Any:
    """An array as NumPy takes it for a buffer: with its elements in their order."""
    return owner if owner.flags.c_contiguous else owner.T


def _as_contents(memory: Array, contents: Node) -> Array:
    """The bytes of a storage as an array of its shape."""
    layout = memory_of(contents)
    strides = [stride * layout.itemsize for stride in layout.strides]
    return np.ndarray(layout.shape, contents.aval.dtype.numpy, memory, 0, strides)


def _words(memory: Array, layout: Layout) -> Array:
    """The bytes of elements that lie so in a memory, as the longest integers that they are made of."""
    size = min(layout.itemsize, 8)
    shape = *layout.shape, layout.itemsize // size
    strides = *[stride * layout.itemsize for stride in layout.strides], size
    return np.ndarray(shape, f"u{size}", memory, layout.offset * layout.itemsize, strides)

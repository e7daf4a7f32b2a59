"""Memory that a storage shares with NumPy's arrays, as `x.numpy()` and `torch.from_numpy(a)` have it in torch.

JAX's arrays never change, so there are two memories, the array's and the storage's, and a copy of what they last
agreed on. What is written to the storage is copied into the array at once. What NumPy writes is noticed when the tensor
is next read: the array differs from the copy. Once nobody has the array any more the sharing ends.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary, ref

import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.core.record.record import node_of_value
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.core.run.values import readonly_array_of
from jaxvjp.ops.layouts import Layout
from jaxvjp.tensor.view_steps import memory_of

Array = np.ndarray[Any, Any]


class SharedMemory:
    """The memory of a NumPy array that is that of a storage, too.

    Attributes:
        owner: a weak reference to the array that the memory belongs to.
        begins, nbytes: which part of it.
        known: its bytes when both sides last agreed.
        contents: the contents of the storage then.
        kept: the array itself, once somebody has asked for its address.
    """

    def __init__(self, contents: Node, owner: Array, begins: int = 0) -> None:
        self.owner = ref(owner)
        self.kept: Any = None
        self.begins = begins
        self.nbytes = contents.aval.nbytes
        self.contents = contents
        self.known = np.ndarray(self.nbytes, np.uint8, _flat(owner), begins).copy()

    def bytes(self) -> Array | None:
        """The memory as it is now; None if nobody has it any more."""
        owner = self.owner()
        return None if owner is None else np.ndarray(self.nbytes, np.uint8, _flat(owner), self.begins)

    def renewed(self, contents: Node) -> Node | None:
        """The contents of the storage, which were `contents`, after what NumPy has written; None if nobody has the
        memory any more."""
        memory = self.bytes()
        if memory is None:
            return None
        if contents is not self.contents:  # a staged step has written them
            self.take(contents)
        elif not np.array_equal(memory, self.known):
            self.known = memory.copy()
            self.contents = node_of_value(np.array(_as_contents(self.known, contents), order="C"), contents.aval)
        return self.contents

    def address(self) -> int:
        """Where the memory begins, which stays as long as the storage does."""
        self.kept = self.owner()
        return 0 if self.kept is None else address(self.kept) + self.begins

    def take(self, contents: Node) -> None:
        """Has NumPy's arrays show new contents of the storage."""
        memory = self.bytes()
        if memory is not None:
            if contents.value is None:
                evaluate((contents,))
            _as_contents(memory, contents)[...] = readonly_array_of(contents)
            self.known, self.contents = memory.copy(), contents

    def array(self, owner: Array, layout: Layout, dtype: Any) -> Array:
        """An array of this memory, which belongs to `owner`, laid out so."""
        if 0 in layout.shape:
            return np.empty(layout.shape, dtype)
        strides = [each * layout.itemsize for each in layout.strides]
        return np.ndarray(layout.shape, dtype, _flat(owner), self.begins + layout.offset * layout.itemsize, strides)


_storages: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""The storages that share memory with NumPy's arrays, by the address of the array that it belongs to."""


def share(storage: Any, owner: Array, begins: int = 0) -> None:
    """Has a storage share that part of the memory of an array."""
    storage.shared = SharedMemory(storage.contents, owner, begins)
    _storages[address(owner)] = storage


def storage_of(array: Array) -> tuple[Any, int] | None:
    """The storage that shares an array's memory already, and at which element the array begins there; else None."""
    storage = _storages.get(address(owner_of(array)))
    if storage is None or storage.shared is None or storage.shared.bytes() is None:
        return None
    begins = address(array) - address(storage.shared.owner()) - storage.shared.begins
    size = array.itemsize
    ends = begins + size + sum(by * (length - 1) for by, length in zip(array.strides, array.shape, strict=True))
    same = storage.contents.aval.dtype.numpy == array.dtype and not begins % size
    return (storage, begins // size) if same and array.size and begins >= 0 and ends <= storage.shared.nbytes else None


def new_memory(storage: Any) -> Array:
    """Memory for NumPy with the contents of a storage, as the array that it belongs to."""
    contents = storage.contents
    owner = np.empty(contents.aval.nbytes, np.uint8)
    if contents.value is None:
        evaluate((contents,))
    _as_contents(owner, contents)[...] = readonly_array_of(contents)
    share(storage, owner)
    return owner


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
    strides = [each * layout.itemsize for each in layout.strides]
    return np.ndarray(layout.shape, contents.aval.dtype.numpy, memory, 0, strides)

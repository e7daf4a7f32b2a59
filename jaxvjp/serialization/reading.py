"""`load`: reads what `save` or torch has written."""

from __future__ import annotations

import io
import os
import pickle
import re
import struct
import sys
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import numpy as np

from jaxvjp.library.creation import empty
from jaxvjp.library.crossing import with_state
from jaxvjp.library.factories import new_leaf
from jaxvjp.library.memory import set_
from jaxvjp.library.sparse_tensors import sparse_coo_tensor, sparse_csr_tensor
from jaxvjp.library.storages import UntypedStorage, untyped
from jaxvjp.nn.parameter import Parameter, rebuilt_parameter
from jaxvjp.ops.layouts import SPARSE, contiguous_strides, layout, strided
from jaxvjp.serialization.restricted import LEGACY_VERSION, MAGIC, Machine
from jaxvjp.tensor.storage import of_class
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.devices import count_of
from jaxvjp.types.devices import device as Device  # noqa: N812 - `device` is what it makes
from jaxvjp.types.dtypes import ALL, UNSIGNED
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: N812
from jaxvjp.types.size import Size

SINCE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source."
)
TWO_WAYS = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those steps "
    f"only if you trust the source of the checkpoint\033[0m. \n\t(1) {SINCE}\n\t(2) Alternatively, to load with "
    "`weights_only=True` please check the recommended steps in the following error message.\n\tWeightsUnpickler error: "
)
MORE = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)
NO_ARCHIVE = (
    "PytorchStreamReader failed reading zip archive: {}. If you are seeing this error, there is a high likelihood that "
    "your checkpoint file is corrupted. This can happen if the checkpoint was not saved properly, was transferred "
    "incorrectly, or the file was modified after saving."
)
NO_CUDA = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a "
    "CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
)


class StorageType:
    """What a file says of the dtype of a storage: `torch.FloatStorage`. None for bytes."""

    def __init__(self, dtype: Dtype | None) -> None:
        self.dtype = dtype


class Stored:
    """A storage of a file, of which tensors are made: they share the memory of the first."""

    def __init__(self, data: bytes, dtype: Dtype | None, device: Any) -> None:
        self.data = data
        self.dtype = dtype
        self.device = device
        self.memory: UntypedStorage | None = None

    def tensor(self, dtype: Dtype, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
        """The part of it with that offset, shape and strides; UnpicklingError for one that does not lie within."""
        numbers = (offset, *size, *stride)
        if not all(type(number) is int and number >= 0 for number in numbers) or len(size) != len(stride):
            raise pickle.UnpicklingError(f"no tensor has the size {size}, stride {stride} and offset {offset}")
        count = len(self.data) // dtype.itemsize
        last = offset + sum((each - 1) * step for each, step in zip(size, stride, strict=True))
        if 0 not in size and last >= count:
            raise pickle.UnpicklingError(
                f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset} are out of bounds "
                f"for storage of size {len(self.data)}"
            )
        if self.memory is None:
            array = np.frombuffer(self.data, dtype.numpy).copy()
            whole = offset == 0 and tuple(stride) == contiguous_strides(size) and np.prod(size, dtype=int) == count
            first = new_leaf(array.reshape(size) if whole else array, dtype, False, self.device)
            self.memory = untyped(first.storage)
            if whole:
                return first
        return set_(empty(0, dtype=dtype, device=self.device), self.memory, offset, size, stride)

    def fill(self, data: bytes) -> None:
        """Replaces the bytes, also those of the tensors that were made of it."""
        self.data = data
        if self.memory is not None:
            own = self.memory.contents.aval
            array = np.frombuffer(data, own.dtype.numpy).reshape(own.shape).copy()
            self.memory.contents = new_leaf(array, own.dtype, False, self.device).__node__
            self.memory.version += 1


class Part:
    """A part of a storage, from an element on, as files of torch's first versions have it."""

    def __init__(self, whole: Stored, begin: int) -> None:
        self.whole = whole
        self.dtype = whole.dtype
        self.begin = begin

    def tensor(self, dtype: Dtype, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
        return self.whole.tensor(dtype, self.begin + offset, size, stride)


def _rebuilt(
    stored: Stored, offset: int, size: Any, stride: Any, requires_grad: bool, hooks: Any, *more: Any
) -> Tensor:
    """What files call for a tensor; the name of the function there is `torch._utils._rebuild_tensor_v2`."""
    dtype = more[0] if more and isinstance(more[0], Dtype) else stored.dtype
    told = more[-1] if more and isinstance(more[-1], dict) else {}
    if dtype is None:
        raise pickle.UnpicklingError("a storage of bytes needs a dtype")
    found = stored.tensor(dtype, offset, tuple(size), tuple(stride))
    if told.get("conj"):
        found = found.conj()
    if told.get("neg"):
        found = -found
    return found.detach().requires_grad_() if requires_grad else found


def _sparse(kind: layout, parts: tuple[Any, ...]) -> Tensor:
    """What files call for a sparse tensor: its layout, and the arguments of the function that makes it."""
    if kind is SPARSE["sparse_csr"]:
        return sparse_csr_tensor(*parts)
    indices, values, size, *coalesced = parts
    return sparse_coo_tensor(indices, values, size, is_coalesced=bool(coalesced and coalesced[0]))


def _of_type(function: Callable[..., Any], kind: Any, arguments: tuple[Any, ...], state: Any) -> Any:
    """What files call for a tensor that has attributes, or is of a subclass."""
    if function not in (_rebuilt, rebuilt_parameter):
        raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {function}")
    made = function(*arguments)
    return with_state(made if type(made) is kind else of_class(made, kind), state)


def _bytes(text: str, encoding: str = "latin1") -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes are encoded as latin1, not {encoding}")
    return text.encode(encoding)


def _bytearray(content: bytes = b"", encoding: str = "latin1") -> bytearray:
    return bytearray(_bytes(content, encoding) if isinstance(content, str) else b"" + content)  # a number is no content


TABLE: dict[str, Any] = {
    "_codecs.encode": _bytes,
    "builtins.bytearray": _bytearray,
    "builtins.complex": complex,
    "builtins.set": set,
    "collections.Counter": Counter,
    "collections.OrderedDict": OrderedDict,
    "torch.Size": Size,
    "torch.Tensor": Tensor,
    "torch._tensor._rebuild_from_type_v2": _of_type,
    "torch._utils._rebuild_parameter": rebuilt_parameter,
    "torch._utils._rebuild_parameter_with_state": rebuilt_parameter,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._utils._rebuild_tensor": lambda *parts: _rebuilt(*parts, False, None),
    "torch._utils._rebuild_tensor_v2": _rebuilt,
    "torch._utils._rebuild_tensor_v3": _rebuilt,
    "torch.device": Device,
    "torch.nn.parameter.Parameter": Parameter,
    "torch.serialization._get_layout": {str(each): each for each in (strided, *SPARSE.values())}.__getitem__,
    "torch.storage.UntypedStorage": StorageType(None),
}
"""What a file may name: what its functions and classes are here."""
TABLE |= {f"{place}.{each.legacy}Storage": StorageType(each) for each in ALL for place in ("torch", "torch.cuda")}
TABLE |= {f"torch.{each.name}": each for each in (*ALL, *UNSIGNED)}
OF_TORCH = {
    "torch._C._nn": "torch.nn.functional",
    **dict.fromkeys(["torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm"], "torch.nn.utils.old_norms"),
}
"""torch's modules that are none here, and the module of ours that has what they have."""


class _Ours:
    """An unpickler for which torch's names mean jaxvjp's. It reads any pickle, which may run any code."""

    persistent: Callable[[Any], Any]

    def persistent_load(self, pid: Any) -> Any:
        return self.persistent(pid)

    def find_class(self, module: str, name: str) -> Any:
        known = TABLE.get(f"{module}.{name}".replace("__builtin__.", "builtins.", 1))
        if known is not None and module.partition(".")[0] == "torch":
            return known
        place = OF_TORCH.get(module, module)
        while place.partition(".")[0] == "torch":  # in our file of that name, or else in a package around it
            with suppress(ImportError, AttributeError):
                return getattr(import_module("jaxvjp" + place.removeprefix("torch")), name)
            place = place.rpartition(".")[0]
        return super().find_class(module, name)  # type: ignore[misc]


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads an object from a file that `save` or torch has written. Counterpart of `torch.load`.

    Args:
        f: a path, or an open file.
        map_location: where its tensors shall be: a device, a dict from devices in the file to devices, or a function
            of a storage and its device in the file. By default they go where they were.
        pickle_module: for `weights_only=False` the module to unpickle with, by default `pickle`.
        weights_only: whether to make only tensors, numbers, text and containers of them, and nothing that the file
            could run; True by default.
        mmap: accepted, without effect: the file is read.
        pickle_load_args: for `weights_only=False`, as of `pickle.load`.

    The format from before torch 1.6 is read, too. UnpicklingError for a file that wants more than `weights_only=True`
    allows; RuntimeError for one that is broken; FileNotFoundError where there is none.
    """
    if weights_only is not False and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    unknown = [each for each in pickle_load_args if each not in ("encoding", "errors", "fix_imports", "buffers")]
    if unknown:
        raise TypeError(f"Unpickler.__init__() got an unexpected keyword argument '{unknown[0]}'")
    if not (map_location is None or isinstance(map_location, str | Device | dict) or callable(map_location)):
        raise TypeError(
            f"'{type(map_location).__name__}' object is not callable\n`map_location` is a device or a function."
        )
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return _loaded(file, map_location, pickle_module, weights_only is not False, pickle_load_args)
    if not hasattr(f, "seek"):
        raise AttributeError(
            f"'{type(f).__name__}' object has no attribute 'seek'. You can only torch.load from a file that is "
            "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
        )
    return _loaded(f, map_location, pickle_module, weights_only is not False, pickle_load_args)


def _loaded(file: Any, map_location: Any, module: Any, restricted: bool, further: dict[str, Any]) -> Any:
    begin = file.read(2)
    file.seek(-len(begin), os.SEEK_CUR)
    if not begin:
        raise EOFError
    if begin != b"PK":
        return _read_legacy(file, map_location, module, restricted, further)
    with _telling_of_damage():
        archive = zipfile.ZipFile(file)
    with archive:
        return _read(archive, map_location, module, restricted, further)


@contextmanager
def _telling_of_damage() -> Iterator[None]:
    """RuntimeError, in torch's words, for what `zipfile` says of a broken archive."""
    try:
        yield
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError, IndexError, struct.error) as error:
        what = str(error)
        if "not a zip file" in what:
            what = "failed finding central directory. This is an internal miniz error"
        raise RuntimeError(NO_ARCHIVE.format(what)) from None


def _read(archive: zipfile.ZipFile, map_location: Any, module: Any, restricted: bool, further: dict[str, Any]) -> Any:
    root = archive.namelist()[0].partition("/")[0] if archive.namelist() else ""

    def record(name: str) -> bytes:
        try:
            about = archive.getinfo(f"{root}/{name}")
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found") from None
        if about.compress_type != zipfile.ZIP_STORED:  # a small file could unpack to any size
            raise RuntimeError(NO_ARCHIVE.format(f"{name} is compressed"))
        with _telling_of_damage():
            return archive.read(about)

    swapped = f"{root}/byteorder" in archive.namelist() and record("byteorder") != sys.byteorder.encode()
    storages: dict[str, Stored] = {}

    def persistent(pid: Any) -> Stored:
        kind, key, location = _reference(pid, 5)[:3]
        if key not in storages:
            data = record(f"data/{key}")
            if swapped and kind.dtype is not None:
                part = kind.dtype.itemsize // (1 + kind.dtype.is_complex)
                data = np.frombuffer(data, f"V{part}").view(f"u{part}").byteswap().tobytes()
            storages[key] = Stored(data, kind.dtype, _place(map_location, data, location))
        return storages[key]

    return _unpickled(io.BytesIO(record("data.pkl")), persistent, module, restricted, further)


def _read_legacy(file: Any, map_location: Any, module: Any, restricted: bool, further: dict[str, Any]) -> Any:
    """Reads the format from before torch 1.6: five pickles and then, for each storage, its length and its bytes.

    The fourth pickle is the object, the fifth a list of the storages. So tensors are made before their numbers are
    known: of zeros, which are replaced at the end.
    """
    begin = file.tell()
    source = io.BytesIO(file.read())
    left = len(source.getbuffer())
    storages: dict[Any, Stored] = {}

    def persistent(pid: Any) -> Any:
        nonlocal left
        if not restricted and type(pid) is tuple and pid[:1] in (("module",), (b"module",)):
            return pid[1]  # a class; its source follows
        kind, key, location, count, part = _reference(pid, 6)
        own = kind.dtype or TABLE["torch.uint8"]
        if key not in storages:
            size = count * own.itemsize if type(count) is int else -1
            if not 0 <= size <= left:
                raise pickle.UnpicklingError(f"a storage of {count!r:.50} elements does not fit into the file")
            left -= size
            zeros = bytes(size)
            storages[key] = Stored(zeros, kind.dtype, _place(map_location, zeros, location))
        return storages[key] if part is None else Part(storages[key], part[1])

    def following() -> Any:
        return _unpickled(source, persistent, module, restricted, further)

    if following() != MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    if (version := following()) != LEGACY_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    following()  # sizes of C's types where it was written
    result = following()
    keys = following()
    if type(keys) is not list or not all(type(each) in (str, bytes) for each in keys) or {*keys} != {*storages}:
        raise RuntimeError("The storages that the file lists are not those of its tensors; corrupt file?")
    for key in keys:
        source.read(8)  # how many elements
        missing = len(storages[key].data) - len(data := source.read(len(storages[key].data)))
        if missing:
            raise RuntimeError(f"unexpected EOF, expected {missing} more bytes. The file might be corrupted.")
        storages[key].fill(data)
    file.seek(begin + source.tell())
    return result


def _reference(pid: Any, length: int) -> tuple[Any, ...]:
    """What a file says of a storage: its type, key, location, number of elements, and in old files which part of it."""
    named = type(pid) is tuple and len(pid) == length and pid[0] in ("storage", b"storage")
    if not named or not isinstance(pid[1], StorageType):
        raise pickle.UnpicklingError(f"persistent_load expects a reference to a storage, but got {pid!r:.200}")
    location = pid[3].decode() if isinstance(pid[3], bytes) else str(pid[3])  # Python 2 wrote bytes
    return (*pid[1:3], location, *pid[4:])


def _unpickled(source: Any, persistent: Any, module: Any, restricted: bool, further: dict[str, Any]) -> Any:
    """The object of the next pickle in an open file."""
    if not restricted:
        kind: Any = type("Unpickler", (_Ours, (module or pickle).Unpickler), {})
        reader = kind(source, **{"encoding": "utf-8", **further})
        reader.persistent = persistent
        return reader.load()
    try:
        return Machine(source, TABLE, persistent).load()
    except pickle.UnpicklingError as error:
        unknown = re.search("was not an allowed global by default", str(error))
        told = TWO_WAYS if unknown else f"Weights only load failed. {SINCE}\nWeightsUnpickler error: "
        raise pickle.UnpicklingError(told + str(error) + MORE) from None


def _place(wish: Any, data: bytes, location: str) -> Any:
    """The device for a storage that was at `location`, by the user's `map_location`."""
    if isinstance(wish, dict):
        location = str(wish.get(location, location))
    elif callable(wish):
        array = np.frombuffer(data, np.uint8)
        given = wish(untyped(new_leaf(array, TABLE["torch.uint8"], False, "cpu").storage), location)
        location = location if given is None else str(given.device)
    elif isinstance(wish, str):
        if wish.partition(":")[0] not in ("cpu", "cuda", "meta"):
            raise RuntimeError(
                "don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
                f"{wish})\nA device is `'cpu'` or `'cuda'`."
            )
        location = str(Device(wish))
    elif isinstance(wish, Device):
        location = str(wish)
    if location.startswith("cuda") and not count_of("cuda"):
        raise RuntimeError(NO_CUDA)
    return location

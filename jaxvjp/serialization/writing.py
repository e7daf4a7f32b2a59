"""`save`: writes an object in torch's file format."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from jaxvjp.library.creation import empty
from jaxvjp.library.crossing import state_of
from jaxvjp.library.memory import set_
from jaxvjp.library.storages import untyped
from jaxvjp.nn.parameter import Parameter
from jaxvjp.ops.layouts import layout, strided
from jaxvjp.serialization.restricted import LEGACY_VERSION, MAGIC
from jaxvjp.tensor.storage import Storage
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.compiled import FUNCTIONS
from jaxvjp.types.devices import device
from jaxvjp.types.dtypes import ALL, dtype
from jaxvjp.types.size import Size


class _Name:
    """A function or class of torch's, which need not be there: the file has its name only."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self) -> None:
        """It is called where the file is read."""


TENSOR = _Name("torch._utils", "_rebuild_tensor_v2")
TENSOR_OF_BYTES = _Name("torch._utils", "_rebuild_tensor_v3")
PARAMETER = _Name("torch._utils", "_rebuild_parameter")
PARAMETER_WITH_STATE = _Name("torch._utils", "_rebuild_parameter_with_state")
OF_TYPE, PLAIN = _Name("torch._tensor", "_rebuild_from_type_v2"), _Name("torch", "Tensor")
SIZE, DEVICE = _Name("torch", "Size"), _Name("torch", "device")
SPARSE, LAYOUT = _Name("torch._utils", "_rebuild_sparse_tensor"), _Name("torch.serialization", "_get_layout")
BYTES = _Name("torch.storage", "UntypedStorage")
STORAGES = {each: _Name("torch", f"{each.legacy}Storage") for each in ALL}


FILES = {
    "": "Generator",
    "nn.modules.activation": "MultiheadAttention PReLU",
    "nn.modules.channelshuffle": "ChannelShuffle",
    "nn.modules.flatten": "Flatten Unflatten",
    "nn.modules.fold": "Fold Unfold",
    "nn.modules.instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
    "nn.modules.loss": "LinearCrossEntropyLoss",
    "nn.modules.normalization": "LocalResponseNorm",
    "nn.modules.pixelshuffle": "PixelShuffle PixelUnshuffle",
    "nn.modules.upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    "nn.utils.rnn": "PackedSequence",
    "nn.utils.weight_norm": "WeightNorm",
}
"""torch's files of classes that are in other files here; the first is `torch` itself."""
FOLDERS = ("optim", "optim.lr_scheduler", "distributions", "distributions.transforms", "utils.data")
"""Modules of torch's that have the classes of any files in them."""


def _torchs(named: Any) -> _Name:
    """torch's class or function of that name."""
    own, name = named.__module__.removeprefix("jaxvjp").lstrip("."), named.__qualname__
    files = [file for file, classes in FILES.items() if name in classes.split()]
    files += [each for each in FOLDERS if getattr(sys.modules.get(f"jaxvjp.{each}"), name, None) is named]
    return _Name(f"torch.{files[0] if files else own}".rstrip("."), name)


class _Reference:
    """A storage in the file: its type, number, place and number of elements."""

    def __init__(self, kind: _Name, number: str, location: str, count: int, data: bytes) -> None:
        self.about = (kind, number, location, count)
        self.data = data


class _Pickler(pickle._Pickler):
    """Pickles as torch does; what `storages` has of each storage is written after the pickle, in this order."""

    def __init__(self, file: Any, protocol: int, legacy: bool) -> None:
        super().__init__(file, protocol)
        self._part = (None,) if legacy else ()  # which part of a storage: the whole
        self.storages: dict[Storage, _Reference] = {}

    def persistent_id(self, obj: Any) -> Any:
        return ("storage", *obj.about, *self._part) if isinstance(obj, _Reference) else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, _Name | dtype):
            return "by its name"
        if isinstance(obj, FUNCTIONS):
            return obj.__qualname__
        if isinstance(obj, Parameter):
            state = state_of(obj)
            parts: Any = (obj.data, obj.requires_grad, OrderedDict())
            return (PARAMETER_WITH_STATE, (*parts, state)) if state else (PARAMETER, parts)
        if isinstance(obj, layout):
            return LAYOUT, (repr(obj),)
        if isinstance(obj, Tensor) and obj.layout is not strided:
            sparse: Any = obj
            rows = (sparse._indices(),) if obj.is_sparse else (sparse.crow_indices(), sparse.col_indices())
            return SPARSE, (obj.layout, (*rows, sparse._values(), obj.shape, *[obj.is_coalesced()] * obj.is_sparse))
        if isinstance(obj, Tensor):
            state, (function, parts) = state_of(obj), self._reduced(obj)
            kind: Any = PLAIN if type(obj) is Tensor else type(obj)
            return (function, parts) if kind is PLAIN and not state else (OF_TYPE, (function, kind, parts, state))
        if isinstance(obj, Size):
            return SIZE, (tuple(obj),)
        if isinstance(obj, device):
            return DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        known = _Name("torch", obj.name) if isinstance(obj, dtype) else obj
        ours = isinstance(obj, (type, *FUNCTIONS)) and f"{obj.__module__}.".startswith("jaxvjp.")
        if ours and obj.__qualname__.isidentifier():
            known = _torchs(obj)
        if not isinstance(known, _Name):
            super().save_global(obj, name)  # type: ignore[misc]
            return
        self.write(pickle.GLOBAL + f"{known.module}\n{known.name}\n".encode())  # type: ignore[attr-defined]
        self.memoize(obj)  # type: ignore[attr-defined]

    def _reduced(self, tensor: Tensor) -> Any:
        plain = tensor.detach().resolve_conj().resolve_neg()
        storage, own = plain.storage, plain.dtype
        kind = STORAGES.get(own, BYTES)
        reference = self.storages.get(storage)
        if reference is None:
            whole = set_(empty(0, dtype=storage.contents.aval.dtype), untyped(storage))
            data = np.ascontiguousarray(whole.__numbers__()).tobytes()
            count = len(data) // (1 if kind is BYTES else own.itemsize)
            reference = _Reference(kind, str(len(self.storages)), str(plain.device), count, data)
            self.storages[storage] = reference
        elif reference.about[0] is not kind:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types\n"
                "`x.clone()` has memory of its own."
            )
        part = (reference, plain.storage_offset(), tuple(plain.shape), plain.stride())
        more: tuple[Any, ...] = (tensor.requires_grad, OrderedDict())
        return (TENSOR_OF_BYTES, (*part, *more, own)) if kind is BYTES else (TENSOR, (*part, *more))


def save(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes an object, such as a `state_dict`, to a file that torch reads, too. Counterpart of `torch.save`.

    Args:
        obj: tensors, and what `pickle` takes.
        f: a path, or an open file.
        pickle_module: accepted; it is pickled by Python's `pickle`.
        pickle_protocol: the version of the pickle.
        _use_new_zipfile_serialization: False for the format from before torch 1.6.
        _disable_byteorder_record: whether to leave out which byte comes first.

    AttributeError for an `f` that is neither path nor file. Nothing is written where the object cannot be pickled.
    """
    if not isinstance(f, str | os.PathLike) and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    if isinstance(f, str | os.PathLike) and not Path(f).parent.exists():
        raise RuntimeError(f"Parent directory {Path(f).parent} does not exist.")
    pickled, whole = io.BytesIO(), io.BytesIO()
    pickler = _Pickler(pickled, pickle_protocol, not _use_new_zipfile_serialization)
    pickler.dump(obj)
    if _use_new_zipfile_serialization:
        root = Path(f).stem or "archive" if isinstance(f, str | os.PathLike) else "archive"
        _write(whole, root, pickled.getvalue(), pickler, not _disable_byteorder_record)
    else:
        _write_legacy(whole, pickled.getvalue(), pickler, pickle_protocol)
    if isinstance(f, str | os.PathLike):
        Path(f).write_bytes(whole.getbuffer())
    else:
        f.write(whole.getvalue())


def _write(file: Any, root: str, pickled: bytes, pickler: _Pickler, order: bool) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:

        def put(name: str, data: bytes) -> None:
            archive.writestr(zipfile.ZipInfo(f"{root}/{name}"), data)

        put("data.pkl", pickled)
        if order:
            put("byteorder", sys.byteorder.encode())
        for number, each in enumerate(pickler.storages.values()):
            put(f"data/{number}", each.data)
        put("version", b"3\n")


def _write_legacy(file: Any, pickled: bytes, pickler: _Pickler, protocol: int) -> None:
    """The format from before torch 1.6: five pickles and then, for each storage, its length and its bytes."""
    sizes = {"short": 2, "int": 4, "long": 4}
    system = {"protocol_version": LEGACY_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
    for each in (MAGIC, LEGACY_VERSION, system):
        pickle.dump(each, file, protocol)
    file.write(pickled)
    pickle.dump([str(number) for number in range(len(pickler.storages))], file, protocol)
    for reference in pickler.storages.values():
        file.write(struct.pack("<q", reference.about[-1]) + reference.data)

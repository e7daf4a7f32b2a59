"""`safetensors.torch` for our tensors: files of named tensors, without code in them, over the library `safetensors`.

That library's own module for torch reads memory at `data_ptr()`, which here is only a number to compare. In a torch
script, `import safetensors.torch` gives this module. `pip install "jaxvjp[files]"` installs the library.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxvjp.library.crossing import from_numpy
from jaxvjp.library.storages import untyped
from jaxvjp.nn.modules.module import Module
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import named

try:
    import safetensors
    import safetensors.numpy
except ImportError as error:
    raise ImportError('Files of safetensors need its library: pip install "jaxvjp[files]"') from error

__all__ = ["load", "load_file", "load_model", "save", "save_file", "save_model", "storage_ptr", "storage_size"]

NAMES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "C64": "complex64",
    "BOOL": "bool",
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}
"""What a file calls our dtypes."""


def storage_ptr(tensor: Tensor) -> int:
    """The address of its memory, as a number to compare. Counterpart of `safetensors.torch.storage_ptr`."""
    return untyped(tensor.storage).data_ptr()


def storage_size(tensor: Tensor) -> int:
    """How many bytes its memory has. Counterpart of `safetensors.torch.storage_size`."""
    return untyped(tensor.storage).nbytes()


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a file with these tensors. Counterpart of `safetensors.torch.save`.

    Args:
        tensors: contiguous ones, no two of which share memory.
        metadata: text to put into the file's head.

    ValueError for another kind of `tensors` and for one that is not contiguous; RuntimeError where memory is shared.
    """
    data: bytes = safetensors.numpy.save(_arrays(tensors), metadata)
    return data


def save_file(
    tensors: dict[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """`save` into a file. Counterpart of `safetensors.torch.save_file`."""
    Path(filename).write_bytes(save(tensors, metadata))


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a file, on the CPU. Counterpart of `safetensors.torch.load`.

    TypeError for a dtype that tensors cannot have here, such as float8.
    """
    found = {}
    for name, part in safetensors.deserialize(data):  # type: ignore[no-untyped-call]
        if part["dtype"] not in NAMES:
            raise TypeError(f"`{name}` has the dtype {part['dtype']}, which tensors do not have here.")
        own = named(NAMES[part["dtype"]])
        found[name] = from_numpy(np.frombuffer(bytearray(part["data"]), own.numpy).reshape(part["shape"]))
    return found


def load_file(
    filename: str | os.PathLike[str], device: str | int = "cpu", *, backend: str = "mmap"
) -> dict[str, Tensor]:
    """The tensors of a file. Counterpart of `safetensors.torch.load_file`.

    Args:
        filename: a path.
        device: where the tensors go.
        backend: accepted; the file is read whole.
    """
    return {name: each.to(device) for name, each in load(Path(filename).read_bytes()).items()}


def save_model(
    model: Module, filename: str, metadata: dict[str, str] | None = None, force_contiguous: bool = True
) -> None:
    """Saves the `state_dict` of a module. Counterpart of `safetensors.torch.save_model`.

    Args:
        model: tensors of it that share memory are saved once; the file's head says which name stands for which.
        filename: a path.
        metadata: more text for the head.
        force_contiguous: whether tensors are made contiguous.
    """
    state = model.state_dict()
    twice = _kept_for(state)
    kept = {name: each.contiguous() if force_contiguous else each for name, each in state.items() if name not in twice}
    save_file(kept, filename, {**twice, **(metadata or {})} or None)


def load_model(
    model: Module,
    filename: str | os.PathLike[str],
    strict: bool = True,
    device: str | int = "cpu",
    *,
    backend: str = "mmap",
) -> tuple[set[str], list[str]]:
    """Loads a file of `save_model`; names that are missing, and unexpected ones. As `safetensors.torch.load_model`.

    RuntimeError with `strict`, if there are such names.
    """
    state = load_file(filename, device=device, backend=backend)
    found = model.load_state_dict(state, strict=False)
    missing, unexpected = set(found.missing_keys), list(found.unexpected_keys)
    for name in _kept_for(model.state_dict(), preferred=state):
        if name in missing:
            missing.remove(name)
        else:
            unexpected.append(name)
    if strict and (missing or unexpected):
        said = [f"Error(s) in loading state_dict for {type(model).__name__}:"]
        for what, names in (("Missing", missing), ("Unexpected", unexpected)):
            if names:
                said.append(f"    {what} key(s) in state_dict: " + ", ".join(f'"{each}"' for each in sorted(names)))
        raise RuntimeError("\n".join(said))
    return missing, unexpected


def _arrays(tensors: dict[str, Tensor]) -> dict[str, Any]:
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, each in tensors.items():
        if not isinstance(each, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(each)}")
    together = [names for names in _sharing(tensors) if len(names) > 1]
    if together:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when "
            f"loading them again: {[set(names) for names in together]}.\n"
            "`save_model` saves such tensors of a module once; others are to be copied by `.clone()`."
        )
    for name, each in tensors.items():
        if not each.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you "
                "are trying to save tensors which are reference of each other in which case it's recommended to save "
                "only the full tensors, and reslice at load time, or simply call `.contiguous()` on your tensor to "
                "pack it before saving."
            )
    return {name: np.asarray(each.detach().__numbers__(), order="C") for name, each in tensors.items()}


def _sharing(tensors: Mapping[str, Tensor]) -> list[list[str]]:
    """The names in groups whose tensors overlap in memory, each group in the order of the memory."""
    of_storage: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for name, each in tensors.items():
        first = each.data_ptr()  # 0 where there are no elements
        if first:
            reach = sum((size - 1) * step for size, step in zip(each.shape, each.stride(), strict=True))
            of_storage[untyped(each.storage).data_ptr()].append((first, first + (reach + 1) * each.itemsize, name))
    groups: list[list[str]] = []
    for parts in of_storage.values():
        end = 0
        for first, stop, name in sorted(parts):
            if first >= end:
                groups.append([])
            groups[-1].append(name)
            end = max(end, stop)
    return groups


def _kept_for(state: Mapping[str, Tensor], preferred: Iterable[str] = ()) -> dict[str, str]:
    """For each name whose tensor is saved under another name, that name: of a tensor that shows all of the memory."""
    twice = {}
    for names in _sharing(state):
        if len(names) > 1:
            whole = [name for name in sorted(names) if _is_complete(state[name])]
            if not whole:
                raise RuntimeError(
                    "Error while trying to find names to remove to save state dict, but found no suitable name to "
                    f"keep for saving amongst: {set(names)}. None is covering the entire storage."
                )
            keep = next((name for name in whole if name in preferred), whole[0])
            twice.update({name: keep for name in sorted(names) if name != keep})
    return twice


def _is_complete(tensor: Tensor) -> bool:
    memory = untyped(tensor.storage)
    return tensor.data_ptr() == memory.data_ptr() and tensor.numel() * tensor.itemsize == memory.nbytes()


complete_all(globals(), __all__, "safetensors", "no JAX: bytes of NumPy arrays in a file")

"""torch's `distributed.checkpoint`: what several processes hold of tensors, in one folder, by the library orbax.

Each process writes the shards that it has, and reads those that it needs: what was written by two processes on a mesh
of eight devices can be read by one process on one. `pip install "jaxvjp[distributed]"` installs orbax.

A folder is a checkpoint of orbax, and not one of torch's: `orbax.checkpoint.v1.load(folder)["tensors"]` gives the
tensors as JAX's arrays, by torch's names for them, such as "model.0.weight". All else is in "values", a file of
`torch.save` as an array of bytes.
"""

from __future__ import annotations

import io
import os
import traceback
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxvjp import serialization
from jaxvjp.library.creation import tensor as tensor_of
from jaxvjp.library.creation import zeros
from jaxvjp.library.crossing import from_jax
from jaxvjp.library.sharding import DTensor
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.public import modules_later
from jaxvjp.types.size import Size

UNDERNEATH = "orbax.checkpoint.v1"
ROOMS = ("state_dict",)
"""Modules that are imported at first use."""

__all__ = ["CheckpointException", "load", "save", *ROOMS]


class CheckpointException(BaseException):
    """What went wrong, by the number of the process. Counterpart of `torch.distributed.checkpoint.CheckpointException`.

    Like torch's it is no `Exception`. `failures[rank]` is the exception, and where it was raised.
    """

    def __init__(self, msg: str, failures: dict[int, tuple[BaseException, Any]]) -> None:
        super().__init__(msg, failures)
        self.failures = failures

    def __str__(self) -> str:
        told = [f"CheckpointException ranks:{self.failures.keys()}\n"]
        for rank, (error, where) in self.failures.items():
            told += [f"Traceback (most recent call last): (RANK {rank})\n", *traceback.format_list(where or [])]
            told += traceback.format_exception_only(error)
        return "".join(told)


def save(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None, no_dist: bool = False
) -> None:
    """Writes tensors and plain Python values into a folder, in the place of the checkpoint that is there.

    All processes call it, and return when it is written; until then a checkpoint that was there stays as it is. Of a
    tensor on a mesh each process writes its shards. Of all else the process of rank 0 writes what it has.

    Args:
        state_dict: nested dicts and lists of tensors, of values that `torch.load` reads by default, and of objects with
            `state_dict` and `load_state_dict`.
        checkpoint_id: the folder, on a disk that all processes share.
        no_dist: without effect.

    Raises:
        RuntimeError: no `checkpoint_id`.
        CheckpointException: there is something else at that place; a value cannot be written; two leaves have one name.
        ImportError: orbax is not installed.

    torch returns a description of the files. Counterpart of `torch.distributed.checkpoint.save`.
    """
    orbax, folder = _orbax(), _folder(checkpoint_id)
    try:
        tensors: dict[str, Any] = {}
        values: dict[str, Any] = {}
        for name, holder, key in _leaves(_states(state_dict)):
            each = holder[key]
            if name in tensors or name in values:
                raise ValueError(f"duplicated flatten key {name}")
            if not isinstance(each, Tensor):
                values[name] = each
            elif each.numel() == 0:  # orbax writes no empty arrays
                values[name] = zeros(each.shape, dtype=each.dtype)
            else:
                array = each.detach().jax()
                tensors[name] = array if isinstance(each, DTensor) else np.asarray(array)
        file = io.BytesIO()
        serialization.save(values, file)
        file.seek(0)
        serialization.load(file)  # an error here is better than one when it is needed
        if not _is_checkpoint(folder) and folder.exists() and (folder.is_file() or any(folder.iterdir())):
            raise FileExistsError(f"[Errno 17] File exists: {str(folder)!r}, and it is no checkpoint")
        _wait_for_all()
        state = {"tensors": tensors, "values": np.frombuffer(file.getvalue(), np.uint8)}
        with jax.enable_x64(True):
            orbax.save(folder, state, overwrite=True)
    except Exception as error:
        raise _failure(error) from None


def load(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None, no_dist: bool = False
) -> None:
    """Reads what a checkpoint has for a `state_dict` into it: tensors are written in place, values replaced.

    A tensor keeps its dtype, and where it lies: on a mesh, each process reads the shards that it has there, however
    they lay when they were written. What else is in the checkpoint is not read. All processes call it.

    Args:
        state_dict: as in `save`; objects with `load_state_dict` are given what was read.
        checkpoint_id: the folder.
        no_dist: without effect.

    Raises:
        RuntimeError: no `checkpoint_id`.
        CheckpointException: there is no checkpoint; it lacks something, or has a tensor of another shape, or one where
            `state_dict` has none. Nothing is changed then.
        ImportError: orbax is not installed.
    """
    orbax, folder = _orbax(), _folder(checkpoint_id)
    try:
        if not _is_checkpoint(folder):
            raise FileNotFoundError(f"[Errno 2] No such file or directory: a checkpoint at {str(folder)!r}")
        states = _states(state_dict)
        wanted = {name: (holder, key) for name, holder, key in _leaves(states)}
        context = orbax.Context()
        context.pytree.loading.partial_load = True
        with context:
            there = orbax.metadata(folder).metadata
            if not isinstance(there, Mapping) or {*there} != {"tensors", "values"}:
                raise ValueError(f"{folder} was written by other means: `orbax.checkpoint.v1.load` reads it")
            text = orbax.load(folder, {"values": np.empty(there["values"].shape, np.uint8)})["values"]
            values = serialization.load(io.BytesIO(text.tobytes()))
            asked = {}
            for name, (holder, key) in wanted.items():
                each = holder[key]
                if name not in values and name not in there["tensors"]:
                    raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
                stored = values[name] if name in values else there["tensors"][name]
                if isinstance(each, Tensor) and hasattr(stored, "shape") and tuple(stored.shape) != tuple(each.shape):
                    sizes = f"saved {Size(stored.shape)} and current: {each.shape}"
                    raise ValueError(f"Size mismatch between {sizes} for {name}")
                if name not in values:
                    if not isinstance(each, Tensor):
                        raise ValueError(
                            f"The checkpoint has a tensor for {name}, and state_dict a {type(each).__name__}"
                        )
                    asked[name] = _request(each, stored)
            with jax.enable_x64(True):
                tensors = orbax.load(folder, {"tensors": asked})["tensors"] if asked else {}
    except Exception as error:
        raise _failure(error) from None
    for name, (holder, key) in wanted.items():
        if name in tensors:
            array = tensors[name]
            holder[key].detach().copy_(from_jax(array) if isinstance(array, jax.Array) else tensor_of(array))
        elif not isinstance(values[name], Tensor):
            holder[key] = values[name]
    for name, each in state_dict.items():
        if _has_state(each):
            each.load_state_dict(states[name])
        else:
            state_dict[name] = states[name]


def _orbax() -> Any:
    try:
        return import_module("orbax.checkpoint").v1
    except ImportError as error:
        raise ImportError('Checkpoints of several processes need orbax: pip install "jaxvjp[distributed]"') from error


def _folder(checkpoint_id: str | os.PathLike[str] | None) -> Path:
    if checkpoint_id is None:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    return Path(checkpoint_id).absolute()


def _is_checkpoint(folder: Path) -> bool:
    return (folder / "_CHECKPOINT_METADATA").is_file()


def _failure(error: Exception) -> CheckpointException:
    where = traceback.extract_tb(error.__traceback__)
    return CheckpointException(type(error).__name__, {jax.process_index(): (error, where)})


def _wait_for_all() -> None:
    if jax.process_count() > 1:
        from jax.experimental.multihost_utils import sync_global_devices

        sync_global_devices("torch.distributed.checkpoint.save")


def _has_state(each: Any) -> bool:
    """Whether it is what torch calls Stateful: a module, an optimizer, a class of the user's."""
    return hasattr(each, "state_dict") and hasattr(each, "load_state_dict")


def _states(state_dict: dict[str, Any]) -> dict[str, Any]:
    return {name: each.state_dict() if _has_state(each) else each for name, each in state_dict.items()}


def _is_branch(each: Any) -> bool:
    """Whether a checkpoint has its parts, and not itself: as in torch, a dict, and a list with tensors or dicts."""
    return isinstance(each, Mapping) or (
        isinstance(each, list) and any(isinstance(part, Tensor) or _is_branch(part) for part in each)
    )


def _leaves(holder: Any, before: str = "") -> Iterator[tuple[str, Any, Any]]:
    """For each leaf its name, the dict or list that holds it, and its key there."""
    for key, each in holder.items() if isinstance(holder, Mapping) else enumerate(holder):
        if _is_branch(each):
            yield from _leaves(each, f"{before}{key}.")
        else:
            yield f"{before}{key}", holder, key


def _request(tensor: Tensor, stored: Any) -> Any:
    """What orbax is asked for: an array laid out as `tensor` is, or else an array of NumPy.

    It makes JAX's arrays in threads of its own, which have no 64-bit types: those are read as NumPy's.
    """
    dtype: Any = np.dtype(stored.dtype)
    if isinstance(tensor, DTensor) and dtype not in (np.float64, np.complex128, np.int64, np.uint64):
        made: Any = jax.ShapeDtypeStruct
        return made(stored.shape, dtype, sharding=tensor.detach().jax().sharding)
    return np.empty(stored.shape, dtype)


complete_all(globals(), [each for each in __all__ if each not in ROOMS], "distributed.checkpoint")


__getattr__ = modules_later(__name__, *ROOMS)


__dir__ = __all__.copy

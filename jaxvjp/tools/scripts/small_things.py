"""Small things of torch's that libraries use and a program of one's own does not need."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Sequence
from enum import Flag
from functools import wraps
from types import GenericAlias
from typing import Any
from urllib.parse import urlparse

import jaxvjp as torch
from jaxvjp.tools.scripts.mentions import ends_program

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
"""Where the name of a file has the beginning of its hash."""
_chosen: list[str] = []


def _assert(condition: Any, message: Any) -> None:
    """AssertionError unless the condition holds."""
    assert condition, message


def _check(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """RuntimeError unless the condition holds."""
    if not cond:
        raise RuntimeError(
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
            if message is None
            else str(message())
        )


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """An optimizer's `step`, recorded only where it is to be differentiable."""

    @wraps(func)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


class FlopCounterMode:
    """A counter of what a block computes: it can be made, and asked what it counted before; a block is an error."""

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        pass

    def get_total_flops(self) -> int:
        """How many were counted."""
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """How many were counted, by module and operator."""
        return {"Global": {}}

    def __enter__(self) -> Any:
        raise NotImplementedError("torch.utils.flop_counter.FlopCounterMode is not available.\nNothing counts here.")

    def __exit__(self, *error: object) -> None:
        pass


DispatchKey = Flag("DispatchKey", "AutocastCPU AutocastCUDA AutocastXPU Autograd CPU CUDA Meta")
"""Names of torch's kernels, which nothing here asks for."""
DispatchKeySet = DispatchKey


def _group_tensors_by_device_and_dtype(lists: Any, with_indices: bool = False) -> Any:
    """Lists of tensors side by side, those of one device and dtype together, with the places that they came from."""
    groups: dict[Any, Any] = {}
    for place, row in enumerate(zip(*lists, strict=True)):
        first = next(each for each in row if each is not None)
        columns, places = groups.setdefault((first.device, first.dtype), ([[] for _ in row], []))
        places.append(place)
        for column, each in zip(columns, row, strict=True):
            column.append(each)
    return groups if with_indices else {key: (columns, []) for key, (columns, _) in groups.items()}


def load_library(path: Any) -> None:
    """OSError where it is caught: a library of torch's operators was compiled for torch. Its operators are errors."""
    of_torchvision = re.search(r"torchvision\W_C", str(path))  # its two operators that detectors need are here
    if not of_torchvision and not ends_program("OSError"):
        raise OSError(f"Could not load this library: {path}\nIt was compiled for torch.")


EACH: dict[str, Callable[..., Any]] = {
    "addcdiv": lambda a, b, c, value=1: torch.addcdiv(a, b, c, value=value),
    "addcmul": lambda a, b, c, value=1: torch.addcmul(a, b, c, value=value),
    "copy": lambda a, b: b,
    "maximum": lambda a, b: (torch.maximum if isinstance(b, torch.Tensor) else torch.clamp_min)(a, b),
    "minimum": lambda a, b: (torch.minimum if isinstance(b, torch.Tensor) else torch.clamp_max)(a, b),
    "norm": torch.linalg.vector_norm,
    "zero": torch.zeros_like,
}
"""What a `_foreach_` function does with each tensor, where that is not the function of the name."""


def foreach(name: str) -> Callable[..., Any]:
    """One of the functions of lists of tensors, `_foreach_add` or `_foreach_add_`: a loop, which the recorder fuses."""
    plain = name.removeprefix("_foreach_").removesuffix("_")
    operation = EACH.get(plain) or getattr(torch, plain)

    def loop(tensors: Sequence[Any], *others: Any, **named: Any) -> Any:
        if not tensors:
            raise RuntimeError("Tensor list must have at least one tensor.")
        rows = [each if isinstance(each, list | tuple) else [each] * len(tensors) for each in others]
        for each in rows:
            if len(each) != len(tensors):
                raise RuntimeError(
                    f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(each)}"
                )
        results = [operation(*each, **named) for each in zip(tensors, *rows, strict=True)]
        if not name.endswith("_"):
            return tuple(results)
        for each, result in zip(tensors, results, strict=True):
            each.copy_(result)
        return list(tensors)

    loop.__name__ = name
    return loop


class Future:
    """A value that is there later. Counterpart of `torch.futures.Future`.

    Args:
        devices: no effect.
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._done, self._value, self._error = threading.Event(), None, None
        self._told: list[Callable[[Any], Any]] = []

    __class_getitem__: Any = classmethod(GenericAlias)

    def _end(self, value: Any, error: Any) -> None:
        if self._done.is_set():
            raise RuntimeError(
                "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                "completed once."
            )
        self._value, self._error = value, error
        self._done.set()
        for each in self._told:
            each(self)

    def done(self) -> bool:
        """Whether it is there."""
        return self._done.is_set()

    def wait(self) -> Any:
        """The value, once it is there."""
        self._done.wait()
        return self.value()

    def value(self) -> Any:
        """The value, which has to be there."""
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        """Says what it is."""
        self._end(result, None)

    def set_exception(self, result: Any) -> None:
        """Says what is raised where it is asked for."""
        self._end(None, result)

    def add_done_callback(self, callback: Callable[[Any], Any]) -> None:
        """Calls a function with it once it is there."""
        if self.done():
            callback(self)
        else:
            self._told.append(callback)

    def then(self, callback: Callable[[Any], Any]) -> Future:
        """What a function gives of it once it is there."""
        after = Future()

        def follow(future: Any) -> None:
            try:
                result = callback(future)
            except Exception as error:
                after.set_exception(error)
            else:
                after.set_result(result)

        self.add_done_callback(follow)
        return after


def collect_all(futures: Sequence[Future]) -> Future:
    """All of them once the last is there."""
    together = Future()
    if not futures:
        together.set_result([])
    for each in futures:
        each.add_done_callback(
            lambda _: None if together.done() or not all(f.done() for f in futures) else together.set_result([*futures])
        )
    return together


def wait_all(futures: Sequence[Future]) -> list[Any]:
    """The values of all of them."""
    return [each.wait() for each in futures]


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, dtype, `non_blocking` and memory format that the arguments of `Tensor.to` mean."""
    names = ("device", "dtype", "non_blocking", "copy", "memory_format")
    given: list[Any] = list(args)
    if given and isinstance(given[0], torch.Tensor):
        given[:1] = [given[0].device, given[0].dtype]
    elif given and isinstance(given[0], torch.dtype):
        given.insert(0, None)
    found = dict(zip(names, given, strict=False)) | kwargs
    device = found.get("device")
    place = None if device is None else torch.device(device)
    return place, found.get("dtype"), bool(found.get("non_blocking")), found.get("memory_format")


def _flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    return torch.cat([each.reshape(-1) for each in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    parts = torch.split(flat, [each.numel() for each in tensors])
    return tuple(part.view_as(each) for part, each in zip(parts, tensors, strict=True))


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """The inputs for each device: all of them for the first, as one program here runs on one device."""
    return [inputs]


def scatter_kwargs(inputs: Any, kwargs: Any, target_gpus: Sequence[Any], dim: int = 0) -> tuple[Any, Any]:
    """`scatter` of arguments and of those by name."""
    return (inputs,), (kwargs or {},)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """What several devices gave, as one: tensors are joined, and what is in containers of them."""
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        return torch.cat([each.reshape(1) if not each.dim() else each for each in outputs], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        return type(first)((key, gather([each[key] for each in outputs], target_device, dim)) for key in first)
    parts = [gather(each, target_device, dim) for each in zip(*outputs, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)


def _get_torch_home() -> str:
    """The folder of torch's files."""
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of downloads."""
    return _chosen[-1] if _chosen else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Chooses the folder of downloads."""
    _chosen[:] = [os.path.expanduser(d)]


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """What the file of an address has, if it is in the folder of downloads; RuntimeError where it is not."""
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        raise RuntimeError(f"{url} is not in {folder}\nNothing is downloaded here: put the file {path} there.")
    return torch.load(path, map_location=map_location, weights_only=weights_only)

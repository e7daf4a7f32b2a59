"""Converts torch's samples to jaxvjp's; tensors that share memory in torch share it here, too."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import jaxvjp


class Unsupported(TypeError):  # noqa: N818 - what it says
    """The sample has a value without a counterpart, such as a sparse tensor."""


class Conversion:
    """Converts a sample; a tensor that occurs several times becomes one tensor.

    Tensors that share a storage, or are part of one, are so here, too.
    """

    def __init__(self) -> None:
        self.tensors: dict[int, Any] = {}
        self.storages: dict[Any, Any] = {}
        self.holders: Counter[int] = Counter()

    def sample(self, sample: Any) -> Any:
        tensors = {id(each): each for each in leaves((sample.input, sample.args, sample.kwargs)) if is_tensor(each)}
        self.holders.update(tensor.untyped_storage().data_ptr() for tensor in tensors.values())
        mirrored = copy.copy(sample)
        mirrored.input, mirrored.args = self(sample.input), self(tuple(sample.args))
        mirrored.kwargs = {name: self(each) for name, each in sample.kwargs.items()}
        return mirrored

    def __call__(self, value: Any) -> Any:
        import torch

        if isinstance(value, torch.Tensor):
            if id(value) not in self.tensors:
                self.tensors[id(value)] = self.mirrored(value)
            return self.tensors[id(value)]
        if isinstance(value, torch.dtype):
            own = getattr(jaxvjp, repr(value).removeprefix("torch."), None)
            if own is None:
                raise Unsupported(value)
            return own
        if isinstance(value, torch.Size):
            return tuple(value)
        if isinstance(value, tuple | list):
            return type(value)(self(each) for each in value)
        if isinstance(value, dict):
            return {name: self(each) for name, each in value.items()}
        if isinstance(value, slice):
            return slice(self(value.start), self(value.stop), self(value.step))
        if isinstance(value, torch.device):
            return str(value)
        if type(value).__module__.partition(".")[0] == "torch":
            raise Unsupported(value)
        return value

    def mirrored(self, tensor: Any) -> Any:
        if tensor.ndim > 64 or tensor.is_meta:  # NumPy allows 64 dimensions; a meta tensor has no values
            raise Unsupported(tensor.shape)
        own = getattr(jaxvjp, repr(tensor.dtype).removeprefix("torch."), None)
        if own is None:
            raise Unsupported(tensor.dtype)
        storage = tensor.untyped_storage()
        count = storage.nbytes() // tensor.itemsize
        if count < tensor.numel() and 0 not in tensor.stride():
            raise Unsupported("a storage that is too small")
        whole = count == tensor.numel() and self.holders[storage.data_ptr()] < 2
        if whole or not count or tensor.is_conj() or tensor.is_neg():
            return jaxvjp.tensor(array_of(tensor), dtype=own, requires_grad=tensor.requires_grad)
        base = self.storages.get((storage.data_ptr(), own))
        if base is None:
            elements = tensor.detach().as_strided((count,), (1,), 0)
            base = self.storages[storage.data_ptr(), own] = jaxvjp.tensor(array_of(elements), dtype=own)
        part = base.as_strided(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
        return part.requires_grad_(tensor.requires_grad)


def foreign(sample: Any) -> bool:
    """Whether a sample has a tensor that is not dense."""
    import torch

    tensors = [each for each in leaves((sample.input, sample.args, sample.kwargs)) if isinstance(each, torch.Tensor)]
    return any(tensor.layout is not torch.strided or tensor.is_quantized for tensor in tensors)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    else:
        yield value


def is_tensor(value: Any) -> bool:
    return isinstance(value, jaxvjp.Tensor) or (type(value).__module__.startswith("torch") and hasattr(value, "dtype"))


def array_of(tensor: Any) -> Any:
    if isinstance(tensor, jaxvjp.Tensor):
        array = np.asarray(tensor.__value__)
    else:
        tensor = tensor.detach().resolve_conj().resolve_neg()
        if repr(tensor.dtype) == "torch.bfloat16":
            tensor = tensor.float()
        array = tensor.numpy(force=True)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array

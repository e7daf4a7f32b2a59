"""Batches of samples: tensors of a batch of numbers, arrays or tensors, also within tuples, lists and dicts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from jaxvjp.library.creation import tensor
from jaxvjp.library.crossing import as_tensor
from jaxvjp.library.factories import new_leaf
from jaxvjp.ops.joining import stack as stack_op
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.refusals import advice_on_array
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import float64

__all__ = ["default_collate", "default_convert"]

REFUSED = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def rebuilt(like: Any, parts: Any) -> Any:
    """`parts`, a dict or list, in a container of the class of `like`; as they are where that cannot be made."""
    try:
        if isinstance(like, MutableMapping):
            other: Any = copy.copy(like)
            other.update(parts)
            return other
        if isinstance(like, MutableSequence):
            other = copy.copy(like)
            for at, each in enumerate(parts):
                other[at] = each
            return other
        return type(like)(parts)
    except TypeError:  # a class that is made in another way
        return parts


def default_convert(data: Any) -> Any:
    """A sample with tensors in place of its NumPy arrays. Counterpart of `torch.utils.data.default_convert`."""
    if isinstance(data, Tensor | str | bytes):
        return data
    if isinstance(data, np.ndarray | np.generic):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return rebuilt(data, {name: default_convert(each) for name, each in data.items()})
    if isinstance(data, tuple):
        parts = [default_convert(each) for each in data]
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    return rebuilt(data, [default_convert(each) for each in data]) if isinstance(data, Sequence) else data


def default_collate(batch: Any) -> Any:
    """A list of samples as one: tensors of numbers, arrays or tensors. As `torch.utils.data.default_collate`.

    RuntimeError for lists of unequal lengths, or tensors of unequal shapes; TypeError for samples of other classes.

    Args:
        batch: the samples, all of the form of the first.
    """
    first = batch[0]
    for kind, together in KINDS:
        if isinstance(first, kind):
            return together(batch)
    if isinstance(first, Mapping):
        return rebuilt(first, {name: default_collate([each[name] for each in batch]) for name in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*[default_collate(each) for each in zip(*batch, strict=False)])
    if isinstance(first, Sequence):
        if any(len(each) != len(first) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(each) for each in zip(*batch, strict=True)]
        return parts if isinstance(first, tuple) else rebuilt(first, parts)
    raise TypeError(REFUSED.format(type(first)) + advice_on_array(first))


def _tensors(batch: Sequence[Tensor]) -> Tensor:
    """The tensors stacked: in NumPy, unless a gradient is to flow through or they are of several shapes."""
    first = batch[0]
    other = next((number for number, each in enumerate(batch) if not isinstance(each, Tensor)), None)
    if other is not None:
        raise TypeError(f"expected Tensor as element {other} in argument 0, but got {type(batch[other]).__name__}")
    alike = all(each.shape == first.shape and each.dtype is first.dtype for each in batch)
    if alike and not any(each.requires_grad for each in batch):
        return new_leaf(np.stack([each.__numbers__() for each in batch]), first.dtype, False, first.device)
    return apply(stack_op, (tuple(batch),), (0,))


def _arrays(batch: Sequence[Any]) -> Tensor:
    if batch[0].dtype.kind in "SUO":
        raise TypeError(REFUSED.format(batch[0].dtype))
    if len({(each.shape, each.dtype) for each in batch}) == 1:
        return tensor(np.stack(batch))
    return _tensors([as_tensor(each) for each in batch])


KINDS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (Tensor, _tensors),
    (np.ndarray, _arrays),
    ((np.bool_, np.number, np.object_), lambda batch: as_tensor(np.array(batch))),
    (float, lambda batch: tensor(list(batch), dtype=float64)),
    (int, lambda batch: tensor(list(batch))),
    ((str, bytes), lambda batch: batch),
)
"""What each class of samples becomes in a batch; the first that fits."""

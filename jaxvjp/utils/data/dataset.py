"""Datasets: what has samples by number, what is iterated over, and what is composed of others."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from jaxvjp.library.generator import Generator, default_generator
from jaxvjp.library.random_tensors import randperm
from jaxvjp.tensor.refusals import ARRAYS, advice_on_array
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import typename
from jaxvjp.types.user_code import warn_user

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Dataset(Generic[T_co]):
    """Samples by number: a subclass has `__getitem__` and usually `__len__`. Counterpart of `torch.utils.data.Dataset`.

    `a + b` is the samples of a and then those of b.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples one after the other: a subclass has `__iter__`. Counterpart of `torch.utils.data.IterableDataset`.

    Each worker of a `DataLoader` iterates over a copy; `get_worker_info()` tells it which part is its own.
    """

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of tensors: sample i is `(a[i], b[i], ...)`. Counterpart of `torch.utils.data.TensorDataset`.

    Args:
        tensors: of equal length; AssertionError otherwise.
    """

    def __init__(self, *tensors: Tensor) -> None:
        for each in tensors:
            if isinstance(each, ARRAYS):
                raise TypeError(f"TensorDataset takes tensors, not {typename(each)}{advice_on_array(each)}")
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset[Any]):
    """Samples of several datasets side by side, as a tuple or dict. Counterpart of `torch.utils.data.StackDataset`.

    Args:
        args: datasets of equal length, whose samples make tuples.
        kwargs: the same by name, whose samples make dicts. ValueError for both, none, or unequal lengths.
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = {len(each) for each in args or kwargs.values()}
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")
        (self._length,) = lengths

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: each[index] for name, each in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        named = isinstance(self.datasets, dict)
        columns = [_items(each, indices) for each in (self.datasets.values() if named else self.datasets)]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
        rows = zip(*columns, strict=True)
        return [dict(zip(self.datasets, row, strict=True)) for row in rows] if named else list(rows)

    def __len__(self) -> int:
        return self._length


def _items(dataset: Any, indices: list[int]) -> Any:
    """Several samples, at once where the dataset can."""
    at_once = getattr(dataset, "__getitems__", None)
    return at_once(indices) if callable(at_once) else [dataset[index] for index in indices]


class ConcatDataset(Dataset[T_co]):
    """The samples of datasets one after another. Counterpart of `torch.utils.data.ConcatDataset`.

    Args:
        datasets: with lengths; AssertionError for none, or for an `IterableDataset`.
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets: list[Any] = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Sequence[Any]) -> list[int]:
        """Where each of the datasets ends."""
        return list(itertools.accumulate(len(each) for each in sequence))

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - before]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset[Any]):
    """The samples of iterable datasets one after another. Counterpart of `torch.utils.data.ChainDataset`.

    Args:
        datasets: of class `IterableDataset`; AssertionError otherwise, when it is iterated over.
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for each in _iterable_datasets(self):
            yield from each

    def __len__(self) -> int:
        return sum(len(each) for each in _iterable_datasets(self))


def _iterable_datasets(chain: ChainDataset) -> Iterator[Any]:
    for dataset in chain.datasets:
        if not isinstance(dataset, IterableDataset):
            raise AssertionError("ChainDataset only supports IterableDataset")
        yield dataset


class Subset(Dataset[T_co]):
    """The samples of a dataset with the given numbers. Counterpart of `torch.utils.data.Subset`.

    NotImplementedError for a subclass with a `__getitem__` and no `__getitems__` of its own.
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        own = type(self)
        if own.__getitem__ is not Subset.__getitem__ and own.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{own.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with your "
                "custom logic. A simple implementation:\n\ndef __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> Any:
        return self.dataset[[self.indices[each] for each in idx] if isinstance(idx, list) else self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        return _items(self.dataset, [self.indices[index] for index in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Generator | None = default_generator
) -> list[Subset[Any]]:
    """Splits a dataset at random. Counterpart of `torch.utils.data.random_split`.

    Args:
        dataset: with a length.
        lengths: of the parts; or fractions that add up to 1, whose rounding goes to the first parts.
        generator: what draws the order.

    ValueError for lengths that do not add up to that of the dataset.
    """
    total = len(dataset)
    sizes: list[Any] = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for at, each in enumerate(lengths):
            if not 0 <= each <= 1:
                raise ValueError(f"Fraction at index {at} is not between 0 and 1")
        sizes = [math.floor(total * each) for each in lengths]
        for at in range(total - sum(sizes)):
            sizes[at % len(sizes)] += 1
        for at, size in enumerate(sizes):
            if not size:
                warn_user(f"Length of split at index {at} is 0. This might result in an empty dataset.")
    if sum(sizes) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(sum(sizes), generator=generator).tolist()
    ends = itertools.accumulate(sizes)
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes, strict=True)]

"""`DataLoader`: batches of a dataset, in torch's order for a seed, made ahead by workers where there are any."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import repeat
from typing import Any, Generic, TypeVar

from jaxvjp.library.generator import Generator
from jaxvjp.types.user_code import warn_user
from jaxvjp.utils.data.collate import default_collate, default_convert
from jaxvjp.utils.data.dataset import Dataset, IterableDataset, Subset, TensorDataset
from jaxvjp.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, drawn_seed
from jaxvjp.utils.data.workers import Fetch, Workers, get_worker_info

__all__ = [
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
]

T_co = TypeVar("T_co", covariant=True)
FIXED = frozenset(["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"])
"""Attributes that cannot be set once there is a loader."""


class _Endless:
    """The sampler of an iterable dataset, whose samples have no numbers."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


def _fetch_of(dataset: Any, iterable: bool, batched: bool, collate: Callable[[Any], Any], drop_last: bool) -> Fetch:
    """What makes a batch of numbers, or a sample of one."""
    if not iterable:
        return partial(_fetched, dataset, batched, collate)
    samples = (sample for sample in dataset)  # `zip` asks this for an iterator, not the dataset, which may start anew

    def following(numbers: Any) -> Any:
        if not batched:
            return collate(next(samples))
        batch = [sample for _, sample in zip(numbers, samples, strict=False)]
        if not batch or (drop_last and len(batch) < len(numbers)):
            raise StopIteration
        return collate(batch)

    return following


def _fetched(dataset: Any, batched: bool, collate: Callable[[Any], Any], numbers: Any) -> Any:
    if not batched:
        return collate(dataset[numbers])
    if collate is default_collate:
        rows, of = numbers, dataset
        while type(of) is Subset:
            rows, of = [of.indices[row] for row in rows], of.dataset
        if type(of) is TensorDataset and not any(tensor.requires_grad for tensor in of.tensors):
            return [tensor[rows] for tensor in of.tensors]  # as stacking the rows gives it, in one operation
    at_once = getattr(dataset, "__getitems__", None)
    return collate(at_once(numbers) if at_once else [dataset[number] for number in numbers])


class _DatasetKind:
    """How a dataset is read, as libraries' own loaders say it: by numbers, or from its start to its end."""

    Map, Iterable = 0, 1


class DataLoader(Generic[T_co]):
    """Batches of a dataset: `for x, y in DataLoader(data, 32, shuffle=True):`. As `torch.utils.data.DataLoader`.

    For a seed the order is torch's, and so is the generator's state after it. With workers, which are threads, batches
    are made while a step runs; they are the same for any number of workers where samples draw no random numbers.

    Args:
        dataset: with numbered samples, or an `IterableDataset`.
        batch_size: how many samples a batch has; None for samples that are no batches, or are batches already.
        shuffle: whether each epoch has an order of its own.
        sampler: what gives the numbers of samples.
        batch_sampler: what gives lists of them.
        num_workers: how many threads make batches; 0 for none.
        collate_fn: makes a batch of a list of samples.
        pin_memory: accepted, without effect: JAX copies to its devices itself.
        drop_last: whether to leave out a last batch that is shorter.
        timeout: after how many seconds to give up waiting for a worker; 0 for never.
        worker_init_fn: called in each worker first, with its number.
        multiprocessing_context: accepted; workers are threads.
        generator: what draws the order.
        prefetch_factor: how many batches each worker makes ahead, by default 2.
        persistent_workers: whether workers stay for the next epoch.
        pin_memory_device: accepted, without effect.
        in_order: accepted; batches are always in order.

    ValueError for arguments that do not fit.
    """

    _iterator: Any = None
    __initialized = False
    _IterableDataset_len_called: int | None = None

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        both = "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
        given = "DataLoader with IterableDataset: expected unspecified {0} option, but got {0}={1}"
        prefetching = (
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
        for wrong, told in (
            (
                num_workers < 0,
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
            ),
            (timeout < 0, "timeout option should be non-negative"),
            (num_workers == 0 and prefetch_factor is not None, prefetching),
            (prefetch_factor is not None and prefetch_factor < 0, "prefetch_factor option should be non-negative"),
            (persistent_workers and num_workers == 0, "persistent_workers option needs num_workers > 0"),
            (
                multiprocessing_context is not None and num_workers == 0,
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                f"num_workers={num_workers}",
            ),
            (iterable and shuffle not in (False, None), given.format("shuffle", shuffle)),
            (iterable and sampler is not None, given.format("sampler", sampler)),
            (iterable and batch_sampler is not None, given.format("batch_sampler", batch_sampler)),
            (sampler is not None and bool(shuffle), "sampler option is mutually exclusive with shuffle"),
            (batch_sampler is not None and bool(batch_size != 1 or shuffle or sampler is not None or drop_last), both),
            (
                batch_sampler is None and batch_size is None and drop_last,
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
            ),
        ):
            if wrong:
                raise ValueError(told)
        _check_context(multiprocessing_context)
        if sampler is None:
            if iterable:
                sampler = _Endless()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.persistent_workers = persistent_workers
        self.__initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        """Whether it makes batches of samples."""
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """What gives numbers of samples, or lists of them."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> Iterator[Any]:
        if not self.persistent_workers:
            return _Batches(self)
        if self._iterator is None:
            self._iterator = _Batches(self)
        else:
            self._iterator.begin(self)
        return self._iterator

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)


class _Batches:
    """The batches of an epoch."""

    _workers: Workers | None = None

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader = loader
        self._iterable = loader._dataset_kind == _DatasetKind.Iterable
        if loader.timeout and not loader.num_workers:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._start = partial(
            _fetch_of,
            iterable=self._iterable,
            batched=loader._auto_collation,
            collate=loader.collate_fn,
            drop_last=loader.drop_last,
        )
        self._numbers = iter(loader._index_sampler)
        seed = drawn_seed(loader.generator)  # for the workers; torch draws it also where there are none
        if loader.num_workers:
            ahead = loader.prefetch_factor or 0
            common = (loader.worker_init_fn, loader.num_workers, seed, ahead, loader.timeout)
            self._workers = Workers(loader.dataset, self._start, *common)
        self.begin(loader)

    def begin(self, loader: DataLoader[Any]) -> None:
        """Starts an epoch."""
        self._given = 0
        if self._workers is None:
            self._fetch = self._start(loader.dataset)
        else:
            self._workers.begin(iter(loader._index_sampler))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._loader._index_sampler)

    def __next__(self) -> Any:
        try:
            batch = self._fetch(next(self._numbers)) if self._workers is None else next(self._workers)
        except StopIteration:
            if self._workers is not None and not self._loader.persistent_workers:
                self._workers.stop()
            raise
        self._given += 1
        told = self._loader._IterableDataset_len_called
        if self._iterable and told is not None and self._given > told:
            warn_user(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {told}"
                f"(when accessing len(dataloader)), but {self._given} samples have been fetched. ",
            )
        return batch


def _check_context(context: Any) -> None:
    """Errors for what is no context of processes. A script may name one; its workers are threads all the same."""
    methods = multiprocessing.get_all_start_methods()
    if isinstance(context, str) and context not in methods:
        raise ValueError(
            f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
            f"multiprocessing_context={context!r}"
        )
    if not isinstance(context, str | multiprocessing.context.BaseContext | None):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={context}"
        )

"""Samplers: in which order the samples of a data set are read. For a seed it is torch's order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain, islice, repeat
from typing import Any, Generic, TypeVar

from jaxvjp.library.creation import empty
from jaxvjp.library.crossing import as_tensor
from jaxvjp.library.generator import Generator
from jaxvjp.library.random_tensors import multinomial, randint, randperm
from jaxvjp.types.dtypes import float64, int64

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)
CHUNK = 32
"""How many numbers torch draws at once with replacement."""


def drawn_seed(generator: Generator | None = None) -> int:
    """A seed, drawn as torch draws it: one integer of 64 bits."""
    return int(empty((), dtype=int64).random_(generator=generator).item())


def _check_flag(name: str, value: Any, kind: type[Exception] = ValueError) -> None:
    if not isinstance(value, bool):
        raise kind(f"{name} should be a boolean value, but got {name}={value}")


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class Sampler(Generic[T_co]):
    """An order of samples: a subclass has `__iter__`, usually `__len__`. Counterpart of `torch.utils.data.Sampler`."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ... Counterpart of `torch.utils.data.SequentialSampler`.

    Args:
        data_source: what has the length.
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """A shuffled order. Counterpart of `torch.utils.data.RandomSampler`.

    Args:
        data_source: what has the length.
        num_samples: how many; by default as many as there are.
        generator: what draws; by default one seeded by the default generator, anew each time.

    TypeError where `replacement` is no bool, ValueError where there would be no sample.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _check_flag("replacement", replacement, TypeError)
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many samples it gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        total, wanted = len(self.data_source), self.num_samples
        source = Generator().manual_seed(drawn_seed()) if self.generator is None else self.generator
        if self.replacement:
            for size in chain(repeat(CHUNK, wanted // CHUNK), [wanted % CHUNK]):
                yield from randint(total, (size,), generator=source).tolist()
            return
        for _ in range(wanted // total):
            yield from randperm(total, generator=source).tolist()
        yield from randperm(total, generator=source).tolist()[: wanted % total]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given numbers, shuffled. Counterpart of `torch.utils.data.SubsetRandomSampler`."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for each in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[each]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Numbers drawn by weights; ValueError for arguments that do not fit."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check_count("num_samples", num_samples)
        _check_flag("replacement", replacement)
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` numbers of another sampler. Counterpart of `torch.utils.data.BatchSampler`.

    Args:
        sampler: anything to iterate over.
        batch_size: the length of a list.
        drop_last: whether to leave out a last list that is shorter.

    ValueError for arguments that do not fit.
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        _check_count("batch_size", batch_size)
        _check_flag("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(islice(numbers, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return whole + (rest > 0 and not self.drop_last)

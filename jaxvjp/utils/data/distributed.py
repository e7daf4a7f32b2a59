"""The sampler that gives each of several processes its part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

from jaxvjp.library.generator import Generator
from jaxvjp.library.random_tensors import randperm
from jaxvjp.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th number, from `rank` on. Counterpart of `torch.utils.data.DistributedSampler`.

    Args:
        dataset: what has the length.
        num_replicas: how many processes there are; in JAX `jax.process_count()`.
        rank: which this one is; in JAX `jax.process_index()`.
        shuffle: whether to shuffle, by `seed` and the epoch.
        seed: the same in each process.
        drop_last: whether to leave out what does not fill all parts; else numbers come again.

    ValueError without `num_replicas` and `rank`, as there is no process group, and for a rank out of range.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group.\n"
                "Say `num_replicas=jax.process_count(), rank=jax.process_index()`."
            )
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        total = len(dataset)
        self.num_samples = total // num_replicas if drop_last else math.ceil(total / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        total = len(self.dataset)
        order = list(range(total))
        if self.shuffle:
            order = randperm(total, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        while order and len(order) < self.total_size:
            order += order[: self.total_size - len(order)]
        return iter(order[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Has the next iteration shuffle in another order."""
        self.epoch = epoch

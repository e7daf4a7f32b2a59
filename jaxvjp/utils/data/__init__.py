"""torch's `utils.data`: datasets, samplers in torch's order for a seed, and `DataLoader`, whose workers are threads."""

from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.utils.data import dataloader, dataset, distributed, sampler
from jaxvjp.utils.data.collate import default_collate, default_convert
from jaxvjp.utils.data.dataloader import DataLoader
from jaxvjp.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from jaxvjp.utils.data.distributed import DistributedSampler
from jaxvjp.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from jaxvjp.utils.data.workers import get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "dataloader",
    "dataset",
    "default_collate",
    "default_convert",
    "distributed",
    "get_worker_info",
    "random_split",
    "sampler",
]

complete_all(globals(), __all__, "utils.data", "no JAX: Python on the host, which makes leaves")

__dir__ = __all__.copy

"""torch's `utils.data`: datasets, samplers in torch's order for a seed, and `DataLoader`, whose workers are threads."""

from jaxvjp.tensor import docstrings
from jaxvjp.types import public
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

__all__ = public.public_names(globals(), "dataloader", "dataset", "distributed", "sampler")

docstrings.complete_all(globals(), __all__, "utils.data", "no JAX: Python on the host, which makes leaves")

__dir__ = __all__.copy

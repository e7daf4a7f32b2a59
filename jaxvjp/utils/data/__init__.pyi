# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from jaxvjp.utils.data import dataloader as dataloader
from jaxvjp.utils.data import dataset as dataset
from jaxvjp.utils.data import distributed as distributed
from jaxvjp.utils.data import sampler as sampler
from jaxvjp.utils.data.collate import default_collate as default_collate
from jaxvjp.utils.data.collate import default_convert as default_convert
from jaxvjp.utils.data.dataloader import DataLoader as DataLoader
from jaxvjp.utils.data.dataset import ChainDataset as ChainDataset
from jaxvjp.utils.data.dataset import ConcatDataset as ConcatDataset
from jaxvjp.utils.data.dataset import Dataset as Dataset
from jaxvjp.utils.data.dataset import IterableDataset as IterableDataset
from jaxvjp.utils.data.dataset import StackDataset as StackDataset
from jaxvjp.utils.data.dataset import Subset as Subset
from jaxvjp.utils.data.dataset import TensorDataset as TensorDataset
from jaxvjp.utils.data.dataset import random_split as random_split
from jaxvjp.utils.data.distributed import DistributedSampler as DistributedSampler
from jaxvjp.utils.data.sampler import BatchSampler as BatchSampler
from jaxvjp.utils.data.sampler import RandomSampler as RandomSampler
from jaxvjp.utils.data.sampler import Sampler as Sampler
from jaxvjp.utils.data.sampler import SequentialSampler as SequentialSampler
from jaxvjp.utils.data.sampler import SubsetRandomSampler as SubsetRandomSampler
from jaxvjp.utils.data.sampler import WeightedRandomSampler as WeightedRandomSampler
from jaxvjp.utils.data.workers import get_worker_info as get_worker_info


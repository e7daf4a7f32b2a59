"""`utils.data` beside torch: orders for a seed, batches, errors; and the workers, which are threads."""

from __future__ import annotations

import gc
import threading
import time
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
from oracle import agreement_of, programs_of, raises

import jaxvjp
from jaxvjp.utils.data import DataLoader, Dataset

Point = namedtuple("Point", "x y")


def rows_of(torch, count=10):
    numbers = torch.arange(float(2 * count)).reshape(count, 2)
    return torch.utils.data.TensorDataset(numbers, torch.arange(count))


def squares_of(torch, count=10):
    class Squares(torch.utils.data.Dataset):
        def __len__(self):
            return count

        def __getitem__(self, index):
            return {"square": index * index, "name": f"no. {index}", "half": np.float32(index / 2)}

    return Squares()


def counting_of(torch, count=7):
    class Counting(torch.utils.data.IterableDataset):
        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            first, step = (0, 1) if info is None else (info.id, info.num_workers)
            yield from range(first, count, step)

        def __len__(self):
            return count

    return Counting()


def one_that_starts_anew_when_it_is_asked_for_an_iterator(torch):
    class Own(torch.utils.data.IterableDataset):
        def __iter__(self):
            self.left = 7
            return self

        def __next__(self):
            self.left -= 1
            if self.left < 0:
                raise StopIteration
            return self.left

    data = Own()
    return [list(torch.utils.data.DataLoader(data, size)) for size in (3, None, 7)]


def arrays_and_tensors_one_after_the_other(torch):
    class Own(torch.utils.data.IterableDataset):
        def __iter__(self):
            yield from (np.array([1.0, 2.0]), torch.tensor([3.0, 4.0]).numpy(), np.array([5.0, 6.0]))

    class Tensors(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter([torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])])

    both = [torch.utils.data.DataLoader(kind(), size) for kind in (Own, Tensors) for size in (None, 2)]
    return [[each.tolist() for each in loader] for loader in both]


def order_for_a_seed(torch):
    torch.manual_seed(5)
    found = [list(torch.utils.data.DataLoader(rows_of(torch), 4, shuffle=True)) for _ in range(2)]
    return found, torch.rand(3)


def order_in_sequence(torch):
    torch.manual_seed(5)
    loader = torch.utils.data.DataLoader(rows_of(torch), 3, drop_last=True)
    return list(loader), len(loader), torch.rand(2)


def order_with_workers(torch):
    torch.manual_seed(5)
    loader = torch.utils.data.DataLoader(rows_of(torch), 4, shuffle=True, num_workers=2)
    found = list(loader), torch.rand(2)
    again = torch.utils.data.DataLoader(rows_of(torch), 4, shuffle=True, num_workers=2, persistent_workers=True)
    return found, list(again), list(again), torch.rand(2)


def order_by_a_generator(torch):
    source = torch.Generator().manual_seed(9)
    found = list(torch.utils.data.DataLoader(rows_of(torch), 4, shuffle=True, generator=source))
    return found, torch.rand(2, generator=source), torch.initial_seed() >= 0


def epochs_by_a_generator_with_workers(torch):
    source = torch.Generator().manual_seed(9)
    loader = torch.utils.data.DataLoader(rows_of(torch), 2, shuffle=True, generator=source, num_workers=2)
    return list(loader), list(loader), torch.rand(2, generator=source)


def dicts_and_names(torch):
    return list(torch.utils.data.DataLoader(squares_of(torch), 4))


def dicts_from_workers(torch):
    return list(torch.utils.data.DataLoader(squares_of(torch), 4, num_workers=2))


def iterated(torch):
    data = torch.utils.data
    found = [list(data.DataLoader(counting_of(torch), 3)), list(data.DataLoader(counting_of(torch), 3, drop_last=True))]
    return found, len(data.DataLoader(counting_of(torch), 3)), list(data.DataLoader(counting_of(torch), None))


def iterated_by_workers(torch):
    loader = torch.utils.data.DataLoader(counting_of(torch), 2, num_workers=2)
    return sorted(each for batch in loader for each in batch.tolist())


def random_numbers_of_a_worker(torch):
    class Noise(torch.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            return torch.rand(2) + index

    torch.manual_seed(1)
    return list(torch.utils.data.DataLoader(Noise(), 2, num_workers=2)), torch.rand(1)


def samplers(torch):
    data = torch.utils.data
    torch.manual_seed(2)
    found = [list(data.RandomSampler(range(7))), list(data.RandomSampler(range(7), True, 40))]
    found += [list(data.RandomSampler(range(5), num_samples=12)), list(data.SubsetRandomSampler([3, 1, 4, 1, 5]))]
    found += [list(data.WeightedRandomSampler([0.1, 0.9, 0.4, 3.0], 6)), list(data.SequentialSampler("abc"))]
    found += [list(data.WeightedRandomSampler([0.1, 0.9, 0.4, 3.0], 3, replacement=False))]
    return found, torch.rand(2)


def batch_sampler(torch):
    data = torch.utils.data
    kept, cut = [data.BatchSampler(data.SequentialSampler(range(7)), 3, drop_last) for drop_last in (False, True)]
    loader = data.DataLoader(rows_of(torch), batch_sampler=kept.__class__(range(7), 3, False))
    return list(kept), list(cut), len(kept), len(cut), list(loader), loader.batch_size, loader.drop_last


def distributed(torch):
    sampler = torch.utils.data.DistributedSampler(range(7), num_replicas=3, rank=1)
    found = [list(sampler), len(sampler)]
    sampler.set_epoch(2)
    even = torch.utils.data.DistributedSampler(range(7), 3, 2, shuffle=False, drop_last=True)
    return [*found, list(sampler), list(even), len(even)]


def composed(torch):
    data = torch.utils.data
    both = rows_of(torch, 3) + rows_of(torch, 2)
    chained = counting_of(torch, 2) + counting_of(torch, 3)
    part = data.Subset(range(10, 20), [5, 1])
    stacked = data.StackDataset(a=range(3), b=range(3, 6))
    found = [len(both), both[-1], both[3], list(chained), len(chained), list(part)]
    found += [stacked[1], stacked.__getitems__([0, 2]), data.StackDataset(range(2), range(2))[1], len(stacked)]
    return found, list(data.DataLoader(both, 2)), list(data.DataLoader(stacked, 2))


def split(torch):
    torch.manual_seed(4)
    found = [list(each.indices) for each in torch.utils.data.random_split(range(10), [7, 3])]
    source = torch.Generator().manual_seed(42)
    found += [list(each) for each in torch.utils.data.random_split(range(11), [0.3, 0.3, 0.4], generator=source)]
    part, _ = torch.utils.data.random_split(rows_of(torch), [0.5, 0.5])
    return found, list(torch.utils.data.DataLoader(part, 2, shuffle=True)), torch.rand(1)


def collated(torch):
    collate = torch.utils.data.default_collate
    arrays = [np.array([1, 2], np.int16), np.array([3, 4], np.int16)]
    named = collate([Point(1, 2.5), Point(3, 4.5)])
    found = [collate([True, False]), collate([1.5, 2]), collate(["a", "b"]), collate([(1, "x"), (2, "y")])]
    found += [collate([[1, 2], [3, 4]]), collate(arrays), collate([np.float64(2), np.float64(3)])]
    found += [type(named).__name__, named.x, named.y, type(collate([OrderedDict(a=1)])).__name__]
    return found, collate([torch.ones(2), torch.zeros(2)]), collate([torch.ones(2, requires_grad=True)] * 2)


def converted(torch):
    convert = torch.utils.data.default_convert
    named = convert(Point(np.array([1, 2]), 3))
    found = [convert(0), convert(np.array([0, 1])), convert([np.array([0, 1]), "a"]), convert((np.int32(4), 5))]
    return found, named.x, named.y, convert({"a": np.ones(2, np.float32)})


def samples_and_no_batches(torch):
    return list(torch.utils.data.DataLoader(rows_of(torch, 3), batch_size=None))


def own_collate(torch):
    return list(torch.utils.data.DataLoader(range(7), 3, collate_fn=sum, num_workers=2))


def init_of_workers(torch):
    started = []
    loader = torch.utils.data.DataLoader(range(4), 2, num_workers=0, worker_init_fn=started.append)
    return list(loader), started, torch.utils.data.get_worker_info()


def iterated_by_workers_that_stay(torch):
    loader = torch.utils.data.DataLoader(counting_of(torch), 2, num_workers=2, persistent_workers=True)
    return [sorted(each for batch in loader for each in batch.tolist()) for _ in range(2)]


@raises(RuntimeError)
def unequal_shapes(torch):
    return torch.utils.data.default_collate([torch.ones(2), torch.ones(3)])


@raises(RuntimeError)
def unequal_lists(torch):
    return torch.utils.data.default_collate([[1, 2], [3]])


@raises(TypeError)
def unknown_samples(torch):
    return torch.utils.data.default_collate([None, None])


@raises(ZeroDivisionError)
def error_of_a_worker(torch):
    class Broken(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return 1 // (index - 1)

    return list(torch.utils.data.DataLoader(Broken(), 1, num_workers=1))


@raises(NotImplementedError)
def no_getitem(torch):
    return torch.utils.data.Dataset()[0]


@raises(AssertionError)
def unequal_tensors(torch):
    return torch.utils.data.TensorDataset(torch.ones(2), torch.ones(3))


def refused(*arguments, **named):
    def program(torch):
        data = counting_of(torch) if named.get("iterable") else range(4)
        return torch.utils.data.DataLoader(data, *arguments, **{k: v for k, v in named.items() if k != "iterable"})

    program.__name__ = f"refused_{'_'.join(named)}"
    return raises(ValueError)(program)


REFUSED = [
    refused(num_workers=-1),
    refused(timeout=-1),
    refused(prefetch_factor=2),
    refused(persistent_workers=True),
    refused(batch_size=0),
    refused(batch_size=None, drop_last=True),
    refused(shuffle=True, sampler=range(3)),
    refused(batch_sampler=[[0]], batch_size=2),
    refused(iterable=True, shuffle=True),
    refused(drop_last=3),
    refused(multiprocessing_context="spawn"),
    refused(num_workers=1, multiprocessing_context="nonsense"),
]


@raises(ValueError)
def set_later(torch):
    torch.utils.data.DataLoader(range(3)).batch_size = 4


@raises(AssertionError)
def timeout_without_workers(torch):
    return iter(torch.utils.data.DataLoader(range(3), timeout=2))


test_agrees_with_torch = agreement_of([*programs_of(globals()), *REFUSED])


@pytest.fixture
def workers():
    """A function that tells which workers there are, but for those of tests before this one."""
    before = {*threading.enumerate()}
    return lambda: [each for each in threading.enumerate() if "DataLoader" in each.name and each not in before]


class Slow(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        time.sleep(0.05)
        return index


def test_workers_end_with_the_epoch_and_after_a_break(workers):
    loader = DataLoader(Slow(), 1, num_workers=3)
    for batch in loader:
        assert len(workers()) == 3
        assert batch.tolist() == [0]
        break
    gc.collect()
    assert not workers()
    assert [each.item() for each in loader] == list(range(8))
    assert not workers()
    kept = DataLoader(Slow(), 4, num_workers=2, persistent_workers=True)
    assert [each.tolist() for each in kept] == [each.tolist() for each in kept]
    assert len(workers()) == 2
    del kept
    gc.collect()
    assert not workers()


def test_the_next_batches_are_made_while_a_step_runs():
    made = [threading.Event() for _ in range(6)]

    class Told(Dataset):
        def __len__(self):
            return len(made)

        def __getitem__(self, index):
            made[index].set()
            return float(index)

    w = jaxvjp.ones(1, requires_grad=True)
    for step, batch in enumerate(DataLoader(Told(), 1, num_workers=1, prefetch_factor=2)):
        loss = (w * batch).sum()
        assert all(each.wait(10) for each in made[step + 1 : step + 3])  # none of them was asked for yet
        assert not any(each.is_set() for each in made[step + 3 :])
        loss.backward()
    assert w.grad.item() == 15


def test_a_worker_that_takes_too_long():
    class Stuck(Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            time.sleep(0.5)
            return index

    with pytest.raises(RuntimeError, match=r"timed out after 0\.1 seconds"):
        list(DataLoader(Stuck(), num_workers=1, timeout=0.1))


def test_each_worker_has_a_copy_of_the_dataset_and_its_info():
    seen = []

    class Part(jaxvjp.utils.data.IterableDataset):
        first = 0

        def __iter__(self):
            return iter([self.first])

    def init(number):
        info = jaxvjp.utils.data.get_worker_info()
        info.dataset.first = 10 * number
        seen.append((info.id, info.num_workers, number))

    data = Part()
    found = list(DataLoader(data, None, num_workers=2, worker_init_fn=init))
    assert sorted(found) == [0, 10]
    assert sorted(seen) == [(0, 2, 0), (1, 2, 1)]
    assert data.first == 0


def test_an_error_of_a_worker_shows_where_it_was(workers):
    class Broken(Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            raise KeyError("gone")

    with pytest.raises(KeyError, match=r"(?s)in DataLoader worker process 0.*Original Traceback.*gone"):
        list(DataLoader(Broken(), num_workers=1))
    gc.collect()
    assert not workers()

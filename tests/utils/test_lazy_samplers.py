"""Samplers draw what is asked for next, from torch's stream, however many samples they are to give."""

from __future__ import annotations

from itertools import islice

import pytest
from oracle import agree, agreement_of, programs_of, raises

import jaxvjp

MANY = 10**12


def first_of_many(torch):
    """Chunks of 32 are drawn when they are needed: the generator's state says how many were."""
    data, found = torch.utils.data, []
    for asked in (1, 32, 33, 100):
        generator = torch.Generator().manual_seed(5)
        sampler = data.RandomSampler(range(10), True, MANY, generator)
        found += [list(islice(sampler, asked)), torch.randint(1000, (3,), generator=generator), len(sampler)]
    return found


def every_count_of_the_last_chunk(torch):
    found = []
    for count in (1, 31, 32, 33, 64, 65):
        generator = torch.Generator().manual_seed(count)
        numbers = list(torch.utils.data.RandomSampler(range(100), True, count, generator))
        found += [numbers, torch.randint(1000, (2,), generator=generator)]
    return found


def batches_of_many(torch):
    torch.manual_seed(1)
    data = torch.utils.data
    sampler = data.RandomSampler(range(9), replacement=True, num_samples=MANY)
    batches = data.BatchSampler(sampler, 4, True)
    return list(islice(batches, 10)), len(batches), torch.rand(2)


def a_loader_of_many(torch):
    torch.manual_seed(1)
    data = torch.utils.data
    set_of = data.TensorDataset(torch.arange(9.0))
    loader = data.DataLoader(set_of, 4, sampler=data.RandomSampler(set_of, replacement=True, num_samples=MANY))
    return [batch[0] for batch in islice(loader, 10)], len(loader)


def passes_without_replacement(torch):
    """A whole pass is shuffled when it is needed."""
    generator = torch.Generator().manual_seed(5)
    sampler = torch.utils.data.RandomSampler(range(6), num_samples=MANY, generator=generator)
    return list(islice(sampler, 20)), torch.randint(1000, (3,), generator=generator)


def a_sequence_of_many(torch):
    data = torch.utils.data
    loader = data.DataLoader(range(MANY), 3)
    return list(islice(data.SequentialSampler(range(MANY)), 3)), next(iter(loader)), len(loader)


def splits(torch):
    def of(count, lengths):
        generator = torch.Generator().manual_seed(3)
        parts = torch.utils.data.random_split(range(count), lengths, generator=generator)
        return [part.indices for part in parts], torch.randint(1000, (2,), generator=generator)

    return [
        of(10, [0.5, 0.5]),
        of(10, (3, 7)),
        of(11, [0.3, 0.3, 0.4]),
        of(2, [0.1, 0.9]),
        of(10, [-3, 13]),  # torch slices the order, and so it takes this
        of(10, torch.tensor([4, 6])),
        of(0, []),
    ]


@raises(RuntimeError)
def nothing_to_draw_from(torch):
    return list(torch.utils.data.RandomSampler(range(0), True, 3))


def a_shuffle_by_a_tensor(torch):
    torch.manual_seed(2)
    return torch.randperm(torch.tensor(5)), torch.randperm(torch.tensor([4], dtype=torch.int8))


test_agrees_with_torch = agreement_of(programs_of(globals()))


@pytest.mark.parametrize("replacement", [True, False])
def test_as_many_weights_as_samples(replacement):
    def program(torch):
        generator = torch.Generator().manual_seed(3)
        sampler = torch.utils.data.WeightedRandomSampler([0.1, 0.9, 0.4, 3.0], 4, replacement, generator)
        return list(sampler), torch.randint(1000, (3,), generator=generator)

    agree(program)


def test_a_split_by_floats_is_refused():
    """As by torch, which says it of `randperm`."""
    with pytest.raises(TypeError):
        jaxvjp.utils.data.random_split(range(10), [3.0, 7.0])


def test_what_is_drawn_is_all_that_is_held():
    """Nothing that grows with the number of samples is made before the first one."""
    numbers = iter(jaxvjp.utils.data.RandomSampler(range(3), replacement=True, num_samples=10**18))
    assert next(numbers) in range(3)

"""Numbers and shapes that an operation has no place for: what it says."""

import pytest
from oracle import agree

LARGE = [2**64, 2**70, -(2**64)]


@pytest.mark.parametrize("number", LARGE)
@pytest.mark.parametrize("divide", ["floor_divide", "remainder", "fmod"])
def test_divisors_of_more_than_64_bits(divide, number):
    agree(lambda torch: getattr(torch, divide)(torch.arange(3), number), raises=(OverflowError, RuntimeError))


@pytest.mark.parametrize("value", [1j, 2 + 0j])
@pytest.mark.parametrize("kind", ["int64", "float32", "bool"])
def test_a_complex_number_is_not_written_by_index(kind, value):
    def program(torch, value):
        x, index = torch.ones(2, dtype=getattr(torch, kind)), torch.tensor([0])
        return x.index_fill(0, index, value)

    agree(lambda torch: program(torch, torch.tensor(value)), raises=RuntimeError)
    agree(lambda torch: program(torch, value), raises=RuntimeError)


def test_masks_that_do_not_fit():
    agree(lambda torch: torch.ones(2, 3).masked_select(torch.ones(4, 5) > 0), raises=RuntimeError)
    agree(lambda torch: torch.ones(2, 3).masked_select(torch.ones(2) > 0), raises=RuntimeError)
    assert agree(lambda torch: torch.ones(2, 3).masked_select(torch.ones(4, 2, 1) > 0)).error is None


def test_batches_that_are_none():
    agree(lambda torch: torch.bmm(torch.ones(2, 2), torch.ones(1, 2, 2)), raises=RuntimeError)
    agree(lambda torch: torch.bmm(torch.ones(1, 2, 2), torch.ones(2, 2)), raises=RuntimeError)
    agree(lambda torch: torch.bmm(torch.ones(1, 2, 3), torch.ones(1, 2, 2)), raises=RuntimeError)


def test_sizes_below_zero():
    for made in ("zeros", "ones", "empty", "rand"):
        agree(lambda torch, made=made: getattr(torch, made)(2, -1), raises=RuntimeError)
    agree(lambda torch: torch.zeros((-1,)), raises=RuntimeError)


def test_recurrent_layers_of_one_dimension():
    for kind in ("RNN", "GRU", "LSTM"):
        agree(lambda torch, kind=kind: getattr(torch.nn, kind)(2, 2)(torch.ones(2)), raises=ValueError)


def test_the_name_of_an_error_of_matrices():
    def program(torch):
        found = []
        for call in (torch.linalg.inv, torch.linalg.cholesky, lambda x: torch.linalg.solve(x, x)):
            try:
                call(torch.zeros(2, 2))
            except torch.linalg.LinAlgError as error:
                found.append(type(error).__name__)
        return found

    assert agree(program).error is None

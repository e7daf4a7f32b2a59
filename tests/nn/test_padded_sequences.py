"""Sequences of several dtypes and shapes that are padded together: the first one says what the result is."""

from __future__ import annotations

import pytest
from oracle import Outcome, agree, theirs

import jaxvjp


def padded(torch, *given, **setting):
    return torch.nn.utils.rnn.pad_sequence([each(torch) for each in given], **setting)


def of(*numbers, dtype=None):
    return lambda torch: torch.tensor(numbers, dtype=dtype and getattr(torch, dtype))


GIVEN = {
    "integers first": (of(1, 2), of(1.5, 2.5, 3.5)),
    "integers last": (of(1.5, 2.5, 3.5), of(1, 2)),
    "double": (of(1.5), of(1.5, 2.5, dtype="float64")),
    "masks first": (of(True), of(2, 0)),
    "real numbers first": (of(1.0), of(1j, 2j)),
    "rows and a row": (lambda torch: torch.ones(2, 3), lambda torch: 2 * torch.ones(4, 3), lambda torch: torch.ones(3)),
    "rows that are spread": (lambda torch: torch.ones(2, 3), lambda torch: 2 * torch.ones(1, 1)),
    "rows of other lengths": (lambda torch: torch.ones(2, 3), lambda torch: torch.ones(3, 4)),
    "rows that do not fit": (lambda torch: torch.ones(2, 1), lambda torch: torch.ones(1, 3)),
    "numbers, and rows": (lambda torch: torch.ones(2), lambda torch: torch.ones(2, 3)),
    "no time": (lambda torch: torch.tensor(1.0),),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("value", [0.0, 0.5])
def test_the_first_sequence_says_what_the_result_is(given, value):
    agree(lambda torch: padded(torch, *GIVEN[given], padding_value=value))
    agree(lambda torch: padded(torch, *GIVEN[given], padding_value=value, batch_first=True, padding_side="left"))


def test_a_padding_that_does_not_fit():
    agree(lambda torch: padded(torch, of(1.0, dtype="float16"), of(2.0, 3.0), padding_value=1e9), raises=RuntimeError)


def test_gradients_of_what_was_converted():
    def program(torch):
        x, y = (torch.ones(n, dtype=own, requires_grad=True) for n, own in ((2, torch.float32), (3, torch.float64)))
        result = torch.nn.utils.rnn.pad_sequence([x, y])
        (result * torch.arange(6.0).reshape(3, 2)).sum().backward()
        return result, x.grad, y.grad

    agree(program)


@pytest.mark.parametrize("lengths", [[[5, 5, 3, 1]], 5])
def test_lengths_are_a_vector(lengths):
    def program(torch):
        return torch.nn.utils.rnn.pack_padded_sequence(torch.ones(4, 5), torch.tensor(lengths), batch_first=True)

    agree(program, raises=RuntimeError)


def test_a_length_beyond_the_padding_is_refused():
    """torch takes what lies behind the tensor in memory."""

    def program(torch):
        x = torch.arange(8.0).reshape(2, 4)
        return torch.nn.utils.rnn.pack_padded_sequence(x, [5, 2], batch_first=True).batch_sizes.tolist()

    assert theirs(program).value == [2, 2, 1, 1, 1]
    assert "at most 4" in str(Outcome(program, jaxvjp).error)

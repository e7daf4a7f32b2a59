"""Sequences of different lengths: packed, padded, and through recurrent layers."""

from __future__ import annotations

from typing import Any

import pytest
from oracle import agree, agreement_of, programs_of, raises

import jaxvjp


def sequences(torch: Any, *lengths: int) -> list[Any]:
    torch.manual_seed(0)
    return [torch.randn(length, 3, requires_grad=True) for length in lengths]


def padding(torch: Any) -> Any:
    rnn, given = torch.nn.utils.rnn, sequences(torch, 2, 4, 1)
    results = [
        rnn.pad_sequence(given),
        rnn.pad_sequence(given, batch_first=True, padding_value=-1.0, padding_side="left"),
        *rnn.unpad_sequence(rnn.pad_sequence(given), torch.tensor([2, 4, 1])),
        rnn.pad_sequence([each.detach()[:, 0] for each in given]),
    ]
    (results[0] ** 2).sum().backward()
    return results, [each.grad for each in given]


def packing(torch: Any) -> Any:
    rnn, given = torch.nn.utils.rnn, sequences(torch, 2, 4, 1)
    packed = rnn.pack_sequence(given, enforce_sorted=False)
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=9.0, total_length=6)
    (padded**2).sum().backward()
    unpacked = rnn.unpack_sequence(packed)
    kinds = [packed.double().data.dtype == torch.float64, packed.to("cpu") is packed, packed.is_cuda]
    return list(packed), padded, lengths, unpacked, [each.grad for each in given], kinds


def a_packed_sequence_by_hand(torch: Any) -> Any:
    made = torch.nn.utils.rnn.PackedSequence(torch.ones(3), torch.tensor([2, 1]), torch.tensor([1, 0]))
    return list(made), made.data.sum(), made == made, len(made)


@raises(RuntimeError)
def lengths_that_increase(torch: Any) -> Any:
    return torch.nn.utils.rnn.pack_padded_sequence(torch.ones(4, 2, 1), [2, 4])


@raises(RuntimeError)
def a_length_of_zero(torch: Any) -> Any:
    return torch.nn.utils.rnn.pack_padded_sequence(torch.ones(4, 2, 1), torch.tensor([2, 0]))


@raises(RuntimeError)
def nothing_to_pack(torch: Any) -> Any:
    return torch.nn.utils.rnn.pack_padded_sequence(torch.ones(0, 0), torch.tensor([], dtype=torch.int64))


@raises(RuntimeError)
def too_few_lengths(torch: Any) -> Any:
    return torch.nn.utils.rnn.pack_padded_sequence(torch.ones(4, 2, 1), [3])


@raises(ValueError)
def a_total_length_that_is_short(torch: Any) -> Any:
    packed = torch.nn.utils.rnn.pack_sequence(sequences(torch, 4, 2))
    return torch.nn.utils.rnn.pad_packed_sequence(packed, total_length=3)


@raises(RuntimeError)
def no_sequences(torch: Any) -> Any:
    return torch.nn.utils.rnn.pad_sequence([])


def vectors_from_elsewhere(torch: Any) -> Any:
    table = torch.arange(6.0).view(3, 2)
    layers = [torch.nn.Embedding.from_pretrained(table, False, 1), torch.nn.EmbeddingBag.from_pretrained(table)]
    whole = torch.nn.Embedding.from_pretrained(table.long())
    return [repr(layers), whole(torch.tensor([2])), [each.weight.requires_grad for each in (*layers, whole)]]


PROGRAMS = programs_of(globals())
test_agrees_with_torch = agreement_of(PROGRAMS)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("in_order", [True, False])
def test_recurrent_layers_of_packed_sequences(kind: str, in_order: bool) -> None:
    def program(torch: Any) -> Any:
        rnn = torch.nn.utils.rnn
        given = sequences(torch, *((4, 2, 1) if in_order else (2, 4, 1)))
        packed = rnn.pack_sequence(given, enforce_sorted=in_order)
        layer = getattr(torch.nn, kind)(3, 4, num_layers=2, bidirectional=True, dropout=0.4)
        state = torch.randn(4, 3, 4, requires_grad=True)
        output, last = layer(packed, (state, state) if kind == "LSTM" else state)
        last = last if kind == "LSTM" else (last,)
        padded, lengths = rnn.pad_packed_sequence(output)
        ((padded**2).sum() + sum((each**2).sum() for each in last)).backward()
        gradients = [each.grad for each in (*given, state, *layer.parameters())]
        return padded, lengths, last, gradients, list(output)[1:]

    agree(program, rtol=1e-5, atol=1e-5)


@pytest.mark.compiled
def test_time_is_one_loop() -> None:
    """A layer over time is one operation, whatever the length; and a training step is one dispatch."""
    layer, x = jaxvjp.nn.LSTM(3, 4), jaxvjp.randn(50, 2, 3)
    taken = []
    for _ in range(5):
        before = jaxvjp.counters.dispatches
        layer.zero_grad()
        layer(x)[0].sum().backward()
        assert layer.weight_hh_l0.grad.isfinite().all()
        taken.append(jaxvjp.counters.dispatches - before)
    assert min(taken) <= 2, taken  # one of them is for the value of `all`

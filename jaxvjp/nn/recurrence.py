"""Recurrent networks of several layers and both directions; each layer in each direction is one row of `ops`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxvjp.library.creation import tensor
from jaxvjp.nn.dropout import dropout
from jaxvjp.ops.joining import cat, stack
from jaxvjp.ops.neural.recurrence import recurrence, recurrent_cell
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import bool_

UNDERNEATH = "`jax.lax.scan` over time, an op of `jaxvjp.ops.neural.recurrence`, and `jax.vjp` of it"


class Packing:
    """Where the rows of a packed sequence are in a padded one, (time, batch), whose sequences get shorter.

    `packed` has for each row of the packed sequence its place in the flattened padded one; `padded` the reverse, with
    row 0 where a sequence has ended and `live` is false.
    """

    def __init__(self, batch_sizes: Tensor) -> None:
        sizes = np.asarray(batch_sizes.__value__)
        self.shape = len(sizes), int(sizes[0])
        alive = np.arange(self.shape[1]) < sizes[:, None]
        self.packed = tensor(np.flatnonzero(alive))
        self.padded = tensor(np.where(alive, np.cumsum(alive).reshape(alive.shape) - 1, 0).ravel())
        self.live = tensor(alive, dtype=bool_)

    def unpack(self, data: Tensor) -> Tensor:
        return data.index_select(0, self.padded).reshape(*self.shape, *data.shape[1:])

    def pack(self, padded: Tensor) -> Tensor:
        return padded.flatten(0, 1).index_select(0, self.packed)


def _layers(
    kind: str,
    input: Tensor,
    state: tuple[Tensor, ...],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    p: float,
    train: bool,
    bidirectional: bool,
    packing: Packing | None,
) -> tuple[Tensor, ...]:
    directions = 2 if bidirectional else 1
    count = len(params) // (num_layers * directions)
    last: list[Any] = []
    for layer in range(num_layers):
        outputs = []
        if layer and train and p > 0:  # drawn for the packed rows only, as torch does
            input = dropout(input, p) if packing is None else packing.unpack(dropout(packing.pack(input), p))
        for direction in range(directions):
            place = layer * directions + direction
            own = list(params[place * count : (place + 1) * count])
            projection = own.pop() if len(own) % 2 else None
            biases = own[2:] if has_biases else (None, None)
            hidden, cell = (state[0][place], state[1][place] if len(state) > 1 else None)
            operands = (input, hidden, cell, *own[:2], *biases, projection, packing.live if packing else None)
            output, *after = apply(recurrence, operands, (kind, bool(direction)))
            outputs.append(output)
            last.append(after)
        input = outputs[0] if directions == 1 else apply(cat, (tuple(outputs),), (-1,))
    return input, *[apply(stack, (each,), (0,)) for each in zip(*last, strict=True)]


PARAMETERS = ("hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first")


def _network(kind: str) -> Callable[..., tuple[Tensor, ...]]:
    def network(*arguments: Any, **named: Any) -> tuple[Tensor, ...]:
        packed = "batch_sizes" in named or (len(arguments) > 3 and isinstance(arguments[3], list | tuple))
        first = ("input", "batch_sizes") if packed else ("input",)
        given = dict(zip((*first, *PARAMETERS), arguments, strict=False)) | named
        if "data" in given:
            given["input"] = given.pop("data")
        packing = Packing(given.pop("batch_sizes")) if packed else None
        return _arranged(kind, packing, **given)

    network.__name__ = network.__qualname__ = kind
    network.__doc__ = f"""All outputs of `nn.{kind.partition("_")[0].upper()}` and its last state, with its parameters
    as a list.

    It is called as (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or for a
    packed sequence as (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional).
    """
    return network


def _arranged(
    kind: str,
    packing: Packing | None,
    input: Tensor,
    hx: Tensor | Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool = False,
) -> tuple[Tensor, ...]:
    if packing is not None:
        input = packing.unpack(input)
    elif batch_first:
        input = input.transpose(0, 1)
    state = (hx,) if isinstance(hx, Tensor) else tuple(hx)
    result, *last = _layers(kind, input, state, params, has_biases, num_layers, dropout, train, bidirectional, packing)
    result = packing.pack(result) if packing is not None else result.transpose(0, 1) if batch_first else result
    return result, *last


def _cell(kind: str) -> Callable[..., Any]:
    def cell(
        input: Tensor,
        hx: Any,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Any:
        state = tuple(hx) if kind == "lstm" else (hx, None)
        after = apply(recurrent_cell, (input, *state, w_ih, w_hh, b_ih, b_hh), (kind,))
        return after if kind == "lstm" else after[0]

    cell.__name__ = cell.__qualname__ = f"{kind}_cell"
    cell.__doc__ = f"""The next state of a cell, after `input` (batch, features).

    Args:
        hx: the state (batch, hidden); for `lstm_cell` a pair of them.
        w_ih, w_hh: the weights of the input and of the state.
        b_ih, b_hh: the same for the biases.

    Counterpart of `torch.{kind}_cell`.
    """
    return cell


for _kind in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    public("function")(_network(_kind))
    public("function")(_cell(_kind))

"""Recurrent layers and cells."""

from __future__ import annotations

import math
from typing import Any

from jaxvjp.library.creation import zeros
from jaxvjp.nn import init, recurrence
from jaxvjp.nn.modules.layer import BIAS, PLACE, Layer, register_empty
from jaxvjp.nn.packed_sequences import PackedSequence
from jaxvjp.ops.neural.recurrence import GATES
from jaxvjp.tensor.published import published_at
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.user_code import warn_user

UNDERNEATH = recurrence.UNDERNEATH
SIZES = "input_size: int, hidden_size: int"


class RNNBase(Layer):
    """Several layers of a recurrent network, in one direction or in both."""

    __computed__ = ("_flat_weights_names", "_flat_weights")
    __printed__ = "input_size! hidden_size! proj_size? num_layers? bias? batch_first? dropout? bidirectional?"
    __given__ = "device dtype"
    __settings__ = (
        f"mode: str, {SIZES}, num_layers: int = 1, {BIAS}, batch_first: bool = False, dropout: float = 0.0, "
        f"bidirectional: bool = False, proj_size: int = 0, {PLACE}"
    )

    def __finish_init__(self, device: Any, dtype: Any) -> None:
        dropout, num_layers, bidirectional = self.dropout, self.num_layers, self.bidirectional
        input_size, hidden_size, proj_size = self.input_size, self.hidden_size, self.proj_size
        if not isinstance(dropout, int | float) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warn_user(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            )
        for name, kind in {"bias": bool, "batch_first": bool, "input_size": int, "hidden_size": int}.items():
            if not isinstance(getattr(self, name), kind):
                given = type(getattr(self, name)).__name__
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {given}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode.lower() not in GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")
        self.dropout: Any = float(dropout)
        rows, given = GATES[self.mode.lower()] * hidden_size, proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for direction in ("", "_reverse")[: 1 + bidirectional]:
                width = input_size if layer == 0 else given * (1 + bidirectional)
                shapes: dict[str, Any] = {"weight_ih": (rows, width), "weight_hh": (rows, given)}
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if self.bias else {}
                shapes |= {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
                named = {f"{name}_l{layer}{direction}": shape for name, shape in shapes.items()}
                register_empty(self, device, dtype, **named)
                self._all_weights.append(list(named))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: the parameters need not lie in one piece of memory."""

    @property
    def all_weights(self) -> list[list[Tensor]]:
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        own = self._flat_weights[0].dtype
        if input.dtype != own:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({own}). Convert input: input.to({own}), "
                f"or convert model: model.to({input.dtype})"
            )
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        lstm = self.mode == "LSTM"
        packed = isinstance(input, PackedSequence)
        data, sizes, order, back = input if packed else (input, None, None, None)
        alone = not packed and data.dim() == 2
        if not packed and data.dim() not in (2, 3):
            tail = " tensor instead" if self.mode.startswith("RNN") else " instead"
            name = "RNN" if self.mode.startswith("RNN") else self.mode
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {data.dim()}D{tail}")
        if alone:
            data = data.unsqueeze(0 if self.batch_first else 1)
        batch = int(sizes[0]) if sizes is not None else data.size(0 if self.batch_first else 1)
        count = self.num_layers * (1 + self.bidirectional)
        shapes = [(count, batch, self.proj_size or self.hidden_size)] + [(count, batch, self.hidden_size)] * lstm
        if hx is None:
            state = [zeros(*shape, dtype=data.dtype, device=data.device) for shape in shapes]
        else:
            state = _initial_state(self, hx, packed, alone)
            if order is not None:
                state = [each.index_select(1, order) for each in state]
        self.check_input(data, sizes)
        if not packed and data.size(1 if self.batch_first else 0) == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        for place, (each, shape) in enumerate(zip(state, shapes, strict=True)):
            if each.shape != shape:
                word = f"hidden[{place}] size" if lstm else "hidden size"
                raise RuntimeError(f"Expected {word} {shape}, got {list(each.shape)}")
        network = published_at("function", self.mode.lower())
        hidden = tuple(state) if lstm else state[0]
        settings = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if packed:
            output, *last = network(data, sizes, hidden, *settings)
            output = PackedSequence(output, sizes, order, back)
            last = last if back is None else [each.index_select(1, back) for each in last]
        else:
            output, *last = network(data, hidden, *settings, self.batch_first)
        if alone:
            output = output.squeeze(0 if self.batch_first else 1)
            last = [each.squeeze(1) for each in last]
        return output, tuple(last) if lstm else last[0]


def _initial_state(network: RNNBase, hx: Any, packed: bool, alone: bool) -> list[Tensor]:
    """The user's state as a list, with a batch."""
    lstm = network.mode == "LSTM"
    state = list(hx) if lstm else [hx]
    dims = [each.dim() for each in state]
    if not packed and any(dim != (2 if alone else 3) for dim in dims):
        kind, size = ("unbatched 2-D", 2) if alone else ("batched 3-D", 3)
        if not lstm:
            raise RuntimeError(f"For {kind} input, hx should also be {size}-D but got {dims[0]}-D tensor")
        told = f"hx and cx should also be {size}-D but got ({dims[0]}-D, {dims[1]}-D) tensors"
        raise RuntimeError(f"For {kind} input, {told}")
    return [each.unsqueeze(1) for each in state] if alone else state


class RNN(RNNBase):
    """A network of cells `tanh(W_ih x + b_ih + W_hh h + b_hh)`, or with `relu`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)


class LSTM(RNNBase):
    """A network of cells with a long short-term memory; its state is a pair."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """A network of gated recurrent units."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Layer):
    """One step of a recurrent network."""

    __printed__ = "input_size! hidden_size! bias?"
    __given__ = "num_chunks device dtype"
    __settings__ = f"{SIZES}, bias: bool, num_chunks: int, {PLACE}"
    __cell__ = ""

    def __finish_init__(self, device: Any, dtype: Any, num_chunks: int | None = None) -> None:
        rows = (GATES.get(self.__cell__, 1) if num_chunks is None else num_chunks) * self.hidden_size
        own = (rows,) if self.bias else None
        weights = {"weight_ih": (rows, self.input_size), "weight_hh": (rows, self.hidden_size)}
        register_empty(self, device, dtype, **weights, bias_ih=own, bias_hh=own)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        name, lstm = type(self).__name__, self.__cell__ == "lstm"
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        given = [] if hx is None else list(hx) if lstm else [hx]
        for place, each in enumerate(given):
            if each.dim() not in (1, 2):
                word = f"hx[{place}]" if lstm else "hidden"
                raise ValueError(f"{name}: Expected {word} to be 1D or 2D, got {each.dim()}D instead")
        alone = input.dim() == 1
        if alone:
            input, given = input.unsqueeze(0), [each.unsqueeze(0) for each in given]
        if input.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[1]} expected {self.input_size}")
        for place, each in enumerate(given):
            if each.shape[0] != input.shape[0]:
                raise RuntimeError(
                    f"Input batch size {input.shape[0]} doesn't match hidden{place} batch size {each.shape[0]}"
                )
            if each.dim() != 2 or each.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{place} has inconsistent hidden_size: got {each.shape[-1]}, expected {self.hidden_size}"
                )
        if not given:
            given = [zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)] * (1 + lstm)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        step = published_at("function", f"{self.__cell__.format(self)}_cell")
        after = step(input, tuple(given) if lstm else given[0], *weights)
        if not alone:
            return after
        return tuple(each.squeeze(0) for each in after) if lstm else after.squeeze(0)


class RNNCell(RNNCellBase):
    """`tanh(W_ih x + b_ih + W_hh h + b_hh)`, or with `relu`."""

    __printed__ = "input_size! hidden_size! bias? nonlinearity?"
    __cell__ = "rnn_{0.nonlinearity}"
    __settings__ = f"{SIZES}, {BIAS}, nonlinearity: str = 'tanh', {PLACE}"

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return super().forward(input, hx)


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory; its state is a pair."""

    __cell__ = "lstm"
    __settings__ = f"{SIZES}, {BIAS}, {PLACE}"


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit."""

    __cell__ = "gru"
    __settings__ = f"{SIZES}, {BIAS}, {PLACE}"

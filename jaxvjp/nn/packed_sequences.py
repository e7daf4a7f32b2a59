"""Sequences of different lengths: padded to one tensor, or packed, without the padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from jaxvjp.library.creation import empty, full, tensor
from jaxvjp.library.crossing import as_tensor
from jaxvjp.library.ranges import arange
from jaxvjp.nn.functional import pad
from jaxvjp.nn.recurrence import Packing
from jaxvjp.ops.joining import stack
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import int64
from jaxvjp.types.public import public_names

UNDERNEATH = "look-ups of rows; the lengths are read"


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """The elements of several sequences, the first of each, then the second of each, and so on.

    It is made by `pack_sequence` and `pack_padded_sequence`: sequences `abc` and `x` give the data `axbc` and the
    batch sizes 2, 1, 1.

    Attributes:
        data: the elements.
        batch_sizes: how many sequences have an element at each step.
        sorted_indices: the order, from the longest on, in which the sequences are taken; None if they came so.
        unsorted_indices: the inverse of that.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, list | tuple) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn."
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        order = [None if each is None else each.to(data.device) for each in self[2:]]
        return type(self)(data, self.batch_sizes, *order)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        return self.to(*(args or ("cuda",)), **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        return self.to("cpu", *args, **kwargs)

    def pin_memory(self) -> Self:
        return self

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        return False


def _converting(name: str) -> Any:
    def convert(self: PackedSequence) -> PackedSequence:
        return self.to(getattr(self.data, name)().dtype)

    convert.__name__ = name
    convert.__doc__ = f"Its data, as by `Tensor.{name}`."
    return convert


for _name in ("double", "float", "half", "long", "int", "short", "char", "byte"):
    setattr(PackedSequence, _name, _converting(_name))


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The positions that undo a permutation."""
    if permutation is None:
        return None
    places = arange(permutation.numel()).to(permutation.device)
    return empty(permutation.shape, dtype=int64).scatter_(0, permutation, places)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """A padded tensor (time, batch, ...), or (batch, time, ...) with `batch_first`, without its padding.

    Args:
        lengths: of each sequence; unless `enforce_sorted` is false they must not increase.
    """
    lengths = as_tensor(lengths, dtype=int64)
    if lengths.ndim != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D {lengths.device.type} Long "
            "tensor"
        )
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    counts = np.asarray(lengths.__value__)
    if len(counts) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={input.shape[1]})"
        )
    if (counts <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (np.diff(counts) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    longest = int(counts[0])
    if longest > input.shape[0]:
        raise RuntimeError(f"Expected a length of at most {input.shape[0]}, the padded one, but got {longest}")
    batch_sizes = tensor((np.arange(longest)[:, None] < counts).sum(1))
    return PackedSequence(Packing(batch_sizes).pack(input.narrow(0, 0, longest)), batch_sizes, order)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded tensor of a packed sequence, and the lengths; the inverse of `pack_padded_sequence`."""
    longest = sequence.batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    packing = Packing(sequence.batch_sizes)
    data = packing.unpack(sequence.data)
    live = packing.live.reshape(*packing.shape, *[1] * (data.ndim - 2))
    padded = data.masked_fill(~live, padding_value)
    if total_length is not None:
        padded = pad(padded, [0, 0] * (data.ndim - 1) + [0, total_length - longest], value=padding_value)
    lengths = packing.live.sum(0)
    padded = padded.transpose(0, 1) if batch_first else padded
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices)
    return padded, lengths


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (length, ...) as one tensor (time, batch, ...), or (batch, time, ...) with `batch_first`."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    given = tuple(sequences)
    if not given:
        raise RuntimeError("received an empty list of sequences")
    first = given[0]
    if not first.ndim:
        raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0\nA sequence has at least one dimension, its time.")
    longest = max(each.size(0) for each in given)
    filling = full((), padding_value, dtype=first.dtype).item()
    padded = []
    for each in given:
        if each.dtype is not first.dtype or each.shape[1:] != first.shape[1:]:
            each = first.new_empty((each.shape[0], *first.shape[1:])).copy_(each)
        missing = longest - each.shape[0]
        ends = [missing, 0] if padding_side == "left" else [0, missing]
        padded.append(pad(each, [0, 0] * (each.ndim - 1) + ends, value=filling) if missing else each)
    return apply(stack, (tuple(padded),), (0 if batch_first else 1,))


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor, as a list."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """`pack_padded_sequence` of sequences in a list."""
    lengths = [sequence.shape[0] for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed sequence, as a list."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)


__all__ = public_names(globals(), home=__name__)

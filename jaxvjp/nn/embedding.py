"""Functions that take indices: `embedding`, which looks up rows, and `max_unpool`, which inverts pooling.

The indices are read, as in `class_losses`, so that one out of range raises.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jaxvjp.core.record.modes import tracking, transforming
from jaxvjp.nn.class_losses import Numbers, inspect_numbers, number_leaf
from jaxvjp.ops.indexing import refuse_outside
from jaxvjp.ops.neural import embedding as tables
from jaxvjp.ops.neural.windows import each_dim
from jaxvjp.ops.op import REGISTRY
from jaxvjp.tensor.apply import apply, apply_in_place, inspect
from jaxvjp.tensor.duals import Tangents
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import int32, int64
from jaxvjp.types.settings import alert_nondeterministic
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "`jnp.take` of rows and ops on them, and `jax.vjp` of them; the numbers of rows are read"


@public("nn.functional")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` with the numbers in `input`; the result has one dimension more than `input`.

    Args:
        max_norm: rows to be looked up whose norm exceeds it are first scaled down to it, in place in `weight`.
        sparse: refused, as jaxvjp has no sparse gradients.

    IndexError for a number that is no row. Counterpart of `torch.nn.functional.embedding`.
    """
    _refuse_sparse("embedding", sparse)
    if padding_idx is not None:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= weight.shape[0]
    _check_rows("embedding", weight, input)
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return apply(tables.embedding, (input, weight), (padding_idx, scale_grad_by_freq))


def _refuse_sparse(name: str, sparse: bool) -> None:
    if sparse:
        raise NotImplementedError(f"{name}: jaxvjp has no sparse gradients\nLeave out `sparse=True`.")


def _check_rows(name: str, weight: Tensor, numbers: Tensor, briefly: bool = False) -> None:
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if numbers.dtype not in (int64, int32):
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{numbers.dtype.legacy}Tensor instead (while checking arguments for {name})"
        )
    rows = weight.shape[0]

    def check(given: Numbers) -> None:
        def error(wrong: int) -> Exception:
            if name == "embedding":
                return IndexError(f"index out of range in self\nRow {wrong} of {rows}.")
            if briefly:
                told = f"Expected idx >= 0 && idx < num_embeddings but found idx to be {wrong}"
                return RuntimeError(f"embedding_bag: {told}\nThere are {rows} rows.")
            place = int(np.flatnonzero(given == wrong)[0])
            told = f"takes value {wrong} which is not in the valid range [0, {rows})"
            return RuntimeError(f"Index {place} of input {told}")

        refuse_outside(given, rows, error)

    inspect(numbers.__node__, check)


@public("function")
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales those rows of `input` that `indices` names down to the norm `max_norm`, in place."""
    _renormalize(input, indices, max_norm, norm_type)
    return input


def _renormalize(weight: Tensor, numbers: Tensor, max_norm: float, norm_type: float) -> None:
    with tracking(False), Tangents(False):
        apply_in_place(tables.renormalized, weight, (numbers,), (float(max_norm), float(norm_type)))


@public("nn.functional")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of `weight` in each bag of numbers.

    Args:
        input: (bags, numbers), or all numbers one after the other.
        offsets: where each bag begins, if `input` has one dimension.
        per_sample_weights: a factor for each number, for `mode="sum"`.
        padding_idx: a number that is ignored.

    The others are as in `embedding`. Counterpart of `torch.nn.functional.embedding_bag`.
    """
    if weight.dtype is int64 and input.is_floating_point():
        warn_user(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`."
        )
        weight, input = input, weight
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    _refuse_sparse("embedding_bag", sparse)
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        offsets = number_leaf(np.arange(input.shape[0]) * input.shape[1])
        include_last_offset = False
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    elif offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    elif offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    rows, count = weight.shape[0], input.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got "
                f"{padding_idx}"
            )
        padding_idx %= rows
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type torch.{weight.dtype.legacy}Tensor does not equal "
            f"torch.{per_sample_weights.dtype.legacy}Tensor (while checking arguments for embedding_bag)"
        )
    if not weight.is_floating_point():
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
            f"Float, Double; but got torch.{weight.dtype.legacy}Tensor instead (while checking arguments for "
            "embedding_bag)"
        )
    _check_rows("embedding_bag", weight, input, mode == "max" or padding_idx is not None)
    inspect(offsets.__node__, lambda given: _check_offsets(given, count))
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    ended = include_last_offset and mode == "sum" and padding_idx is None  # else torch takes all to the end
    if include_last_offset and not ended:
        offsets = offsets.narrow(0, 0, offsets.shape[0] - 1)
    operands = (input, weight, offsets, per_sample_weights)
    result: Tensor = apply(tables.embedding_bag, operands, (mode, scale_grad_by_freq, padding_idx))
    # What comes after the last offset was a bag of its own.
    return result.narrow(0, 0, offsets.shape[0] - 1) if ended else result


def _check_offsets(offsets: Numbers, count: int) -> None:
    if offsets.size and offsets[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {offsets[0]}"
        )
    if offsets.size and offsets[-1] > count:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of {offsets[-1]}"
        )


@public("nn.functional")
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Vectors of zeros with a one at the positions in `input`; by default as long as the largest position needs."""
    if input.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not input.numel() and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")

    def check(numbers: Numbers) -> None:
        if numbers.size and numbers.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if num_classes != -1 and num_classes < 1:
            raise RuntimeError("num_classes should be positive")
        if num_classes != -1 and numbers.size and numbers.max() >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")

    inspect(input.__node__, check)
    classes = num_classes
    if num_classes == -1:
        if any(batch.holds(input.__node__) for batch in transforming().batches):
            raise RuntimeError("one_hot: inside vmap num_classes has to be given.")
        classes = int(np.asarray(input.__value__).max()) + 1
    return apply(tables.one_hot_rows, (input,), (classes,))


def _unpool(dims: int) -> None:
    name = f"max_unpool{dims}d"

    def max_unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:
        alert_nondeterministic(f"max_unpooling{max(dims, 2)}d_forward_out")
        given = (kernel_size, kernel_size if stride is None else stride, padding)
        kernel, step, edge = (each_dim((each,) if isinstance(each, int) else tuple(each), dims) for each in given)
        for word, values in (("output_size", kernel), ("stride", step), ("padding", edge)):
            if len(values) != dims:
                count = "three elements (depth, height, width)" if dims == 3 else "two elements (height, width)"
                raise RuntimeError(
                    f"There should be exactly {count} in {word}, but got {len(values) + (dims == 1)} elements."
                )
        lengths = [
            (length - 1) * by + size - 2 * less
            for length, size, by, less in zip(input.shape[-dims:], kernel, step, edge, strict=True)
        ]
        if output_size is not None:
            wanted = list(output_size)[-dims:] if len(output_size) == dims + 2 else list(output_size)
            if len(wanted) != dims:
                raise ValueError(
                    f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length "
                    f"of '{len(output_size)}'"
                )
            for dim, (length, by, size) in enumerate(zip(lengths, step, wanted, strict=True)):
                if not length - by < size < length + by:
                    raise ValueError(
                        f'invalid output_size "{wanted}" (dim {dim} must be between {length - by} and {length + by})'
                    )
            lengths = wanted
        _check_unpool(dims, input, indices, lengths)
        return apply(REGISTRY[name], (input, indices), (tuple(lengths),))

    max_unpool.__name__ = max_unpool.__qualname__ = name
    max_unpool.__doc__ = f"""Zeros with `input` where `max_pool{dims}d(..., return_indices=True)` found it.

    `output_size` tells apart the sizes that pool to the same one. Counterpart of `torch.nn.functional.{name}`.
    """
    public("nn.functional")(max_unpool)


def _check_unpool(dims: int, input: Tensor, indices: Tensor, lengths: list[int]) -> None:
    if indices.dtype is not int64:
        given_type = f" but got: {indices.dtype.legacy}" * (dims < 3)
        raise RuntimeError(f"elements in indices should be type int64{given_type}")
    if input.shape != indices.shape:
        own, given = ([*each.shape, *[1] * (dims == 1)] for each in (input, indices))
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({own}) but got indices tensor with "
            f"shape: {given}"
        )
    volume = "x".join(map(str, lengths))
    told = "Found an invalid max index: {} (output volumes are of size {})"
    inspect_numbers(indices, math.prod(lengths), lambda wrong: RuntimeError(told.format(wrong, volume)))


for _dims in (1, 2, 3):
    _unpool(_dims)

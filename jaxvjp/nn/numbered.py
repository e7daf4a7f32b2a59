"""Functions that take numbers of classes, rows or places. `functions` comes before this room.

The numbers are read when the function is called, so that one out of range raises there, as in torch, and not later or
never: inside a compiled program an index out of range is an index that reads something else. Where they cannot be read,
inside `vmap`, they are taken as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxvjp.application import apply, apply_in_place
from jaxvjp.core.graph import leaf
from jaxvjp.core.modes import recording, transforming
from jaxvjp.dtypes import int32, int64
from jaxvjp.ops.neural import classification, embedding as tables, pooling
from jaxvjp.ops.neural.convolution import linear
from jaxvjp.ops.neural.loss import chosen_reduction
from jaxvjp.ops.neural.windows import each_dim
from jaxvjp.ops.op import REGISTRY, Aval
from jaxvjp.publishing import public
from jaxvjp.tensor import Tensor, wrap

Numbers = np.ndarray[Any, Any]


def read(tensor: Tensor) -> Numbers | None:
    """The values of a tensor of numbers; None inside `vmap`, where each example has its own."""
    if any(batch.holds(tensor.node) for batch in transforming.batches):
        return None
    return np.asarray(tensor.value)


def outside(tensor: Tensor, bound: int, allowed: int | None = None) -> int | None:
    """The first of the numbers that is not from 0 to below `bound`, nor `allowed`; None where there is none."""
    numbers = read(tensor)
    if numbers is None or not numbers.size or (0 <= numbers.min() and numbers.max() < bound):
        return None
    wrong = numbers[(numbers < 0) | (numbers >= bound)]
    wrong = wrong if allowed is None else wrong[wrong != allowed]
    return int(wrong[0]) if wrong.size else None


def _check_target(input: Tensor, target: Tensor, ignore_index: int) -> None:
    """IndexError in torch's words where a target is no class; leaves what is wrong with shapes to the row."""
    if target.dtype.category == int64.category and input.ndim:
        classes = input.shape[min(1, input.ndim - 1)]
        wrong = outside(target, classes, ignore_index)
        if wrong is not None:
            raise IndexError(f"Target {wrong} is out of bounds.\nThe {classes} classes are 0 to {classes - 1}.")


@public("nn.functional")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-probability of the class that the target names, times that class's weight.

    Args:
        input: (classes), (batch, classes) or (batch, classes, ...), of log-probabilities.
        target: the classes' numbers, of the shape without the classes; int64.
        weight: one per class; a mean is divided by the sum of the weights.
        ignore_index: a number that counts as no class.
        reduction: "none", "mean" or "sum".

    IndexError for a number that is no class. Counterpart of `torch.nn.functional.nll_loss`.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    result: Tensor = apply(classification.nll_loss, (input, target, weight), (ignore_index, reduction))
    _check_target(input, target, ignore_index)
    return result


@public("nn.functional")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the log of the probability, by softmax of the scores, of the class that the target names.

    Args:
        input: (classes), (batch, classes) or (batch, classes, ...), of scores (logits).
        target: the classes' numbers, of the shape without the classes; or of the input's shape, probabilities.
        weight: one per class; a mean over class numbers is divided by the sum of the weights.
        ignore_index: a number that counts as no class.
        reduction: "none", "mean" or "sum".
        label_smoothing: how much of the target is spread evenly over all classes.

    IndexError for a number that is no class. Counterpart of `torch.nn.functional.cross_entropy`.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    static = (ignore_index, reduction, float(label_smoothing))
    result: Tensor = apply(classification.cross_entropy, (input, target, weight), static)
    _check_target(input, target, ignore_index)
    return result


@public("nn.functional")
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy` of the scores `input @ linear_weight.T + linear_bias`.

    `linear_weight` is (classes, ..., features). torch's `options` say in which chunks to compute it, which is XLA's
    business here: accepted and without effect. Counterpart of `torch.nn.functional.linear_cross_entropy`.
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if linear_weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}")
    *scores, features = linear_weight.shape
    if input.shape[-1] != features:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {features}, respectively"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != tuple(scores):
        raise RuntimeError(f"expected linear_bias shape {tuple(scores)}, got {tuple(linear_bias.shape)}")
    if len(scores) > 1 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {features}), got unbatched input with shape {tuple(input.shape)}"
        )
    shape = (*input.shape[:-1], *scores)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = apply(linear, (input, linear_weight.reshape(-1, features), bias)).reshape(shape)
    return cross_entropy(
        logits,
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


@public("nn.functional")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How much the scores of other classes come within `margin` of the target's, to the power of `p`.

    The sum over the classes is divided by their number. Counterpart of `torch.nn.functional.multi_margin_loss`.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    row = classification.multi_margin_loss
    result: Tensor = apply(row, (input, target, weight), (p, float(margin), reduction))
    if outside(target, input.shape[-1] if input.ndim else 1) is not None:
        raise RuntimeError("target out of range")
    return result


@public("nn.functional")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How much the scores of classes that are no targets come within 1 of the scores of those that are.

    A row of `target` has the numbers of its classes and then -1. Counterpart of
    `torch.nn.functional.multilabel_margin_loss`.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    result: Tensor = apply(classification.multilabel_margin_loss, (input, target), (reduction,))
    if outside(target, input.shape[-1] if input.ndim else 1, -1) is not None:
        raise RuntimeError("argument #3: target out of range")
    return result


@public("nn.functional function")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability that frames spell the targets, with blanks between and repetitions merged.

    Args:
        log_probs: (frames, batch, classes) or (frames, classes).
        targets: (batch, longest), or all of them one after the other; without `blank`.
        input_lengths: how many frames each example has, as a tensor or a sequence.
        target_lengths: how long each target is.
        blank: the number of the class that spells nothing.
        reduction: "none", "mean" (each divided by its target's length first) or "sum".
        zero_infinity: whether a target that the frames are too few for costs 0 and not infinity.

    Counterpart of `torch.nn.functional.ctc_loss`.
    """
    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    lengths = [_integers(each) for each in (input_lengths, target_lengths)]
    batch = log_probs.shape[1]
    for word, each in zip(("input_lengths", "target_lengths"), lengths, strict=True):
        if each.shape != (batch,):
            raise RuntimeError(f"{word} must be of size batch_size")
    numbers = _integers(targets)
    longest = int(lengths[1].max(initial=0))
    if numbers.ndim == 1:
        rows = np.full((batch, longest), blank, np.int64)
        if single:
            rows[0] = numbers[:longest]
        else:
            ends = np.cumsum(lengths[1])
            for row, end, length in zip(rows, ends, lengths[1], strict=True):
                row[:length] = numbers[end - length : end]
    else:
        rows = np.where(np.arange(longest) < lengths[1][:, None], numbers[:, :longest], blank)
    operands = (log_probs, *(_leaf(each) for each in (rows, *lengths)))
    result: Tensor = apply(classification.ctc_loss, operands, (blank, reduction, zero_infinity))
    return result.squeeze(0) if single and reduction == "none" else result


def _integers(values: Any) -> Numbers:
    return np.asarray(values.value if isinstance(values, Tensor) else values, np.int64).reshape(
        -1 if not isinstance(values, Tensor) or values.ndim == 0 else values.shape
    )


def _leaf(numbers: Numbers) -> Tensor:
    return wrap(leaf(numbers.astype(np.int64), Aval(numbers.shape, int64)))


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
    """The rows of `weight` that `input` names: its shape, and one dimension more.

    Args:
        padding_idx: a row that gets no gradient.
        max_norm: what rows that are looked up and longer are brought down to first, in place in `weight`.
        norm_type: the p of that norm.
        scale_grad_by_freq: whether a row's gradient is divided by how often it was looked up.
        sparse: refused: there are no sparse gradients here.

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
    result: Tensor = apply(tables.embedding, (input, weight), (padding_idx, scale_grad_by_freq))
    return result


def _refuse_sparse(name: str, sparse: bool) -> None:
    if sparse:
        raise NotImplementedError(f"{name}: jaxvjp has no sparse gradients\nLeave out `sparse=True`.")


def _check_rows(name: str, weight: Tensor, numbers: Tensor) -> None:
    if numbers.dtype not in (int64, int32):
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{numbers.dtype.legacy}Tensor instead (while checking arguments for {name})"
        )
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if outside(numbers, weight.shape[0]) is not None:
        raise IndexError("index out of range in self")


def _renormalize(weight: Tensor, numbers: Tensor, max_norm: float, norm_type: float) -> None:
    with recording(False):
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
        include_last_offset: whether `offsets` ends with where the last bag ends.
        padding_idx: a number that does not count.

    The others are as in `embedding`. Counterpart of `torch.nn.functional.embedding_bag`.
    """
    _refuse_sparse("embedding_bag", sparse)
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same "
            f"shape as the input ({input.shape})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        offsets = _leaf(np.arange(input.shape[0]) * input.shape[1])
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
    _check_rows("embedding_bag", weight, input)
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    if padding_idx is not None:
        padding_idx %= weight.shape[0]
    if include_last_offset:
        offsets = offsets[:-1]
    operands = (input, weight, offsets, per_sample_weights)
    result: Tensor = apply(tables.embedding_bag, operands, (mode, scale_grad_by_freq, padding_idx))
    return result


@public("nn.functional")
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Vectors of zeros with a one at the place that `tensor` says; as many places as it needs by default.

    Counterpart of `torch.nn.functional.one_hot`.
    """
    if tensor.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    numbers = read(tensor)
    if numbers is None:
        if num_classes == -1:
            raise RuntimeError("one_hot: inside vmap num_classes has to be given.")
    elif not numbers.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
    elif numbers.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    elif num_classes == -1:
        num_classes = int(numbers.max()) + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    elif numbers.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    result: Tensor = apply(tables.one_hot_rows, (tensor,), (num_classes,))
    return result


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
        given = (kernel_size, kernel_size if stride is None else stride, padding)
        kernel, step, edge = (each_dim((each,) if isinstance(each, int) else tuple(each), dims) for each in given)
        lengths = [
            (length - 1) * by + size - 2 * less
            for length, size, by, less in zip(input.shape[-dims:], kernel, step, edge, strict=True)
        ]
        if output_size is not None:
            wanted = list(output_size)[-dims:] if len(output_size) == dims + 2 else list(output_size)
            if len(wanted) != dims:
                raise ValueError(
                    f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
                    f"'{len(output_size)}'"
                )
            for dim, (length, by, size) in enumerate(zip(lengths, step, wanted, strict=True)):
                if not length - by < size < length + by:
                    raise ValueError(
                        f'invalid output_size "{wanted}" (dim {dim} must be between {length - by} and {length + by})'
                    )
            lengths = wanted
        _check_unpool(dims, input, indices, lengths)
        result: Tensor = apply(REGISTRY[name], (input, indices), (tuple(lengths),))
        return result

    max_unpool.__name__ = max_unpool.__qualname__ = name
    max_unpool.__doc__ = f"""Zeros with `input` where `max_pool{dims}d(..., return_indices=True)` found it.

    `output_size` tells apart the sizes that pool to the same one. Counterpart of `torch.nn.functional.{name}`.
    """
    public("nn.functional")(max_unpool)


def _check_unpool(dims: int, input: Tensor, indices: Tensor, lengths: list[int]) -> None:
    if indices.dtype is not int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype.legacy}")
    if input.shape != indices.shape:
        own, given = ([*each.shape, *[1] * (dims == 1)] for each in (input, indices))
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({own}) but got indices tensor with "
            f"shape: {given}"
        )
    wrong = outside(indices, int(np.prod(lengths)))
    if wrong is not None:
        raise RuntimeError(
            f"Found an invalid max index: {wrong} (output volumes are of size {'x'.join(map(str, lengths))})"
        )


for _dims in (1, 2, 3):
    _unpool(_dims)

"""Losses whose targets are class numbers.

The numbers are read and checked when the function is called, and at each call of a staged step, so that one out of
range raises there, as in torch: a compiled program would clamp it and read another element. Inside `vmap`, where values
cannot be read, they are not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jaxvjp.core.record.record import node_of_value
from jaxvjp.ops.indexing import refuse_outside
from jaxvjp.ops.neural import classification
from jaxvjp.ops.neural.convolution import linear
from jaxvjp.ops.neural.loss import chosen_reduction
from jaxvjp.ops.op import Aval
from jaxvjp.tensor.apply import apply, inspect
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.dtypes import int64

UNDERNEATH = "ops of `jaxvjp.ops.neural.classification`, and `jax.vjp` of them; class numbers are read"

Numbers = np.ndarray[Any, Any]


def inspect_numbers(tensor: Tensor, bound: int, told: Callable[[int], Exception], allowed: int | None = None) -> None:
    """Raises `told(number)` for the first number that is not in range(bound), nor `allowed`."""
    inspect(tensor.__node__, partial(refuse_outside, size=bound, error=told, allowed=allowed))


def _check_target(input: Tensor, target: Tensor, ignore_index: int) -> None:
    """torch's IndexError if a target is no class; errors of shapes are left to the row."""
    if target.dtype.category == int64.category and input.ndim:
        classes = input.shape[min(1, input.ndim - 1)]
        told = f"is out of bounds.\nThe {classes} classes are 0 to {classes - 1}."
        inspect_numbers(target, classes, lambda wrong: IndexError(f"Target {wrong} {told}"), ignore_index)


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

    IndexError for a number that is no class.
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

    IndexError for a number that is no class.
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

    `linear_weight` is (classes, ..., features). torch's `options`, about chunks, are accepted and without effect.
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
    """The sum over other classes of `max(0, margin - target's score + score) ** p`, divided by the number of classes.

    Counterpart of `torch.nn.functional.multi_margin_loss`.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    row = classification.multi_margin_loss
    result: Tensor = apply(row, (input, target, weight), (p, float(margin), reduction))
    classes = input.shape[-1] if input.ndim else 1
    inspect_numbers(target, classes, lambda _: RuntimeError("target out of range"))
    return result


@public("nn.functional")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum of `max(0, 1 - target's score + score)` over targets and other classes, divided by the number of classes.

    A row of `target` has the numbers of its classes and then -1.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    result: Tensor = apply(classification.multilabel_margin_loss, (input, target), (reduction,))
    classes = input.shape[-1] if input.ndim else 1
    inspect_numbers(target, classes, lambda _: RuntimeError("argument #3: target out of range"), -1)
    return result


@public("nn.functional")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability that the frames spell the targets, once repetitions are merged and blanks dropped.

    Args:
        log_probs: (frames, batch, classes) or (frames, classes).
        targets: (batch, longest), or all of them one after the other; without `blank`.
        input_lengths: how many frames each example has, as a tensor or a sequence.
        blank: the class number of the blank label.
        reduction: "none", "mean" (each divided by its target's length first) or "sum".
        zero_infinity: whether the loss is 0, not infinity, if there are too few frames for a target.
    """
    reduction = chosen_reduction(None, None, reduction)
    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    lengths = [_integers(each) for each in (input_lengths, target_lengths)]
    batch = log_probs.shape[1]
    for word, given, each in zip(
        ("input_lengths", "target_lengths"), (input_lengths, target_lengths), lengths, strict=True
    ):
        if isinstance(given, Tensor) and given.dtype.is_floating_point:
            raise RuntimeError(f"{word} must be integral")
        if each.shape != (batch,):
            raise RuntimeError(f"{word} must be of size batch_size")
    numbers = _integers(targets)
    longest = int(lengths[1].max(initial=0))
    _check_ctc(log_probs.shape, numbers, lengths[0], lengths[1], blank)
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
    operands = (log_probs, *(number_leaf(each) for each in (rows, *lengths)))
    result: Tensor = apply(classification.ctc_loss, operands, (blank, reduction, zero_infinity))
    return result.squeeze(0) if single and reduction == "none" else result


def _check_ctc(shape: Sequence[int], targets: Numbers, frames: Numbers, lengths: Numbers, blank: int) -> None:
    """RuntimeError for lengths that log-probabilities of this shape, or the targets, do not have."""
    during = "(while checking arguments for ctc_loss_allocate_outputs)"
    argument = f"for argument #2 'targets' {during}"
    if not 0 <= blank < shape[2]:
        raise RuntimeError(f"blank must be in label range\nThere are {shape[2]} classes; got {blank}.")
    if frames.max(initial=0) > shape[0]:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {shape[0]}, but got value {frames.max()} {during}"
        )
    if lengths.min(initial=0) < 0:
        raise RuntimeError(f"Expected target_lengths to have value at least 0, but got value {lengths.min()} {during}")
    if targets.ndim == 1 and len(targets) != lengths.sum():
        raise RuntimeError(
            f"Expected tensor to have size {lengths.sum()} at dimension 0, but got size {len(targets)} {argument}"
        )
    if targets.ndim > 2:
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor {argument}")
    if targets.ndim == 2 and targets.shape[1] < lengths.max(initial=0):
        raise RuntimeError(
            f"Expected tensor to have size at least {lengths.max()} at dimension 1, but got size {targets.shape[1]} "
            f"{argument}"
        )


def _integers(values: Any) -> Numbers:
    return np.asarray(values.__value__ if isinstance(values, Tensor) else values, np.int64).reshape(
        -1 if not isinstance(values, Tensor) or values.ndim == 0 else values.shape
    )


def number_leaf(numbers: Numbers) -> Tensor:
    """A tensor of these numbers."""
    return wrap(node_of_value(numbers.astype(np.int64), Aval(numbers.shape, int64)))

"""Losses of classification: scores of classes against class numbers or probabilities.

Class numbers arrive checked, so indexing needs no bounds here.
"""

import math

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Fixed, Flag, Index, Kept, Real, Text
from jaxvjp.ops.identity import rebind
from jaxvjp.ops.matrices import legacy, one_scalar_type
from jaxvjp.ops.neural.loss import REDUCTIONS, chosen_reduction, reduced, reduction_name
from jaxvjp.ops.op import ARITHMETIC, op
from jaxvjp.ops.pointwise import broadcast, supported
from jaxvjp.types.user_code import warn_of_call


def _class_axis(input):
    return 0 if input.ndim == 1 else 1


def _check_classes(input, target, weight):
    """torch's errors for shapes of scores, class numbers and class weights that do not fit together."""
    size, numbers = list(input.shape), list(target.shape)
    if input.ndim == 0:
        raise ValueError(f"Expected 1 or more dimensions (got {input.ndim})")
    if input.ndim == 1 and target.ndim == 1 and numbers != [1]:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {numbers[0]}")
    if input.ndim > 1 and size[:1] != numbers[:1]:
        raise ValueError(
            f"Expected input batch_size ({size[0]}) to match target batch_size ({numbers[0] if numbers else 0})."
        )
    if input.ndim <= 2 and target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input.ndim == 4 and target.ndim != 3:
        raise RuntimeError(
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{target.ndim}\nThe target is {numbers}."
        )
    if input.ndim > 2 and size[2:] != numbers[1:]:
        if input.ndim == 4:
            raise RuntimeError(f"size mismatch (got input: {size} , target: {numbers}")
        raise RuntimeError(f"Expected target size {[size[0], *size[2:]]}, got {numbers}")
    if target.dtype not in (jnp.int64, jnp.uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {legacy(target)}\n"
            "The target has numbers of classes, `target.long()`; probabilities have the shape of the scores."
        )
    classes = input.shape[_class_axis(input)]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )


def _nll(input, target, weight, ignore_index, reduction):
    """The negative log-likelihood, and the weight of each element in a mean: its class's weight, or 0 if ignored."""
    axis = _class_axis(input)
    if input.ndim == 1:
        target = target.reshape(())
    counted = target != ignore_index
    number = jnp.where(counted, target, 0).astype(jnp.int32)
    # A comparison with all classes is elementwise, and so is its derivative; that of a gather would be a scatter.
    taken = jnp.expand_dims(number, axis) == jax.lax.broadcasted_iota(jnp.int32, input.shape, axis)
    taken &= jnp.expand_dims(counted, axis)
    picked = jnp.sum(jnp.where(taken, input, 0), axis)
    if weight is None:
        share = counted.astype(input.dtype)
        loss = -picked
    else:
        share = jnp.where(counted, weight[number], 0)
        loss = -picked * share
    if reduction == "mean":
        return jnp.sum(loss) / jnp.sum(share), share
    return reduced(loss, reduction), share


def _nll_name(static, avals):
    return "NllLossBackward0" if len(avals[0].shape) <= 2 else "NllLoss2DBackward0"


@op(public="", saves="input, target, weight", slopes="input", grad_fn=_nll_name, rounds_once=True)
def nll_loss(input, target: Kept, weight=None, ignore_index: Index = -100, reduction: Text = "mean"):
    """Minus the log-probability, or other score, of the class that the target names."""
    reduction = chosen_reduction(None, None, reduction)
    _check_classes(input, target, weight)
    return _nll(input, target, weight, ignore_index, reduction)[0]


def _entropy_name(static, avals):
    _, reduction, smoothing, _ = static
    if avals[0].shape == avals[1].shape:
        return "DivBackward1" if reduction == "mean" else "NegBackward0"
    return "AddBackward0" if smoothing else _nll_name(static, avals)


@op(public="", saves="input, target, weight", grad_fn=_entropy_name, rounds_once=True)
def cross_entropy(
    input, target: Kept, weight=None, ignore_index: Index = -100, reduction: Text = "mean", label_smoothing: Real = 0.0
):
    """Minus the log-softmax of the scores at the target: a class number, or probabilities of the classes."""
    reduction = chosen_reduction(None, None, reduction)
    if label_smoothing > 1:  # one below 0 counts as none
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    label_smoothing = max(label_smoothing, 0)
    axis = _class_axis(input)
    if input.shape == target.shape:
        if not jnp.issubdtype(target.dtype, jnp.floating):
            told = "Expected floating point type for target with class probabilities, got"
            raise RuntimeError(f"{told} {legacy(target)}")
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
    kernel = "log_softmax_lastdim_kernel" if axis == input.ndim - 1 else "log_softmax_kernel"
    supported(f"{kernel}_impl", input, "bool integers", "")
    log_probability = jax.nn.log_softmax(input, axis)
    classes = input.shape[axis]
    if input.shape != target.shape:
        _check_classes(input, target, weight)
    per_class = None if weight is None else weight.reshape([-1 if dim == axis else 1 for dim in range(input.ndim)])
    weighted = log_probability if per_class is None else log_probability * per_class
    if input.shape == target.shape:
        if weight is not None and weight.shape != (classes,):
            raise RuntimeError(
                "cross_entropy: weight tensor should be defined either for all "
                f"{classes} classes or no classes but got weight tensor of shape: {list(weight.shape)}"
            )
        smooth = target * (1 - label_smoothing) + label_smoothing / classes if label_smoothing else target
        loss = -jnp.sum(weighted * smooth, axis)
        return jnp.sum(loss) * math.nan if reduction == "mean" and not classes else reduced(loss, reduction)
    if weight is not None:
        one_scalar_type(input, weight, "\nConvert the weights: `weight.to(x.dtype)`.")
    loss, share = _nll(log_probability, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    spread = jnp.where(target.reshape(share.shape) == ignore_index, 0, -jnp.sum(weighted, axis))
    spread = jnp.sum(spread) / jnp.sum(share) if reduction == "mean" else reduced(spread, reduction)
    return (1 - label_smoothing) * loss + label_smoothing / classes * spread


def _check_scores(input):
    """torch's error for scores that are neither those of one example nor of a batch."""
    if input.ndim > 2 or input.shape[-1:] == (0,):
        told = "Expected non-empty vector or matrix with optional 0-dim batch size, but got:"
        raise RuntimeError(f"{told} {list(input.shape)}")


@op(public="", saves="input, target, weight", rounds_once=True)
def multi_margin_loss(input, target: Kept, p: Index = 1, margin: Fixed = 1.0, weight=None, reduction: Text = "mean"):
    """The mean over all classes of `max(0, margin - target's score + score) ** p`, without the target's own."""
    reduction = chosen_reduction(None, None, reduction)
    _check_scores(input)
    rows = jnp.atleast_2d(input)
    if target.ndim > 1 or target.size != rows.shape[0]:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{rows.shape[0]}], but got {list(target.shape)}. Input has shape "
            f"{list(input.shape)}"
        )
    classes = rows.shape[1]
    if weight is not None and weight.size != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    if not jnp.issubdtype(target.dtype, jnp.integer):
        raise RuntimeError(f"expected scalar type Long but found {legacy(target)}")
    numbers = target.reshape(-1)
    own = jnp.take_along_axis(rows, numbers[:, None], 1)
    short = margin - own + rows
    # Only values above 0 have a gradient: torch's loop skips the others.
    short = jnp.where((short > 0) & (jnp.arange(classes) != numbers[:, None]), short, 0)
    loss = short if p == 1 else short * short
    if weight is not None:
        loss = loss * weight[numbers][:, None]
    loss = jnp.sum(loss, 1) / classes
    return reduced(loss if input.ndim == 2 or target.ndim else loss[0], reduction)


@op(public="", saves="input, target", rounds_once=True)
def multilabel_margin_loss(input, target: Kept, reduction: Text = "mean"):
    """The sum of `max(0, 1 - target's score + other's score)` over targets and other classes, divided by the number of
    classes; -1 ends a row of targets."""
    reduction = chosen_reduction(None, None, reduction)
    _check_scores(input)
    if target.shape != input.shape and input.ndim:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    rows, numbers = jnp.atleast_2d(input), jnp.atleast_2d(target)
    classes = rows.shape[1]
    named = jnp.cumprod(numbers >= 0, 1).astype(bool)  # the targets before the first negative one
    numbers = jnp.where(named, numbers, 0)
    each = numbers[:, :, None] == jnp.arange(classes)
    is_target = jnp.any(each & named[:, :, None], 1)
    own = jnp.take_along_axis(rows, numbers, 1)
    short = 1 - own[:, :, None] + rows[:, None, :]
    counted = named[:, :, None] & ~is_target[:, None, :] & (short > 0)
    loss = jnp.sum(jnp.where(counted, short, 0), (1, 2)) / classes
    return reduced(loss if input.ndim == 2 else loss[0], reduction)


@op(public="nn.functional", promotion=ARITHMETIC, saves="input, target, weight", grad_fn=reduction_name("DivBackward0"))
def multilabel_soft_margin_loss(
    input, target, weight=None, size_average: Flag | None = None, reduce: Flag | None = None, reduction: Text = "mean"
):
    """The binary cross entropy of each class, averaged over the classes."""
    if size_average is not None or reduce is not None:
        reduction = chosen_reduction(size_average, reduce, reduction, warn_of_call)
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    input, target = broadcast(input, target)
    loss = -(target * jax.nn.log_sigmoid(input) + (1 - target) * jax.nn.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(jnp.sum(loss, -1) / input.shape[-1], reduction)


def _ctc_name(static, avals):
    return {"none": "CtcLossBackward0", "mean": "MeanBackward0"}.get(static[1], "SumBackward0")


@op(public="", saves="log_probs, targets", grad_fn=_ctc_name, rounds_once=True)
def ctc_loss(
    log_probs,
    targets: Kept,
    input_lengths: Kept,
    target_lengths: Kept,
    blank: Index = 0,
    reduction: Text = "mean",
    zero_infinity: Flag = False,
):
    """Minus the log-probability that the frames spell the targets, once repetitions are merged and blanks dropped.

    The forward algorithm of Graves et al. (2006), as one `jax.lax.scan` over the frames. `targets` is (batch, longest).
    """
    frames, batch, _ = log_probs.shape
    longest = targets.shape[1]
    # The targets with blanks before, between and after them: the label that each state of the automaton emits.
    states = jnp.full((batch, 2 * longest + 1), blank, targets.dtype).at[:, 1::2].set(targets)
    before = jnp.pad(states, ((0, 0), (2, 0)), constant_values=-1)[:, :-2]
    may_skip = states != before  # blanks are apart by two, and are skipped as labels only, where a target holds them
    emitted = jnp.take_along_axis(log_probs, states[None].astype(jnp.int32), 2)  # (frames, batch, states)
    first = jnp.arange(states.shape[1]) < 2
    first &= jnp.arange(states.shape[1]) <= 2 * target_lengths[:, None]
    never = -jnp.inf

    def step(alpha, frame):
        time, scores = frame
        last = jnp.pad(alpha, ((0, 0), (1, 0)), constant_values=never)[:, :-1]
        skipped = jnp.pad(alpha, ((0, 0), (2, 0)), constant_values=never)[:, :-2]
        total = _log_sum(alpha, last, jnp.where(may_skip, skipped, never))
        return jnp.where((time < input_lengths)[:, None], total + scores, alpha), None

    start = jnp.where(first, emitted[0], never)
    start = jnp.where((input_lengths > 0)[:, None], start, jnp.where(jnp.arange(states.shape[1]) == 0, 0.0, never))
    final, _ = jax.lax.scan(step, start.astype(log_probs.dtype), (jnp.arange(1, frames), emitted[1:]))
    end = 2 * target_lengths[:, None]
    at_blank = jnp.take_along_axis(final, end, 1)[:, 0]
    at_label = jnp.take_along_axis(final, jnp.maximum(end - 1, 0), 1)[:, 0]
    at_label = jnp.where(target_lengths > 0, at_label, never)
    loss = -_log_sum(at_blank, at_label)
    # torch's derivative includes that of `log_softmax`, with the probabilities as a term. For normalized
    # log-probabilities, whose sum is constant, that changes nothing.
    frame = (jnp.arange(frames)[:, None] < input_lengths)[:, :, None]
    total = jnp.sum(jnp.where(frame, jnp.exp(log_probs), 0), (0, 2))
    # Where nothing spells the targets the loss is infinite, and its gradient NaN, unless both are to be 0.
    infinite = jnp.isinf(jax.lax.stop_gradient(loss))
    loss = rebind.function(loss + total * jnp.where(infinite, 0 if zero_infinity else jnp.nan, 1), loss)
    if zero_infinity:
        loss = jnp.where(infinite, 0, loss)
    if reduction == "mean":
        return jnp.mean(loss / jnp.maximum(target_lengths, 1).astype(loss.dtype))
    return reduced(loss, reduction)


def _log_sum(*parts):
    """The log of the sum of exponentials, with the derivative 0 and not NaN if all exponentials are 0."""
    stacked = jnp.stack(parts)
    largest = jax.lax.stop_gradient(jnp.max(stacked, 0))
    possible = largest > -jnp.inf
    shifted = jnp.where(possible, stacked - jnp.where(possible, largest, 0), 0)
    return jnp.where(possible, jnp.log(jnp.sum(jnp.exp(shifted), 0)) + largest, -jnp.inf)

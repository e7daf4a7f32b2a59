"""Losses between an input and a target of its shape, element by element, and between vectors.

Each ends in `reduction`: "none", "mean" or "sum". `size_average` and `reduce` are torch's two older flags for the same.
"""

import inspect
import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Either, Flag, Real, Text
from jaxvjp.ops.matrices import legacy
from jaxvjp.ops.neural.distance import fractional, pairwise_distance
from jaxvjp.ops.op import ARITHMETIC, Op, op
from jaxvjp.ops.pointwise import ALL_BUT_FLOATS, abs_, broadcast, clamp_min, supported
from jaxvjp.types.user_code import warn_of_call, warn_user

REDUCTIONS = ("none", "mean", "sum")
OLDER_FLAGS = ("size_average", "reduce")


def chosen_reduction(
    size_average: bool | None, reduce: bool | None, reduction: str, warn: Callable[[str], None] = warn_user
) -> str:
    """The reduction that torch's older flags mean, where one of them is given, and else `reduction`; ValueError."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction\nIt is one of {', '.join(REDUCTIONS)}.")
    return reduction


def reduced(loss, reduction: str):
    """The loss of each element, or their mean or sum."""
    if reduction == "none":
        return loss
    if reduction == "mean" and not jnp.issubdtype(loss.dtype, jnp.inexact):
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{legacy(loss)}\nConvert the operands first: `x.float()`."
        )
    return jnp.mean(loss) if reduction == "mean" else jnp.sum(loss)


def reduction_name(each: str):
    """`grad_fn`'s name of a loss that torch composes of other ops: the last one, which is its reduction."""

    def name(static, avals):
        words = [value for value in static if isinstance(value, str)]
        chosen = words[0] if words else "mean"
        return {"mean": "MeanBackward0", "sum": "SumBackward0", "batchmean": "DivBackward0"}.get(chosen, each)

    return name


def with_older_flags(loss: Callable[..., Any]) -> Callable[..., Any]:
    """A loss that takes torch's two older flags, too, before `reduction`; it gets the reduction that all three mean."""

    @wraps(loss)
    def flagged(*operands, size_average=None, reduce=None, reduction="mean", **further):
        return loss(*operands, reduction=chosen_reduction(size_average, reduce, reduction, warn_of_call), **further)

    own = inspect.signature(loss, eval_str=True).parameters
    flags = [own["reduction"].replace(name=each, annotation=Flag | None, default=None) for each in OLDER_FLAGS]
    listed = [one for each in own.values() for one in ([*flags, each] if each.name == "reduction" else [each])]
    vars(flagged)["__signature__"] = inspect.Signature(listed)
    return flagged


def _functional(saves: str, grad_fn: str, **columns: Any) -> Callable[[Callable[..., Any]], Op]:
    """Declares a loss of `nn.functional`, which torch composes of other ops, `grad_fn` being the last but one."""
    return op(public="nn.functional", promotion=ARITHMETIC, saves=saves, grad_fn=reduction_name(grad_fn), **columns)


def _same_size(input, target, kernel=""):
    """Warns, as torch does, if the sizes differ and broadcast; its error where the kernel does not take that dtype."""
    if input.shape != target.shape:
        warn_of_call(
            f"Using a target size ({_size(target)}) that is different to the input size ({_size(input)}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
        )
    return broadcast(supported(kernel, input, ALL_BUT_FLOATS) if kernel else input, target)


def _size(array):
    return f"torch.Size({list(array.shape)})"


def _weighted(loss, weight, input, reduction, of_weights=True):
    """The reduced loss with a weight per element; a mean is divided by the sum of the weights, or by their number."""
    if weight is None:
        return reduced(loss, reduction)
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    if reduction == "mean" and of_weights:
        return jnp.sum(loss * weight) / jnp.sum(weight)
    return reduced(loss * weight, reduction)


@op(public="nn.functional", promotion=ARITHMETIC, saves="input, target")
@with_older_flags
def mse_loss(input, target, reduction: Text = "mean", weight=None):
    """The squared difference."""
    input, target = _same_size(input, target, "mse")
    difference = input - target
    return _weighted(difference * difference, weight, input, reduction)


@_functional("input, target", "AbsBackward0")
@with_older_flags
def l1_loss(input, target, reduction: Text = "mean", weight=None):
    """The absolute difference; its derivative is 0 where the difference is."""
    input, target = _same_size(input, target)
    return _weighted(abs_.function(input - target), weight, input, reduction)


def _smooth(difference, bound):
    """A parabola up to `bound` and a line beyond it."""
    magnitude = abs_.function(difference)
    straight = magnitude >= bound
    curved = jnp.where(straight, 0, difference)  # the square of others could overflow
    return magnitude, jnp.where(straight, bound * (magnitude - 0.5 * bound), 0.5 * curved * curved)


@op(public="nn.functional", promotion=ARITHMETIC, saves="input, target", grad_fn="SmoothL1LossBackward0")
@with_older_flags
def smooth_l1_loss(input, target, reduction: Text = "mean", beta: Real = 1.0):
    """The absolute difference less `beta / 2`; below `beta` the square divided by `2 * beta`."""
    input, target = _same_size(input, target, "smooth_l1")
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    magnitude, smooth = _smooth(input - target, beta)
    return reduced(smooth / beta if beta else magnitude, reduction)


@op(public="nn.functional", promotion=ARITHMETIC, saves="input, target")
def huber_loss(input, target, reduction: Text = "mean", delta: Real = 1.0, weight=None):
    """Half the squared difference; above `delta` the tangent line there."""
    reduction = chosen_reduction(None, None, reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    input, target = _same_size(input, target, "huber")
    _, smooth = _smooth(input - target, delta)
    return _weighted(smooth, weight, input, reduction, of_weights=False)


def _kl_div_name(static, avals):
    return reduction_name("MulBackward0" if static[-1] else "SubBackward0")(static, avals)


@op(public="nn.functional", promotion=ARITHMETIC, saves="input, target", grad_fn=_kl_div_name)
def kl_div(
    input,
    target,
    size_average: Flag | None = None,
    reduce: Flag | None = None,
    reduction: Text = "mean",
    log_target: Flag = False,
):
    """The Kullback-Leibler divergence of log-probabilities from a target; "batchmean" divides by the batch alone."""
    batchmean = reduction == "batchmean"
    if reduction == "mean":
        warn_of_call(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release."
        )
    reduction = chosen_reduction(size_average, reduce, "sum" if batchmean else reduction, warn_of_call)
    if not jnp.issubdtype(input.dtype, jnp.floating):
        raise RuntimeError(f"kl_div: {'Complex' if jnp.iscomplexobj(input) else 'Integral'} inputs not supported.")
    input, target = broadcast(input, target)
    if log_target:
        loss = jnp.exp(target) * (target - input)
    else:
        loss = jax.scipy.special.xlogy(target, target) - target * input
    result = reduced(loss, reduction)
    return result / input.shape[0] if batchmean and input.ndim else result


@_functional("input, target", "SubBackward0")
def poisson_nll_loss(
    input,
    target,
    log_input: Flag = True,
    full: Flag = False,
    size_average: Flag | None = None,
    eps: Real = 1e-8,
    reduce: Flag | None = None,
    reduction: Text = "mean",
):
    """The negative log-likelihood of counts under Poisson distributions, of which `input` has the rate or its log."""
    reduction = chosen_reduction(size_average, reduce, reduction, warn_of_call)
    target, input = broadcast(target, input)
    rate, product, target = fractional(input), fractional(target * input), fractional(target)
    loss = jnp.exp(rate) - product if log_input else rate - target * jnp.log(rate + eps)
    if full:
        # Its derivative is taken even where it is masked, as in torch: NaN at a count of 0.
        stirling = target * jnp.log(target) - target + 0.5 * jnp.log(2 * math.pi * target)
        loss += jnp.where(target > 1, stirling, 0)
    return reduced(loss, reduction)


def _variances(values, shapes, **_):
    if (values < 0).any():
        raise ValueError("var has negative entry/entries")


@_functional("input, target, var", "MulBackward0", check_values=("var", _variances))
def gaussian_nll_loss(input, target, var: Either, full: Flag = False, eps: Real = 1e-6, reduction: Text = "mean"):
    """The negative log-likelihood of `target` under normal distributions with mean `input` and variance `var`."""
    if var.shape != input.shape and var.ndim:
        if input.shape[:-1] == var.shape:
            var = var[..., None]
        elif input.ndim != var.ndim or sum(b for a, b in zip(input.shape, var.shape, strict=True) if a != b) != 1:
            raise ValueError(f"var is of incorrect size\n{list(var.shape)} for an input of {list(input.shape)}.")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not valid")
    # If it is raised to eps, its gradient is still that of the variance itself.
    var = jnp.where(var < eps, eps + (var - jax.lax.stop_gradient(var)), var)
    input, target = broadcast(input, target)
    loss = 0.5 * (jnp.log(var) + (input - target) ** 2 / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


SMALLEST_LOG, SMALLEST_PRODUCT = -100.0, 1e-12
"""torch's lower bounds for the logarithms in `binary_cross_entropy`, and for the denominator of its derivative."""


def _probabilities(name):
    def check(values, shapes, **_):
        if not ((values >= 0) & (values <= 1)).all():
            raise RuntimeError(
                f"all elements of {name} should be between 0 and 1\n`torch.sigmoid` makes probabilities of logits; or "
                "give the logits to `binary_cross_entropy_with_logits` (`BCEWithLogitsLoss`)."
            )

    return name, check


@op(
    public="nn.functional",
    saves="input, target, weight",
    rounds_once=True,
    check_values=(*_probabilities("input"), *_probabilities("target")),
)
@with_older_flags
def binary_cross_entropy(input, target, weight=None, reduction: Text = "mean"):
    """The cross entropy of probabilities of one of two classes; logarithms are at least -100."""
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({_size(target)}) that is different to the input size ({_size(input)}) is "
            "deprecated. Please ensure they have the same size."
        )
    if target.dtype != input.dtype:
        told = f"Found dtype {legacy(target)} but expected {legacy(input)}"
        raise RuntimeError(f"{told}\nConvert the target: `target.to(input.dtype)`.")
    supported("binary_cross_entropy", input, ALL_BUT_FLOATS, "")
    # The derivative is (input - target) / (input * (1 - input)); torch bounds the denominator. Beyond that bound, for
    # example at probabilities of 0 and 1, each logarithm is replaced by a line whose slope gives torch's derivative.
    steep = jax.lax.stop_gradient(input * (1 - input) < SMALLEST_PRODUCT)
    constant = jax.lax.stop_gradient(input)
    inner = jnp.where(steep, 0.5, input)
    step = (input - constant) / SMALLEST_PRODUCT
    of_one = jnp.maximum(jnp.where(steep, jnp.log(constant), jnp.log(inner)), SMALLEST_LOG)
    of_none = jnp.maximum(jnp.where(steep, jnp.log1p(-constant), jnp.log1p(-inner)), SMALLEST_LOG)
    of_one = of_one + jnp.where(steep, step * (1 - constant), 0)
    of_none = of_none - jnp.where(steep, step * constant, 0)
    loss = (target - 1) * of_none - target * of_one
    return reduced(loss if weight is None else loss * weight, reduction)


@op(public="nn.functional", saves="input, target, weight, pos_weight", rounds_once=True)
@with_older_flags
def binary_cross_entropy_with_logits(input, target, weight=None, reduction: Text = "mean", pos_weight=None):
    """The cross entropy of the logits of one of two classes."""
    if input.shape != target.shape:
        raise ValueError(f"Target size ({_size(target)}) must be the same as input size ({_size(input)})")
    supported("log_sigmoid", input, ALL_BUT_FLOATS)
    if not jnp.issubdtype(target.dtype, jnp.inexact):
        raise RuntimeError(
            f"result type {legacy(input)} can't be cast to the desired output type {legacy(target)}\n"
            "Convert the target: `target.to(input.dtype)`."
        )
    log_weight = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    loss = (1 - target) * input - log_weight * jax.nn.log_sigmoid(input)
    return reduced(loss if weight is None else loss * weight, reduction)


@op(public="", promotion=ARITHMETIC, saves="input, target")
def soft_margin_loss(input, target, reduction: Text):
    """`log(1 + exp(-target * input))`, for targets 1 and -1."""
    input, target = broadcast(input, target)
    return reduced(jnp.log1p(jnp.exp(-input * target)), reduction)


@op(public="", promotion=ARITHMETIC, saves="input, target", grad_fn=reduction_name("AddBackward0"))
def hinge_embedding_loss(input, target, margin: Real, reduction: Text):
    """`input` where the target is 1, and `max(0, margin - input)` where it is -1."""
    input, target = broadcast(input, target)
    short = hinge(margin - input)
    return reduced(jnp.where(target != 1, short, 0) + jnp.where(target != -1, input, 0), reduction)


def hinge(array):
    """The positive part, with the derivative 1 at 0, as torch's `clamp_min` has it."""
    return clamp_min.function(array, jnp.zeros((), array.dtype))


@_functional("input1, input2, target", "ClampMinBackward0")
@with_older_flags
def margin_ranking_loss(input1, input2, target, margin: Real = 0.0, reduction: Text = "mean"):
    """`max(0, -target * (input1 - input2) + margin)`, for targets 1 and -1."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {_size(input1)}, input2: {_size(input2)}, target: {_size(target)} "
        )
    return reduced(hinge(fractional(-target * (input1 - input2)) + margin), reduction)


@op(public="", promotion=ARITHMETIC, saves="input1, input2, target", grad_fn=reduction_name("AddBackward0"))
def cosine_embedding_loss(input1, input2, target, margin: Real, reduction: Text):
    """`1 - cosine` of two vectors where the target is 1, `cosine - margin`, if positive, where it is -1."""
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    dims = target.ndim + 1
    if (input1.ndim, input2.ndim) != (dims, dims):
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {dims}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    broadcast(input1, input2)
    first, second, product = (fractional(jnp.sum(each, -1)) for each in (input1**2, input2**2, input1 * input2))
    cosine = product / jnp.sqrt((first + 1e-12) * (second + 1e-12))
    broadcast(target, cosine)
    near, far = 1 - cosine, hinge(cosine - margin)
    return reduced(jnp.where(target == 1, near, 0) + jnp.where(target == -1, far, 0), reduction)


def check_triplet(margin: float, anchor: Any, positive: Any, negative: Any) -> None:
    """torch's errors for a margin that is not positive, and for other numbers of dimensions than the anchor's."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )


@_functional("anchor, positive, negative", "ClampMinBackward0")
@with_older_flags
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin: Real = 1.0,
    p: Real = 2.0,
    eps: Real = 1e-6,
    swap: Flag = False,
    reduction: Text = "mean",
):
    """`max(0, distance to positive - distance to negative + margin)`, both measured from the anchor."""
    check_triplet(margin, anchor, positive, negative)

    def apart(x, y):
        return pairwise_distance.function(x, y, p, eps)

    far = apart(anchor, negative)
    if swap:
        far = jnp.minimum(far, apart(positive, negative))
    return reduced(hinge(margin + apart(anchor, positive) - far), reduction)

"""Normalizations with running statistics, which are updated in place."""

from __future__ import annotations

import math

from jaxvjp.core.record.modes import grad_mode, transforming
from jaxvjp.ops.neural.normalization import (
    moved_towards,
    normalized_batch,
    standardized_batch,
    standardized_instances,
)
from jaxvjp.tensor.apply import apply, apply_in_place
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "ops of `jaxvjp.ops.neural.normalization`, and `jax.vjp` of them"


def _apart(running: Tensor | None, name: str, input: Tensor | None = None) -> Tensor | None:
    """A running statistic without its tangent; RuntimeError, in torch's words, where it requires a gradient, or where
    it has a tangent beside that of `input`: torch has no derivative by it, and only a function of JAX's arrays has.
    """
    if running is None:
        return None
    if running.requires_grad and grad_mode().enabled and not transforming().pure:
        raise RuntimeError(
            f"The function 'native_batch_norm' is not differentiable with respect to argument '{name}'. This input "
            f"cannot have requires_grad True.\nA normalization takes it as it is: `{name}.detach()`."
        )
    level = transforming().level
    if level is None and transforming().forward and not transforming().pure:
        return running.detach()
    if level is None or not level.carries(running.__node__):
        return running
    if input is not None and level.carries(input.__node__):
        raise RuntimeError(
            "batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad defined\n"
            f"`forward_ad.unpack_dual({name}).primal` is the same statistic without one."
        )
    return level.primal(running)


def _move(running: Tensor | None, statistic: Tensor, momentum: float, correction: float) -> None:
    if running is not None:
        apply_in_place(moved_towards, running, (statistic, momentum, correction))


@public("nn.functional")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`input` (batch, channels, ...) with mean 0 and variance 1 in each channel; times `weight`, plus `bias`.

    Args:
        running_mean: one per channel: it is subtracted or, when training, moved by `momentum` towards the batch's mean.
        running_var: the same for the (unbiased) variance.
        momentum: the fraction of the running statistics that a batch replaces.
        eps: is added to the variance.
    """
    if training and math.prod(input.shape[:1] + tuple(input.shape[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    if input.ndim < 2 and not input.numel():
        return input.clone()
    if training:
        if running_mean is not None and input.ndim > 1 and running_mean.numel() != input.shape[1]:
            raise RuntimeError(f"running_mean should contain {input.shape[1]} elements not {running_mean.numel()}")
        result, mean, variance = apply(standardized_batch, (input, weight, bias), (float(eps),))
        update(running_mean, running_var, mean, variance, input.numel() // max(input.shape[1], 1), momentum)
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
        running = _apart(running_mean, "running_mean", input), _apart(running_var, "running_var", input)
        result = apply(normalized_batch, (input, *running, weight, bias), (float(eps),))
    return result


def update(
    running_mean: Tensor | None, running_var: Tensor | None, mean: Tensor, variance: Tensor, count: int, momentum: float
) -> None:
    """Updates running statistics by those of a batch of `count` numbers per channel, if there are any."""
    running_mean, running_var = _apart(running_mean, "running_mean"), _apart(running_var, "running_var")
    if not count:
        return
    _move(running_mean, mean, momentum, 1.0)
    _move(running_var, variance, momentum, count / max(count - 1, 1))


@public("nn.functional")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`batch_norm` of each example separately. Running statistics move towards the mean of those of the examples."""
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        running = _apart(running_mean, "running_mean", input), _apart(running_var, "running_var", input)
        return apply(normalized_batch, (input, *running, weight, bias), (float(eps),))
    count = math.prod(input.shape[2:])
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    result, mean, variance = apply(standardized_instances, (input, weight, bias), (float(eps),))
    update(running_mean, running_var, mean, variance, count, momentum)
    return result

"""Normalizations that keep or hand out statistics; running ones change in place. `functions` comes before this room."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jaxvjp.application import apply, apply_in_place
from jaxvjp.ops.neural.normalization import (
    moved_towards,
    normalized_batch,
    standardized_batch,
    standardized_instances,
    standardized_layer,
)
from jaxvjp.publishing import public
from jaxvjp.tensor import Tensor


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
        running_mean: one per channel; what is subtracted, or when training a step of `momentum` nearer to the batch's.
        running_var: the same of the variance, which is estimated without bias.
        training: whether to normalize by the batch's own statistics.
        momentum: how much of the running statistics a batch replaces.
        eps: what is added to the variance.

    Counterpart of `torch.nn.functional.batch_norm`.
    """
    if training and math.prod(input.shape[:1] + tuple(input.shape[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    if input.ndim < 2 and not input.numel():
        nothing: Tensor = input.clone()
        return nothing
    if training:
        result, mean, variance = apply(standardized_batch, (input, weight, bias), (float(eps),))
        _update(running_mean, running_var, mean, variance, input.numel() // max(input.shape[1], 1), momentum)
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
        result = apply(normalized_batch, (input, running_mean, running_var, weight, bias), (float(eps),))
    normalized: Tensor = result
    return normalized


def _update(
    running_mean: Tensor | None, running_var: Tensor | None, mean: Tensor, variance: Tensor, count: int, momentum: float
) -> None:
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
    """`batch_norm` of each example for itself. Running statistics move towards the mean of the batch's.

    Counterpart of `torch.nn.functional.instance_norm`.
    """
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        fixed: Tensor = apply(normalized_batch, (input, running_mean, running_var, weight, bias), (float(eps),))
        return fixed
    count = math.prod(input.shape[2:])
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    result, mean, variance = apply(standardized_instances, (input, weight, bias), (float(eps),))
    _update(running_mean, running_var, mean, variance, count, momentum)
    normalized: Tensor = result
    return normalized


@public("function")
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """What `batch_norm` gives, and the means and reciprocal deviations of the batch that it used.

    When not training these are empty. Counterpart of `torch.native_batch_norm`.
    """
    if not training:
        result = batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
        nothing: Any = input.detach()
        nothing = nothing.reshape(-1)[:0]
        return result, nothing, nothing
    result, mean, variance = apply(standardized_batch, (input, weight, bias), (float(eps),))
    _update(running_mean, running_var, mean, variance, input.numel() // max(input.shape[1], 1), momentum)
    scale = (variance.detach() + eps) ** -0.5
    return result, *_as_parameters(input, (weight, bias, running_mean, running_var), (mean.detach(), scale))


def _as_parameters(input: Tensor, parameters: Sequence[Tensor | None], statistics: Sequence[Tensor]) -> list[Tensor]:
    """Statistics in the type of the parameters, which may be wider than that of the input; or else in its own."""
    own = next((each.dtype for each in parameters if each is not None), input.dtype)
    return [each.to(own) for each in statistics]


@public("function")
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """What `layer_norm` gives, and the means and reciprocal deviations that it used, which are constants.

    Counterpart of `torch.native_layer_norm`.
    """
    static = (tuple(normalized_shape), float(eps))
    result, mean, scale = apply(standardized_layer, (input, weight, bias), static)
    return result, *_as_parameters(input, (weight, bias), (mean.detach(), scale.detach()))

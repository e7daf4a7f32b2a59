"""Gradients, scaled down or cut off where they are too large."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from types import GeneratorType

from jaxvjp.autograd.modes import no_grad
from jaxvjp.library.creation import tensor
from jaxvjp.nn.init import deprecated
from jaxvjp.ops.joining import stack
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "operations on the gradients, recorded under `no_grad`"

Tensors = Tensor | Iterable[Tensor]


def _grads(parameters: Tensors) -> list[Tensor]:
    every = [parameters] if isinstance(parameters, Tensor) else parameters
    return [each.grad for each in every if each.grad is not None]


@no_grad()
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors as one vector."""
    every = [tensors] if isinstance(tensors, Tensor) else [*tensors]
    if not every:
        return tensor(0.0)
    if foreach is not False and norm_type == inf and not all(each.numel() for each in every):
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the operation does not have an "
            "identity"
        )
    norms = [each.norm(float(norm_type)).to(every[0].device) for each in every]
    together: Tensor = apply(stack, (tuple(norms),), (0,))
    total = together.norm(float(norm_type))
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot "
            "be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales gradients, whose norm is `total_norm`, in place so that it is at most `max_norm`."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for each in _grads(parameters):
        each.mul_(factor.to(each.device))


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients of parameters in place so that their norm, as one vector, is at most `max_norm`.

    The factor is `max_norm / (norm + 1e-6)`, or 1 if that is greater. Returns the norm before.
    """
    every = [parameters] if isinstance(parameters, Tensor) else [*parameters]
    if not every and isinstance(parameters, GeneratorType):
        warn_user("`parameters` is an empty generator, no gradient clipping will occur.")
    total = get_total_norm(_grads(every), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(every, max_norm, total, foreach)
    return total


clip_grad_norm = deprecated(clip_grad_norm_, "torch.nn.utils")


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Cuts the numbers of gradients off, in place, at `-clip_value` and `clip_value`."""
    limit = float(clip_value)
    found = _grads(parameters)
    if not found:
        raise RuntimeError(
            "Expected !nested_tensorlist[0].empty() to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)\nThese are torch's words for: no "
            "parameter has a gradient. Call this after `backward()`."
        )
    for each in found:
        each.clamp_(min=-limit, max=limit)

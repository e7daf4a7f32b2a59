"""torch's `nn.init`: fills a layer's parameters in place, with torch's numbers for the same seed.

Each returns the tensor that it filled, and records no gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from jaxvjp.autograd.modes import no_grad
from jaxvjp.library.creation import tensor
from jaxvjp.library.generator import Generator
from jaxvjp.library.random_tensors import randperm
from jaxvjp.ops.joining import stack
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import bfloat16, float16
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "numbers drawn on the host and written in place under `no_grad`"

GAINS: dict[str, Callable[[float], float]] = {
    **dict.fromkeys(
        ["linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"],
        lambda _: 1.0,
    ),
    "tanh": lambda _: 5.0 / 3,
    "relu": lambda _: math.sqrt(2.0),
    "leaky_relu": lambda slope: math.sqrt(2.0 / (1 + slope**2)),
    "selu": lambda _: 3.0 / 4,
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor for weights before `nonlinearity`; counterpart of `torch.nn.init.calculate_gain`."""
    if nonlinearity not in GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is not None and (isinstance(param, bool) or not isinstance(param, int | float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return GAINS[nonlinearity](0.01 if param is None else param)


def _filled(fill: Callable[[Tensor], Any], target: Tensor) -> Tensor:
    with no_grad():
        fill(target)
    return target


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform from `a` to `b`; counterpart of `torch.nn.init.uniform_`."""
    return _filled(lambda x: x.uniform_(a, b, generator=generator), tensor)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal of a mean and a deviation; counterpart of `torch.nn.init.normal_`."""
    return _filled(lambda x: x.normal_(mean, std, generator=generator), tensor)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal, truncated to `a` to `b`: numbers outside are drawn again."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warn_user(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
        )
    below = [(1.0 + math.erf((each - mean) / std / math.sqrt(2.0))) / 2.0 for each in (a, b)]

    def likely(x: Tensor) -> None:
        x.normal_(mean, std, generator=generator)
        low, high = (x.new_tensor(each).item() for each in (a, b))
        while (outside := (x < low) | (x > high)).any():
            x.copy_(x.new_empty(x.shape).normal_(mean, std, generator=generator).where(outside, x))

    def unlikely(x: Tensor) -> None:
        peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
        pending: Any = x == x
        while pending.any():
            drawn = x.new_empty(x.shape).uniform_(a, b, generator=generator)
            x.copy_(drawn.where(pending, x))
            height = ((drawn - mean) / std).pow(2) * -0.5 - peak
            pending = pending & (x.new_empty(x.shape).uniform_(generator=generator).log() > height)

    return _filled(likely if below[1] - below[0] > 0.3 else unlikely, tensor)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """`val` everywhere; counterpart of `torch.nn.init.constant_`."""
    return _filled(lambda x: x.fill_(val), tensor)


def ones_(tensor: Tensor) -> Tensor:
    """Ones; counterpart of `torch.nn.init.ones_`."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros; counterpart of `torch.nn.init.zeros_`."""
    return _filled(lambda x: x.zero_(), tensor)


def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere; counterpart of `torch.nn.init.eye_`."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _copied(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The kernel of a convolution that changes nothing; counterpart of `torch.nn.init.dirac_`."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    kernel = np.zeros(tensor.shape)
    each = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for channel in range(min(each, tensor.shape[1])):
            kernel[(group * each + channel, channel, *centre)] = 1
    return _copied(tensor, kernel)


def _copied(target: Tensor, values: Any) -> Tensor:
    return _filled(lambda x: x.copy_(tensor(values, dtype=x.dtype, device=x.device)), target)


def _calculate_fan_in_and_fan_out(weights: Tensor) -> tuple[int, int]:
    """Fan-in and fan-out: how many inputs an output has, and how many outputs an input has."""
    if weights.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(weights.shape[2:])
    return weights.shape[1] * field, weights.shape[0] * field


def _calculate_correct_fan(weights: Tensor, mode: str) -> int:
    """Fan-in or fan-out, as `mode` says."""
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(weights)[mode == "fan_out"]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform, to keep variances forwards and backwards; counterpart of `torch.nn.init.xavier_uniform_`."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal, to keep variances forwards and backwards; counterpart of `torch.nn.init.xavier_normal_`."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _he(weights: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(weights, mode))


def _nothing(tensor: Tensor) -> Tensor:
    warn_user("Initializing zero-element tensors is a no-op")
    return tensor


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform, to keep variances after rectifiers; as `torch.nn.init.kaiming_uniform_`."""
    if 0 in tensor.shape:
        return _nothing(tensor)
    bound = math.sqrt(3.0) * _he(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal, to keep variances after rectifiers; as `torch.nn.init.kaiming_normal_`."""
    if 0 in tensor.shape:
        return _nothing(tensor)
    return normal_(tensor, 0.0, _he(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """An orthogonal matrix, or rows of one, by the QR decomposition of normal numbers; as `torch.nn.init.orthogonal_`.

    Its numbers are torch's up to the rounding of the two decompositions.
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    if tensor.dtype in (float16, bfloat16):
        raise NotImplementedError(f"\"geqrf_cpu\" not implemented for '{tensor.dtype.legacy}'")
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    matrix = np.asarray(flat.__value__)
    q, r = np.linalg.qr(matrix.T if rows < columns else matrix)
    q = q * np.sign(np.diagonal(r))
    return _copied(tensor, (q.T if rows < columns else q).reshape(tensor.shape) * gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal numbers, and in each column a fraction of zeros; as `torch.nn.init.sparse_`."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)

    def fill(x: Tensor) -> Tensor:
        x.normal_(0, std, generator=generator)
        chosen = [randperm(rows).narrow(0, 0, zeros) for _ in range(columns)]
        return x.scatter_(0, apply(stack, (tuple(chosen),), (1,)), 0) if columns else x

    return _filled(fill, tensor)


def deprecated(function: Callable[..., Tensor], place: str = "nn.init") -> Callable[..., Tensor]:
    """A function of a place under its old name, without the underscore, which warns."""
    name = function.__name__
    old = name.removesuffix("_")

    @wraps(function)
    def warning(*args: Any, **kwargs: Any) -> Tensor:
        warn_user(f"`{place}.{old}` is now deprecated in favor of `{place}.{name}`.", FutureWarning)
        return function(*args, **kwargs)

    warning.__name__ = warning.__qualname__ = old
    return warning


complete_all(globals(), [each for each in globals() if each.endswith("_") or each == "calculate_gain"], "nn.init")
uniform, normal, constant = deprecated(uniform_), deprecated(normal_), deprecated(constant_)
eye, dirac, orthogonal, sparse = deprecated(eye_), deprecated(dirac_), deprecated(orthogonal_), deprecated(sparse_)
xavier_uniform, xavier_normal = deprecated(xavier_uniform_), deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = deprecated(kaiming_uniform_), deprecated(kaiming_normal_)
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_

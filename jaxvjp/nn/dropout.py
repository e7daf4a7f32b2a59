"""Functions of layers that draw random numbers.

The numbers are torch's for the same seed (see `Generator.bernoulli`), drawn on the host when the function is called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxvjp.core.record.modes import transforming
from jaxvjp.core.record.record import node_of_value
from jaxvjp.library.factories import new_leaf, nothing
from jaxvjp.library.generator import Generator, default_generator
from jaxvjp.library.random_tensors import drawn_anew, rand
from jaxvjp.ops import arguments
from jaxvjp.ops.layouts import preserve_format
from jaxvjp.ops.neural import activation
from jaxvjp.ops.op import REGISTRY, Aval
from jaxvjp.ops.pointwise import add, mul
from jaxvjp.tensor.answers import publish
from jaxvjp.tensor.apply import apply, apply_in_place
from jaxvjp.tensor.batched_randomness import drawn_from, per_example
from jaxvjp.tensor.batches import Batch
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor, wrap
from jaxvjp.types.devices import META, place
from jaxvjp.types.dtypes import dtype
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "numbers drawn on the host, and an op of `jaxvjp.ops.neural`, with `jax.vjp` of it"

Shape = Callable[[Tensor], tuple[int, ...]]
SELU_FLOOR = activation.SELU_ALPHA * activation.SELU_SCALE
"""Minus the limit of `selu` at -infinity, the value that `alpha_dropout` gives to dropped elements."""


def _drawn(shape: tuple[int, ...], draw: Callable[[int], Any], own: dtype, device: Any = None) -> Tensor:
    """A tensor of random numbers; inside `vmap` as its `randomness` says."""

    def make(shape: tuple[int, ...]) -> Tensor:
        where = place(device)
        if where is META:
            return new_leaf(nothing(shape), own, device=device)
        numbers = np.asarray(draw(math.prod(shape))).reshape(shape).astype(own.numpy)
        if where is None:
            return wrap(node_of_value(numbers, Aval(shape, own)))
        return new_leaf(numbers, own, device=device)

    return per_example(tuple(shape), drawn_anew(make), Batch.random_differs)


def kept_with(shape: tuple[int, ...], p: float, own: dtype, device: Any = None) -> Any:
    """Ones, and zeros with probability `p`."""
    return _drawn(shape, lambda count: default_generator.__coins__(count, 1 - p), own, device)


def check_probability(p: float) -> None:
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _checked(p: float) -> float:
    check_probability(p)
    return p


def _check_kernel(p: float) -> None:
    """What torch's kernels say of a probability, that of NaN, too."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def _result(row: Any, inplace: bool, input: Tensor, *operands: Any) -> Tensor:
    return apply_in_place(row, input, operands) if inplace else apply(row, (input, *operands))


def _dropped(input: Tensor, shape: Shape, p: float, training: bool, inplace: bool) -> Tensor:
    """`input` times a random mask of shape `shape(input.shape)`, divided by the probability to be kept."""
    _check_kernel(p)
    if p == 0 or not training or not input.numel():
        return input
    if p == 1:
        return _result(mul, inplace, input, _zeros(input.dtype))
    own = input.dtype
    if not own.differentiable:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {own.legacy}\nDrop out of floats: `x.float()`."
        )
    scaled = _laid(input, shape, lambda count: _scaled(default_generator.__coins__(count, 1 - p), p, own), own)
    return _result(mul, inplace, input, scaled)


def _laid(input: Tensor, shape: Shape, draw: Callable[[int], Any], own: dtype) -> Tensor:
    """`_drawn`; one number for each element of `input`, in the order of memory that a copy of it has."""
    if shape is not _whole or input.is_contiguous():
        return _drawn(shape(input), draw, own, input.device)
    strides = preserve_format.strides(input.__layout__())
    order = sorted(range(input.ndim), key=lambda dim: -strides[dim])
    drawn = _drawn(tuple([input.shape[dim] for dim in order]), draw, own, input.device)
    return drawn.permute([order.index(dim) for dim in range(input.ndim)])


def _scaled(kept: Any, p: float, own: dtype) -> Any:
    return kept.astype(own.numpy) / own.numpy.type(1 - p)


def _zeros(own: dtype) -> Tensor:
    return wrap(node_of_value(np.zeros((), own.numpy), Aval((), own)))


def _whole(input: Tensor) -> tuple[int, ...]:
    return tuple(input.shape)


def _first(input: Tensor) -> tuple[int, ...]:
    """The shape of one number for each channel, for input without a batch."""
    return (*input.shape[:1], *[1] * (input.ndim - 1))


def _channels(input: Tensor) -> tuple[int, ...]:
    """The shape of one number for each channel of each example."""
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*input.shape[:2], *[1] * (input.ndim - 2))


@public("nn.functional")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`input` with each number set to 0 with probability `p`, the others divided by `1 - p`."""
    check_probability(p)
    return _dropped(input, _whole, p, training, inplace)


@public("nn.functional")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (batch, channels, length) or (channels, length)."""
    check_probability(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _dropped(input, lambda each: (*each.shape[:-1], 1), p, training, inplace)


@public("nn.functional")
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels (dimension 1). Counterpart of `torch.nn.functional.dropout2d`."""
    check_probability(p)
    _warn_of_dims("dropout2d", input, 2)
    if input.ndim == 3:
        warn_user(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
        )
    return _dropped(input, _channels, p, training, inplace)


@public("nn.functional")
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels (dimension 1). Counterpart of `torch.nn.functional.dropout3d`."""
    check_probability(p)
    _warn_of_dims("dropout3d", input, 3)
    alone = input.ndim != 5  # no batch dimension, for torch, whatever else it is
    return _dropped(input, _first if alone else _channels, p, training, inplace)


def _warn_of_dims(name: str, input: Tensor, dims: int) -> None:
    if input.ndim not in (dims + 1, dims + 2):
        warn_user(
            f"{name}: Received a {input.ndim}-D input to {name}, which is deprecated and will result in an error in a "
            "future release. To retain the behavior and silence this warning, please use dropout instead. Note that "
            f"{name} exists to provide channel-wise dropout on inputs with {dims} spatial dimensions, a channel "
            f"dimension, and an optional batch dimension (i.e. {dims + 1}D or {dims + 2}D inputs).",
        )


def _alpha_dropped(input: Tensor, shape: Shape, p: float, training: bool, inplace: bool) -> Tensor:
    """`input` with dropped elements set to the limit of `selu`, and then rescaled to its mean and variance."""
    _check_kernel(p)
    if p == 0 or not training or not input.numel():
        return input
    if p == 1:
        return _result(mul, inplace, input, _zeros(input.dtype))
    scale = 1 / math.sqrt((SELU_FLOOR**2 * p + 1) * (1 - p))
    kept = _laid(input, shape, lambda count: default_generator.__coins__(count, 1 - p), input.dtype)
    shift = (kept - 1) * (SELU_FLOOR * scale) + SELU_FLOOR * scale * p
    return _result(add, inplace, _result(mul, inplace, input, kept * scale), shift)


@public("nn.functional")
def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """`leaky_relu` with a slope that is drawn for each number, or when not training the mean of the bounds.

    torch draws only for numbers that are not positive, so `input` is computed to know which these are.
    """
    return _rrelu(input, lower, upper, training, inplace)


def _rrelu(
    input: Tensor, lower: float, upper: float, training: bool, inplace: bool, generator: Generator | None = None
) -> Tensor:
    if transforming().batches:
        raise RuntimeError(
            "vmap: we do not yet support aten::rrelu. Please file an issue\nWhich numbers it draws for depends on "
            "their values. Draw before vmap, and use `torch.where(x > 0, x, x * slopes)`."
        )
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training or input.is_meta:
        static = ((lower + upper) / 2,)
        row = activation.leaky_relu
        return apply_in_place(row, input, (), static) if inplace else apply(row, (input,), static)

    def slopes(input: Tensor) -> Tensor:
        below = np.asarray(input.__value__) <= 0
        drawn = np.ones(below.shape)
        drawn[below] = (generator or default_generator).__doubles__(int(below.sum())) * (upper - lower) + lower
        return wrap(node_of_value(drawn.astype(input.dtype.numpy), Aval(input.shape, input.dtype)))

    return _result(activation.rrelu_with_noise, inplace, input, drawn_from(slopes, input))


@public("nn.functional")
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A differentiable, soft sample of one-hot vectors; with `hard` it is one-hot, with the gradient of the soft one.

    Counterpart of `torch.nn.functional.gumbel_softmax`.
    """
    if eps != 1e-10:
        warn_user("`eps` parameter is deprecated and has no effect.")
    own = logits.dtype
    if not own.is_floating_point:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {own.legacy}"
        )
    noise = _drawn(logits.shape, lambda count: _gumbel(count, own), own, logits.device)
    return apply(activation.perturbed_softmax, (logits, noise, float(tau)), (hard, dim))


def _gumbel(count: int, own: dtype) -> Any:
    return -np.log(-np.log1p(-default_generator.__doubles__(count)).astype(own.numpy))


SLOPES = "lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False"
DROPPING = "p: float = 0.5, training: bool = False, inplace: bool = False"
KERNELS = "\n".join(
    f"""
{name}(input: Tensor, p: float, train: bool) -> Tensor = {drop}(input, {shape}, p, train, {bool(told)})
    `nn.functional.{name.rstrip("_")}` without defaults{told}. Counterpart of `torch.{name}`."""
    for prefix, shape in (("", "_whole"), ("feature_", "_channels"))
    for form, drop in (("dropout", "_dropped"), ("alpha_dropout", "_alpha_dropped"))
    for name, told in ((f"{prefix}{form}", ""), (f"{prefix}{form}_", ", in place"))
)
"""torch's kernels of dropout, and those that write into their input."""
ROWS = {
    "nn.functional": f"""
alpha_dropout(input: Tensor, {DROPPING}) -> Tensor = _alpha_dropped(input, _whole, _checked(p), training, inplace)
    `dropout` that keeps the mean and variance of `selu`'s results. Counterpart of `torch.nn.functional.alpha_dropout`.
feature_alpha_dropout(input: Tensor, {DROPPING}) -> Tensor = _alpha_dropped(input, _channels, _checked(p), training,
    inplace)
    `alpha_dropout` of whole channels. Counterpart of `torch.nn.functional.feature_alpha_dropout`.
""",
    "function": f"""
{KERNELS}
rrelu(input: Tensor, {SLOPES}, generator: Generator | None = None) -> Tensor = _rrelu(input, lower, upper, training,
    False, generator)
    `nn.functional.rrelu`, with a generator. Counterpart of `torch.rrelu`.
""",
    "function nn.functional": f"""
rrelu_(input: Tensor, {SLOPES}, generator: Generator | None = None) -> Tensor = _rrelu(input, lower, upper, training,
    True, generator)
    `rrelu`, written into `input`. Counterpart of `torch.nn.functional.rrelu_`.
""",
}
publish(ROWS, {**globals()})  # `dropout` and `rrelu` stay those of `nn.functional` here


def _fractional(dims: int) -> None:
    name = f"fractional_max_pool{dims}d"

    def pool(
        input: Tensor,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int] | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            ratios: Any = output_ratio if isinstance(output_ratio, Sequence) else (output_ratio,) * dims
            if len(ratios) != dims:
                raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
            output_size = [int(length * each) for length, each in zip(input.shape[-dims:], ratios, strict=True)]
        if _random_samples is None:
            batch = input.shape[0] if input.ndim == dims + 2 else 1
            channels = input.shape[arguments.wrap(-dims - 1, input.ndim)]
            _random_samples = rand(batch, channels, dims, dtype=input.dtype, device=input.device)
        sizes = [(each,) * dims if isinstance(each, int) else tuple(each) for each in (kernel_size, output_size)]
        return apply(REGISTRY[name], (input, _random_samples), (*sizes, return_indices))

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"""The largest entries of windows of `kernel_size` whose places are drawn, `output_size` of them.

    `output_ratio` gives their number as a part of the input's size. Counterpart of `torch.nn.functional.{name}`.
    """
    public("nn.functional")(pool)

    def both(
        input: Tensor,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int] | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        return pool(input, kernel_size, output_size, output_ratio, True, _random_samples)

    both.__name__ = both.__qualname__ = f"{name}_with_indices"
    both.__doc__ = f"`{name}` and the places of the entries, flat over the spatial dimensions."
    public("nn.functional")(both)


for _dims in (2, 3):
    _fractional(_dims)

"""Functions with the names and arguments of torch's kernels: `native_batch_norm`, `grid_sampler`.

They take torch's numbers in place of words such as "bilinear", and also return what their gradients need.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from jaxvjp.nn import batch_norm as norms
from jaxvjp.nn import embedding as tables  # noqa: F401 - of the rows
from jaxvjp.nn.dropout import kept_with
from jaxvjp.ops.neural import normalization  # noqa: F401
from jaxvjp.ops.neural.loss import binary_cross_entropy_with_logits, margin_ranking_loss, triplet_margin_loss
from jaxvjp.ops.neural.normalization import standardized_batch, standardized_groups, standardized_layer
from jaxvjp.ops.neural.resampling import affine_grid, grid_sample  # noqa: F401
from jaxvjp.tensor.answers import publish
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.bindings import function_of
from jaxvjp.tensor.published import public, published_at
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import bool_, uint8
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: F401, N812 - `dtype` is an argument's name here

UNDERNEATH = "ops of `jaxvjp.ops.neural`, and `jax.vjp` of them"


@public("function", out=True)
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
    """`batch_norm`, and the means and reciprocal deviations of the batch; when not training these are empty."""
    if not training:
        result = norms.batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
        nothing: Any = input.detach()
        nothing = nothing.reshape(-1)[:0]
        return result, nothing, nothing
    result, mean, variance = apply(standardized_batch, (input, weight, bias), (float(eps),))
    norms.update(running_mean, running_var, mean, variance, input.numel() // max(input.shape[1], 1), momentum)
    scale = (variance.detach() + eps) ** -0.5
    return result, *_as_parameters(input, (weight, bias, running_mean, running_var), mean.detach(), scale)


def _as_parameters(
    input: Tensor, parameters: Sequence[Tensor | None], mean: Tensor, scale: Tensor
) -> tuple[Tensor, Tensor]:
    """The statistics in the dtype of the parameters, which may be wider than the input's; without parameters in its
    own."""
    own = next((parameter.dtype for parameter in parameters if parameter is not None), input.dtype)
    return mean.to(own), scale.to(own)


@public("function")
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, and the means and reciprocal deviations that it used, which have no gradient."""
    static = (tuple(normalized_shape), float(eps))
    result, mean, scale = apply(standardized_layer, (input, weight, bias), static)
    return result, *_as_parameters(input, (weight, bias), mean.detach(), scale.detach())


@public("function")
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm` for `group` groups, and the means and reciprocal deviations that it used.

    Args:
        N, C, HxW: the number of examples, of channels, and of numbers in each channel.
    """
    if (N, C, HxW) != (*input.shape[:2], math.prod(input.shape[2:])):
        raise RuntimeError(f"Expected an input of shape [{N}, {C}, *] with {HxW} per channel, got {list(input.shape)}")
    return apply(standardized_groups, (input, weight, bias), (group, float(eps)))


@public("function")
def _batch_norm_with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`native_batch_norm` when training; and an empty tensor, as nothing else is kept."""
    found = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    nothing: Tensor = input.new_empty(0, dtype=uint8)
    return *found, nothing


@public("function")
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`dropout`, and the mask of kept elements. Counterpart of `torch.native_dropout`."""
    if train is False:
        return input.clone(), input.new_ones(input.shape, dtype=bool_)
    if not input.numel():
        return input.clone(), input.new_empty(input.shape)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={1 - p}")
    kept = kept_with(tuple(input.shape), p, input.dtype)
    return input.mul(kept.mul(1 / (1 - p) if p < 1 else 0.0)), kept.bool()


REDUCTIONS = ("none", "mean", "sum")


def _loss_kernel(loss: Callable[..., Tensor], name: str) -> None:
    """Publishes a loss of `nn.functional` with a number for its reduction, and without torch's older arguments."""
    form = inspect.signature(loss, eval_str=True)
    kept = {each.name: each for each in form.parameters.values() if each.name not in ("size_average", "reduce")}
    kept["reduction"] = kept["reduction"].replace(default=1, annotation=int)
    if "pos_weight" in kept:
        kept["reduction"] = kept.pop("reduction")
    own = form.replace(parameters=[*kept.values()])

    def kernel(*arguments: Any, **named: Any) -> Tensor:
        given = own.bind(*arguments, **named)
        given.apply_defaults()
        return loss(**given.arguments | {"reduction": _word(REDUCTIONS, given.arguments["reduction"])})

    kernel.__name__ = kernel.__qualname__ = name
    kernel.__signature__ = own  # type: ignore[attr-defined]
    kernel.__doc__ = f"`nn.functional.{name}` with a number for its reduction: none, mean or sum."
    public("function", name)(kernel)


MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


def _word(words: Sequence[str], number: int) -> str:
    return words[number] if 0 <= number < len(words) else str(number)


@public("function", aliases="function.grid_sampler_2d function.grid_sampler_3d")
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sample` with numbers in place of words: bilinear, nearest, bicubic; zeros, border, reflection."""
    static = (_word(MODES, interpolation_mode), _word(PADDINGS, padding_mode), align_corners)
    return apply(grid_sample, (input, grid), static)


for _name in ("ctc_loss", "cosine_embedding_loss", "hinge_embedding_loss"):
    _loss_kernel(published_at("nn.functional", _name), _name)
for _row in (binary_cross_entropy_with_logits, margin_ranking_loss, triplet_margin_loss):
    _loss_kernel(function_of([_row], _row.name, "nn.functional"), _row.name)


def _within(input: Tensor, indices: Sequence[Tensor | None]) -> tuple[Any, ...]:
    """Positions clamped into the tensor; what they read is masked."""
    return tuple(
        slice(None) if each is None else each.clamp(-length, length - 1)
        for each, length in zip(indices, input.shape, strict=False)
    )


KERNELS = """
batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float,
    cudnn_enabled: bool) -> Tensor = norms.batch_norm(input, running_mean, running_var, weight, bias, training,
    momentum, eps)
    `nn.functional.batch_norm` with its arguments in another order. Counterpart of `torch.batch_norm`.
instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float,
    cudnn_enabled: bool) -> Tensor = norms.instance_norm(input, running_mean, running_var, weight, bias,
    use_input_stats, momentum, eps)
    `nn.functional.instance_norm` with its arguments in another order. Counterpart of `torch.instance_norm`.
layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enable: bool = True) -> Tensor = apply(normalization.layer_norm, (input, weight, bias),
    (tuple(normalized_shape), float(eps)))
    `nn.functional.layer_norm`. Counterpart of `torch.layer_norm`.
group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enabled: bool = True) -> Tensor = apply(normalization.group_norm, (input, weight, bias),
    (num_groups, float(eps)))
    `nn.functional.group_norm`. Counterpart of `torch.group_norm`.
_native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None,
    *further: Any) -> tuple[Tensor, Tensor, Tensor] = native_batch_norm(input, weight, bias,
    *(further if len(further) == 5 else (None, None, *further)))
    `native_batch_norm`, with optional running statistics.
embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False) -> Tensor = tables.embedding(indices, weight, None if padding_idx == -1 else padding_idx,
    scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)
    `nn.functional.embedding` with its arguments in another order. Counterpart of `torch.embedding`.
native_dropout_backward(grad_output: Tensor, mask: Tensor,
    scale: float) -> Tensor = grad_output.mul(mask.to(grad_output.dtype).mul(scale))
    The gradient of `native_dropout`. Counterpart of `torch.native_dropout_backward`.
_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int,
    input_dtype: Dtype) -> Tensor = (grad_output - (grad_output * output).sum(dim, True)).mul(output).to(input_dtype)
    The gradient of `softmax`, from its result.
affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor = apply(affine_grid, (theta,),
    (tuple(size), align_corners))
    `affine_grid`. Counterpart of `torch.affine_grid_generator`.
detach(input: Tensor) -> Tensor = input.detach()
    The same values, through which no gradient flows: `input.detach()`. Counterpart of `torch.detach`.
_unsafe_masked_index(input: Tensor, mask: Tensor, indices: Sequence[Tensor | None],
    fill: complex) -> Tensor = input[_within(input, indices)].masked_fill(mask.logical_not(), fill)
    `input[indices]` where the mask is True, `fill` elsewhere, whatever the positions are there.
_unsafe_masked_index_put_accumulate(input: Tensor, mask: Tensor, indices: Sequence[Tensor | None],
    values: Tensor) -> Tensor = input.index_put(_within(input, indices), values.masked_fill(mask.logical_not(), 0),
    accumulate=True)
    A copy with `values` added at the positions where the mask is True.
"""
"""torch's kernels that only pass their arguments on."""
SAME_SIZE = """
is_same_size(input: Tensor, other: Tensor) -> bool = bool(input.shape == other.shape)
    Whether two tensors have the same shape. Counterpart of `torch.is_same_size`.
"""
publish({"function": KERNELS, "method function": SAME_SIZE}, globals())

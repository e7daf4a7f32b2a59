# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Callable
from collections.abc import Sequence
from jaxvjp.library.generator import Generator
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import dtype

def adaptive_avg_pool1d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """The mean of each of `output_size` windows that share 1 spatial dimension out evenly."""
def adaptive_avg_pool2d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """The mean of each of `output_size` windows that share 2 spatial dimensions out evenly."""
def adaptive_avg_pool3d(input: Tensor, output_size: int | None | Sequence[int | None]) -> Tensor:
    """The mean of each of `output_size` windows that share 3 spatial dimensions out evenly."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: int | None | Sequence[int | None], return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each of `output_size` windows that share 1 spatial dimension out evenly."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: int | None | Sequence[int | None], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: int | None | Sequence[int | None], return_indices: Literal[False] = False) -> Tensor:
    """The largest entry, and where it is, of each of `output_size` windows that share 1 spatial dimension out evenly."""
@overload
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: int | None | Sequence[int | None], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(input: Tensor, output_size: int | None | Sequence[int | None], return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each of `output_size` windows that share 2 spatial dimensions out evenly."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: int | None | Sequence[int | None], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: int | None | Sequence[int | None], return_indices: Literal[False] = False) -> Tensor:
    """The largest entry, and where it is, of each of `output_size` windows that share 2 spatial dimensions out evenly."""
@overload
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: int | None | Sequence[int | None], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(input: Tensor, output_size: int | None | Sequence[int | None], return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each of `output_size` windows that share 3 spatial dimensions out evenly."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: int | None | Sequence[int | None], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: int | None | Sequence[int | None], return_indices: Literal[False] = False) -> Tensor:
    """The largest entry, and where it is, of each of `output_size` windows that share 3 spatial dimensions out evenly."""
@overload
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: int | None | Sequence[int | None], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
def affine_grid(theta: Tensor, size: int | Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points, from -1 to 1, to which affine maps (batch, dims, dims + 1) send the pixels of images of `size`."""
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`dropout` that keeps the mean and variance of `selu`'s results. Counterpart of `torch.nn.functional.alpha_dropout`."""
def avg_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window over 1 spatial dimension."""
def avg_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The mean of each window over 2 spatial dimensions."""
def avg_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The mean of each window over 3 spatial dimensions."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """`input` (batch, channels, ...) with mean 0 and variance 1 in each channel; times `weight`, plus `bias`."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[k] @ input2`, for each k, over the last dimensions; plus the bias."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The cross entropy of probabilities of one of two classes; logarithms are at least -100."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', pos_weight: Tensor | None = None) -> Tensor:
    """The cross entropy of the logits of one of two classes."""
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where it is positive, `alpha * (exp(input / alpha) - 1)` elsewhere."""
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In place: `input` where it is positive, `alpha * (exp(input / alpha) - 1)` elsewhere."""
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels (dimension 1) interleaved: one of each group in turn."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = (1,), padding: int | Sequence[int] | str = (0,), dilation: int | Sequence[int] = (1,), groups: int = 1) -> Tensor:
    """The convolution of `input` with the kernels of `weight` over 1 spatial dimension."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = (1,), padding: int | Sequence[int] | str = (0,), dilation: int | Sequence[int] = (1,), groups: int = 1) -> Tensor:
    """The convolution of `input` with the kernels of `weight` over 2 spatial dimensions."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = (1,), padding: int | Sequence[int] | str = (0,), dilation: int | Sequence[int] = (1,), groups: int = 1) -> Tensor:
    """The convolution of `input` with the kernels of `weight` over 3 spatial dimensions."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """The convolution of (time, batch, channels) over time; `weight` has (kernel, channels, output channels)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = (1,), padding: int | Sequence[int] = (0,), output_padding: int | Sequence[int] = (0,), groups: int = 1, dilation: int | Sequence[int] = (1,)) -> Tensor:
    """The way back of a convolution over 1 spatial dimension: from its outputs to its inputs."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = (1,), padding: int | Sequence[int] = (0,), output_padding: int | Sequence[int] = (0,), groups: int = 1, dilation: int | Sequence[int] = (1,)) -> Tensor:
    """The way back of a convolution over 2 spatial dimensions: from its outputs to its inputs."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = (1,), padding: int | Sequence[int] = (0,), output_padding: int | Sequence[int] = (0,), groups: int = 1, dilation: int | Sequence[int] = (1,)) -> Tensor:
    """The way back of a convolution over 3 spatial dimensions: from its outputs to its inputs."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """`1 - cosine` of two vectors where the target is 1, `cosine - margin`, if positive, where it is -1. The target is only compared, so it has no gradient."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """The inner product along `dim` of two vectors, each divided by its length, which counts as at least `eps`."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean', label_smoothing: float = 0.0) -> Tensor:
    """Minus the log of the probability, by softmax of the scores, of the class that the target names."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = 'mean', zero_infinity: bool = False) -> Tensor:
    """Minus the log-probability that the frames spell the targets, once repetitions are merged and blanks dropped."""
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`input` with each number set to 0 with probability `p`, the others divided by `1 - p`."""
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (batch, channels, length) or (channels, length)."""
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels (dimension 1). Counterpart of `torch.nn.functional.dropout2d`."""
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels (dimension 1). Counterpart of `torch.nn.functional.dropout3d`."""
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where it is positive, `alpha * (exp(input) - 1)` elsewhere."""
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In place: `input` where it is positive, `alpha * (exp(input) - 1)` elsewhere."""
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of `weight` with the numbers in `input`; the result has one dimension more than `input`."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None) -> Tensor:
    """The sum, mean or maximum of the rows of `weight` in each bag of numbers."""
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels. Counterpart of `torch.nn.functional.feature_alpha_dropout`."""
def fold(input: Tensor, output_size: int | Sequence[int], kernel_size: int | Sequence[int], dilation: int | Sequence[int] = (1,), padding: int | Sequence[int] = (0,), stride: int | Sequence[int] = (1,)) -> Tensor:
    """Columns of windows summed into an image: the transpose of `unfold`."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """The largest entries of windows of `kernel_size` whose places are drawn, `output_size` of them."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, _random_samples: Tensor | None = None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """`fractional_max_pool2d` and the places of the entries, flat over the spatial dimensions."""
@overload
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, _random_samples: Tensor | None = None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """The largest entries of windows of `kernel_size` whose places are drawn, `output_size` of them."""
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, _random_samples: Tensor | None = None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, return_indices: Literal[False] = False, _random_samples: Tensor | None = None) -> Tensor:
    """`fractional_max_pool3d` and the places of the entries, flat over the spatial dimensions."""
@overload
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: int | Sequence[int], output_size: int | Sequence[int] | None = None, output_ratio: float | Sequence[float] | None = None, _random_samples: Tensor | None = None, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | complex, full: bool = False, eps: float = 1e-06, reduction: str = 'mean') -> Tensor:
    """The negative log-likelihood of `target` under normal distributions with mean `input` and variance `var`."""
def gelu(input: Tensor, *, approximate: str = 'none', out: Tensor | None = None) -> Tensor:
    """`input` times the probability that a standard normal number is below it, or a formula with `tanh` close to it."""
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of `dim` times the sigmoid of the second half."""
def grid_sample(input: Tensor, grid: Tensor, mode: str = 'bilinear', padding_mode: str = 'zeros', align_corners: bool | None = None) -> Tensor:
    """`input` sampled at the points of `grid`, whose last dimension has x, y (and z) from -1 to 1."""
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """`input` standardized over groups of its channels and all that comes after; times `weight`, plus `bias`."""
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A differentiable, soft sample of one-hot vectors; with `hard` it is one-hot, with the gradient of the soft one."""
def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`input`, or 0 where its magnitude is at most `lambd`."""
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """`input / 6 + 1 / 2` clamped to between 0 and 1."""
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`input` times its `hardsigmoid`."""
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` clamped to the bounds, where its derivative is 0."""
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In place: `input` clamped to the bounds, where its derivative is 0."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """`input` where the target is 1, and `max(0, margin - input)` where it is -1. The target is only compared, so it has no gradient."""
def huber_loss(input: Tensor, target: Tensor, reduction: str = 'mean', delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """Half the squared difference; above `delta` the tangent line there."""
def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """`batch_norm` of each example separately. Running statistics move towards the mean of those of the examples."""
def interpolate(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = 'nearest', align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False) -> Tensor:
    """`input` with its spatial dimensions in another `size`, or `scale_factor` times as long."""
def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities from a target; "batchmean" divides by the batch alone."""
def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The absolute difference; its derivative is 0 where the difference is."""
def layer_norm(input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05) -> Tensor:
    """`input` standardized over its last dimensions, those of `normalized_shape`; times `weight`, plus `bias`."""
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`input` where it is positive, `negative_slope * input` elsewhere, at 0 too."""
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In place: `input` where it is positive, `negative_slope * input` elsewhere, at 0 too."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`, over the last dimension of `input`."""
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None, reduction: str = 'mean', ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None) -> Tensor:
    """`cross_entropy` of the scores `input @ linear_weight.T + linear_bias`."""
def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """`input` over a power of the mean square of `size` neighbouring channels."""
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """The logarithm of softmax over `dim`."""
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sigmoid, precise also where that is nearly 0."""
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """The `norm_type`-norm of each window over 1 spatial dimension."""
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """The `norm_type`-norm of each window over 2 spatial dimensions."""
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, ceil_mode: bool = False) -> Tensor:
    """The `norm_type`-norm of each window over 3 spatial dimensions."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """`max(0, -target * (input1 - input2) + margin)`, for targets 1 and -1."""
@overload
def max_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each window over 1 spatial dimension, and where it is."""
@overload
def max_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each window over 1 spatial dimension, and where it is."""
@overload
def max_pool1d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each window over 2 spatial dimensions, and where it is."""
@overload
def max_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each window over 2 spatial dimensions, and where it is."""
@overload
def max_pool2d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each window over 3 spatial dimensions, and where it is."""
@overload
def max_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), ceil_mode: bool = False, return_indices: Literal[False] = False) -> Tensor:
    """The largest entry of each window over 3 spatial dimensions, and where it is."""
@overload
def max_pool3d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = (0,), dilation: int | Sequence[int] = (1,), ceil_mode: bool = False, *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: Sequence[int] | None = None) -> Tensor:
    """Zeros with `input` where `max_pool1d(..., return_indices=True)` found it."""
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: Sequence[int] | None = None) -> Tensor:
    """Zeros with `input` where `max_pool2d(..., return_indices=True)` found it."""
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0, output_size: Sequence[int] | None = None) -> Tensor:
    """Zeros with `input` where `max_pool3d(..., return_indices=True)` found it."""
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * tanh(softplus(input))`."""
def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', weight: Tensor | None = None) -> Tensor:
    """The squared difference."""
def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention, as in `nn.MultiheadAttention`; and its weights if `need_weights`."""
def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The sum over other classes of `max(0, margin - target's score + score) ** p`, divided by the number of classes."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The sum of `max(0, 1 - target's score + score)` over targets and other classes, divided by the number of classes."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The binary cross entropy of each class, averaged over the classes."""
def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels (dimension 1) interleaved: one of each group in turn."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """Minus the log-probability of the class that the target names, times that class's weight."""
def normalize(input: Tensor, p: float = 2.0, dim: int | Sequence[int] | None = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """`input` divided by its p-norm along `dim`, which counts as at least `eps`."""
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Vectors of zeros with a one at the positions in `input`; by default as long as the largest position needs."""
def pad(input: Tensor, pad: int | Sequence[int], mode: str = 'constant', value: float | None = None) -> Tensor:
    """`input` padded by pairs of amounts, for the last dimension first; negative amounts crop."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
    """The p-norm of `x1 - x2 + eps` over the last dimension."""
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances between all pairs of rows, in the order of `torch.combinations`."""
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C·r², H, W) as (..., C, H·r, W·r): channels become pixels."""
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H·r, W·r) as (..., C·r², H, W): pixels become channels."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-08, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """The negative log-likelihood of counts under Poisson distributions, of which `input` has the rate or its log."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input` where it is positive, `weight * input` elsewhere: one weight, or one per channel (dimension 1)."""
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The positive part; its derivative is 0 at 0, and 1 at NaN."""
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`input` clamped to between 0 and 6, where its derivative is 0."""
def relu_(input: Tensor) -> Tensor:
    """In place: The positive part; its derivative is 0 at 0, and 1 at NaN."""
def rms_norm(input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """`input` over the root of its mean square over the dimensions of `normalized_shape`; times `weight`."""
def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor:
    """`leaky_relu` with a slope that is drawn for each number, or when not training the mean of the bounds."""
def rrelu_(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, generator: Generator | None = None) -> Tensor:
    """`rrelu`, written into `input`. Counterpart of `torch.nn.functional.rrelu_`."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    """`softmax(query @ key.T * scale + attn_mask) @ value`."""
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the two constants that keep mean 0 and variance 1 through the layers."""
def selu_(input: Tensor) -> Tensor:
    """In place: `elu` with the two constants that keep mean 0 and variance 1 through the layers."""
def sigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """`1 / (1 + exp(-input))`."""
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * sigmoid(input)`."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean', beta: float = 1.0) -> Tensor:
    """The absolute difference less `beta / 2`; below `beta` the square divided by `2 * beta`."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """`log(1 + exp(-target * input))`, for targets 1 and -1; RuntimeError for one that requires a gradient."""
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """`exp(input)`, scaled to a sum of 1 over `dim`."""
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """`softmax(-input)` over `dim`."""
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Tensor | None = None) -> Tensor:
    """`log(1 + exp(beta * input)) / beta`, and `input` itself where `beta * input` is above the threshold."""
def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """`input` moved towards 0 by `lambd`, at most to 0."""
def softsign(input: Tensor) -> Tensor:
    """`input / (1 + abs(input))`."""
def tanh(input: Tensor, inplace: bool = False) -> Tensor:
    """The hyperbolic tangent."""
def tanhshrink(input: Tensor) -> Tensor:
    """`input - tanh(input)`."""
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`input`, or `value` where it is not above the threshold."""
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In place: `input`, or `value` where it is not above the threshold."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-06, swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = 'mean') -> Tensor:
    """`max(0, distance to positive - distance to negative + margin)`, both measured from the anchor."""
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0, swap: bool = False, reduction: str = 'mean') -> Tensor:
    """`max(0, distance to positive - distance to negative + margin)`, both measured from the anchor."""
def unfold(input: Tensor, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = (1,), padding: int | Sequence[int] = (0,), stride: int | Sequence[int] = (1,)) -> Tensor:
    """The windows of an image as columns: (N, C, H, W) to (N, C·k·k, number of windows)."""
def upsample(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None, mode: str = 'nearest', align_corners: bool | None = None) -> Tensor:
    """torch's older name for `interpolate`."""
def upsample_bilinear(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None) -> Tensor:
    """torch's older name for `interpolate` in the mode "bilinear" with `align_corners`."""
def upsample_nearest(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None) -> Tensor:
    """torch's older name for `interpolate` in the mode "nearest"."""

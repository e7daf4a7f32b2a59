# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from jaxvjp.nn.modules import adaptive
from jaxvjp.nn.modules import batchnorm
from jaxvjp.nn.modules import conv
from jaxvjp.nn.modules import lazy
from jaxvjp.nn.modules import linear
from jaxvjp.nn.modules import normalization
from jaxvjp.nn.modules import rnn
from jaxvjp.nn.modules import sparse
from jaxvjp.nn.modules import transformer
from jaxvjp.nn.modules.activation import CELU as CELU
from jaxvjp.nn.modules.activation import ELU as ELU
from jaxvjp.nn.modules.activation import GELU as GELU
from jaxvjp.nn.modules.activation import GLU as GLU
from jaxvjp.nn.modules.activation import Hardshrink as Hardshrink
from jaxvjp.nn.modules.activation import Hardsigmoid as Hardsigmoid
from jaxvjp.nn.modules.activation import Hardswish as Hardswish
from jaxvjp.nn.modules.activation import Hardtanh as Hardtanh
from jaxvjp.nn.modules.activation import LeakyReLU as LeakyReLU
from jaxvjp.nn.modules.activation import LogSigmoid as LogSigmoid
from jaxvjp.nn.modules.activation import LogSoftmax as LogSoftmax
from jaxvjp.nn.modules.activation import Mish as Mish
from jaxvjp.nn.modules.activation import RReLU as RReLU
from jaxvjp.nn.modules.activation import ReLU as ReLU
from jaxvjp.nn.modules.activation import ReLU6 as ReLU6
from jaxvjp.nn.modules.activation import SELU as SELU
from jaxvjp.nn.modules.activation import SiLU as SiLU
from jaxvjp.nn.modules.activation import Sigmoid as Sigmoid
from jaxvjp.nn.modules.activation import Softmax as Softmax
from jaxvjp.nn.modules.activation import Softmax2d as Softmax2d
from jaxvjp.nn.modules.activation import Softmin as Softmin
from jaxvjp.nn.modules.activation import Softplus as Softplus
from jaxvjp.nn.modules.activation import Softshrink as Softshrink
from jaxvjp.nn.modules.activation import Softsign as Softsign
from jaxvjp.nn.modules.activation import Tanh as Tanh
from jaxvjp.nn.modules.activation import Tanhshrink as Tanhshrink
from jaxvjp.nn.modules.activation import Threshold as Threshold
from jaxvjp.nn.modules.container import ModuleDict as ModuleDict
from jaxvjp.nn.modules.container import ModuleList as ModuleList
from jaxvjp.nn.modules.container import ParameterDict as ParameterDict
from jaxvjp.nn.modules.container import ParameterList as ParameterList
from jaxvjp.nn.modules.container import Sequential as Sequential
from jaxvjp.nn.modules.distance import CosineSimilarity as CosineSimilarity
from jaxvjp.nn.modules.distance import PairwiseDistance as PairwiseDistance
from jaxvjp.nn.modules.dropout import AlphaDropout as AlphaDropout
from jaxvjp.nn.modules.dropout import Dropout as Dropout
from jaxvjp.nn.modules.dropout import Dropout1d as Dropout1d
from jaxvjp.nn.modules.dropout import Dropout2d as Dropout2d
from jaxvjp.nn.modules.dropout import Dropout3d as Dropout3d
from jaxvjp.nn.modules.dropout import FeatureAlphaDropout as FeatureAlphaDropout
from jaxvjp.nn.modules.linear import Identity as Identity
from jaxvjp.nn.modules.loss import BCELoss as BCELoss
from jaxvjp.nn.modules.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from jaxvjp.nn.modules.loss import CTCLoss as CTCLoss
from jaxvjp.nn.modules.loss import CosineEmbeddingLoss as CosineEmbeddingLoss
from jaxvjp.nn.modules.loss import CrossEntropyLoss as CrossEntropyLoss
from jaxvjp.nn.modules.loss import GaussianNLLLoss as GaussianNLLLoss
from jaxvjp.nn.modules.loss import HingeEmbeddingLoss as HingeEmbeddingLoss
from jaxvjp.nn.modules.loss import HuberLoss as HuberLoss
from jaxvjp.nn.modules.loss import KLDivLoss as KLDivLoss
from jaxvjp.nn.modules.loss import L1Loss as L1Loss
from jaxvjp.nn.modules.loss import MSELoss as MSELoss
from jaxvjp.nn.modules.loss import MarginRankingLoss as MarginRankingLoss
from jaxvjp.nn.modules.loss import MultiLabelMarginLoss as MultiLabelMarginLoss
from jaxvjp.nn.modules.loss import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from jaxvjp.nn.modules.loss import MultiMarginLoss as MultiMarginLoss
from jaxvjp.nn.modules.loss import NLLLoss as NLLLoss
from jaxvjp.nn.modules.loss import NLLLoss2d as NLLLoss2d
from jaxvjp.nn.modules.loss import PoissonNLLLoss as PoissonNLLLoss
from jaxvjp.nn.modules.loss import SmoothL1Loss as SmoothL1Loss
from jaxvjp.nn.modules.loss import SoftMarginLoss as SoftMarginLoss
from jaxvjp.nn.modules.loss import TripletMarginLoss as TripletMarginLoss
from jaxvjp.nn.modules.loss import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from jaxvjp.nn.modules.module import Module as Module
from jaxvjp.nn.modules.padding import CircularPad1d as CircularPad1d
from jaxvjp.nn.modules.padding import CircularPad2d as CircularPad2d
from jaxvjp.nn.modules.padding import CircularPad3d as CircularPad3d
from jaxvjp.nn.modules.padding import ConstantPad1d as ConstantPad1d
from jaxvjp.nn.modules.padding import ConstantPad2d as ConstantPad2d
from jaxvjp.nn.modules.padding import ConstantPad3d as ConstantPad3d
from jaxvjp.nn.modules.padding import ReflectionPad1d as ReflectionPad1d
from jaxvjp.nn.modules.padding import ReflectionPad2d as ReflectionPad2d
from jaxvjp.nn.modules.padding import ReflectionPad3d as ReflectionPad3d
from jaxvjp.nn.modules.padding import ReplicationPad1d as ReplicationPad1d
from jaxvjp.nn.modules.padding import ReplicationPad2d as ReplicationPad2d
from jaxvjp.nn.modules.padding import ReplicationPad3d as ReplicationPad3d
from jaxvjp.nn.modules.padding import ZeroPad1d as ZeroPad1d
from jaxvjp.nn.modules.padding import ZeroPad2d as ZeroPad2d
from jaxvjp.nn.modules.padding import ZeroPad3d as ZeroPad3d
from jaxvjp.nn.modules.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from jaxvjp.nn.modules.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from jaxvjp.nn.modules.pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from jaxvjp.nn.modules.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from jaxvjp.nn.modules.pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from jaxvjp.nn.modules.pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from jaxvjp.nn.modules.pooling import AvgPool1d as AvgPool1d
from jaxvjp.nn.modules.pooling import AvgPool2d as AvgPool2d
from jaxvjp.nn.modules.pooling import AvgPool3d as AvgPool3d
from jaxvjp.nn.modules.pooling import FractionalMaxPool2d as FractionalMaxPool2d
from jaxvjp.nn.modules.pooling import FractionalMaxPool3d as FractionalMaxPool3d
from jaxvjp.nn.modules.pooling import LPPool1d as LPPool1d
from jaxvjp.nn.modules.pooling import LPPool2d as LPPool2d
from jaxvjp.nn.modules.pooling import LPPool3d as LPPool3d
from jaxvjp.nn.modules.pooling import MaxPool1d as MaxPool1d
from jaxvjp.nn.modules.pooling import MaxPool2d as MaxPool2d
from jaxvjp.nn.modules.pooling import MaxPool3d as MaxPool3d
from jaxvjp.nn.modules.pooling import MaxUnpool1d as MaxUnpool1d
from jaxvjp.nn.modules.pooling import MaxUnpool2d as MaxUnpool2d
from jaxvjp.nn.modules.pooling import MaxUnpool3d as MaxUnpool3d
from jaxvjp.nn.modules.transformer import Transformer as Transformer
from jaxvjp.nn.modules.transformer import TransformerDecoder as TransformerDecoder
from jaxvjp.nn.modules.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from jaxvjp.nn.modules.transformer import TransformerEncoder as TransformerEncoder
from jaxvjp.nn.modules.transformer import TransformerEncoderLayer as TransformerEncoderLayer
from jaxvjp.nn.modules.vision import ChannelShuffle as ChannelShuffle
from jaxvjp.nn.modules.vision import Flatten as Flatten
from jaxvjp.nn.modules.vision import Fold as Fold
from jaxvjp.nn.modules.vision import LocalResponseNorm as LocalResponseNorm
from jaxvjp.nn.modules.vision import PixelShuffle as PixelShuffle
from jaxvjp.nn.modules.vision import PixelUnshuffle as PixelUnshuffle
from jaxvjp.nn.modules.vision import Unflatten as Unflatten
from jaxvjp.nn.modules.vision import Unfold as Unfold
from jaxvjp.nn.modules.vision import Upsample as Upsample
from jaxvjp.nn.modules.vision import UpsamplingBilinear2d as UpsamplingBilinear2d
from jaxvjp.nn.modules.vision import UpsamplingNearest2d as UpsamplingNearest2d
from jaxvjp.tensor.tensor import Tensor

class AdaptiveLogSoftmaxWithLoss(adaptive.AdaptiveLogSoftmaxWithLoss):
    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False, device: Any = None, dtype: Any = None) -> None: ...
class BatchNorm1d(batchnorm.BatchNorm1d):
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class BatchNorm2d(batchnorm.BatchNorm2d):
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class BatchNorm3d(batchnorm.BatchNorm3d):
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class Bilinear(linear.Bilinear):
    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None: ...
class Conv1d(conv.Conv1d):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1, padding: str | int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: Any = None, dtype: Any = None) -> None: ...
class Conv2d(conv.Conv2d):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1, padding: str | int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: Any = None, dtype: Any = None) -> None: ...
class Conv3d(conv.Conv3d):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1, padding: str | int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1, bias: bool = True, padding_mode: str = 'zeros', device: Any = None, dtype: Any = None) -> None: ...
class ConvTranspose1d(conv.ConvTranspose1d):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1, padding: int | tuple[int, ...] = 0, output_padding: int | tuple[int, ...] = 0, groups: int = 1, bias: bool = True, dilation: int | tuple[int, ...] = 1, padding_mode: str = 'zeros', device: Any = None, dtype: Any = None) -> None: ...
class ConvTranspose2d(conv.ConvTranspose2d):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1, padding: int | tuple[int, ...] = 0, output_padding: int | tuple[int, ...] = 0, groups: int = 1, bias: bool = True, dilation: int | tuple[int, ...] = 1, padding_mode: str = 'zeros', device: Any = None, dtype: Any = None) -> None: ...
class ConvTranspose3d(conv.ConvTranspose3d):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, ...], stride: int | tuple[int, ...] = 1, padding: int | tuple[int, ...] = 0, output_padding: int | tuple[int, ...] = 0, groups: int = 1, bias: bool = True, dilation: int | tuple[int, ...] = 1, padding_mode: str = 'zeros', device: Any = None, dtype: Any = None) -> None: ...
class Embedding(sparse.Embedding):
    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False, device: Any = None, dtype: Any = None) -> None: ...
class EmbeddingBag(sparse.EmbeddingBag):
    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = 'mean', sparse: bool = False, _weight: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None, dtype: Any = None) -> None: ...
class GRU(rnn.GRU):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
class GRUCell(rnn.GRUCell):
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None: ...
class GroupNorm(normalization.GroupNorm):
    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class InstanceNorm1d(batchnorm.InstanceNorm1d):
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class InstanceNorm2d(batchnorm.InstanceNorm2d):
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class InstanceNorm3d(batchnorm.InstanceNorm3d):
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class LSTM(rnn.LSTM):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
class LSTMCell(rnn.LSTMCell):
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None: ...
class LayerNorm(normalization.LayerNorm):
    def __init__(self, normalized_shape: Any, eps: float = 1e-05, elementwise_affine: bool = True, bias: bool = True, device: Any = None, dtype: Any = None) -> None: ...
class LazyBatchNorm1d(lazy.LazyBatchNorm1d):
    def __init__(self, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class LazyBatchNorm2d(lazy.LazyBatchNorm2d):
    def __init__(self, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class LazyBatchNorm3d(lazy.LazyBatchNorm3d):
    def __init__(self, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class LazyConv1d(lazy.LazyConv1d):
    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None: ...
class LazyConv2d(lazy.LazyConv2d):
    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None: ...
class LazyConv3d(lazy.LazyConv3d):
    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None: ...
class LazyConvTranspose1d(lazy.LazyConvTranspose1d):
    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None: ...
class LazyConvTranspose2d(lazy.LazyConvTranspose2d):
    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None: ...
class LazyConvTranspose3d(lazy.LazyConvTranspose3d):
    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None: ...
class LazyInstanceNorm1d(lazy.LazyInstanceNorm1d):
    def __init__(self, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class LazyInstanceNorm2d(lazy.LazyInstanceNorm2d):
    def __init__(self, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class LazyInstanceNorm3d(lazy.LazyInstanceNorm3d):
    def __init__(self, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...
class LazyLinear(lazy.LazyLinear):
    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None: ...
class Linear(linear.Linear):
    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None: ...
class LinearCrossEntropyLoss(linear.LinearCrossEntropyLoss):
    def __init__(self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False, device: Any = None, dtype: Any = None, reduction: str = 'mean', weight: Tensor | None = None, ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None) -> None: ...
class MultiheadAttention(transformer.MultiheadAttention):
    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None) -> None: ...
class PReLU(linear.PReLU):
    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None: ...
class RMSNorm(normalization.RMSNorm):
    def __init__(self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None, dtype: Any = None) -> None: ...
class RNN(rnn.RNN):
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
class RNNBase(rnn.RNNBase):
    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None) -> None: ...
class RNNCell(rnn.RNNCell):
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = 'tanh', device: Any = None, dtype: Any = None) -> None: ...
class RNNCellBase(rnn.RNNCellBase):
    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None) -> None: ...
class SyncBatchNorm(batchnorm.SyncBatchNorm):
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None: ...

"""The modules of torch's `nn`. `LAYERS` says in which file each is; a file is imported when first used."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from jaxvjp.tensor.docstrings import complete

LAYERS = {
    "activation": "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish "
    "RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink "
    "Threshold",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d SyncBatchNorm",
    "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "lazy": "",
    "lazy_layers": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d "
    "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d "
    "LazyInstanceNorm3d LazyLinear",
    "linear": "Bilinear Identity Linear LinearCrossEntropyLoss PReLU",
    "loss": "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss "
    "HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss MultiLabelMarginLoss "
    "MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss "
    "TripletMarginLoss TripletMarginWithDistanceLoss",
    "module": "Module",
    "normalization": "GroupNorm LayerNorm RMSNorm",
    "padding": "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d "
    "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d "
    "ZeroPad3d",
    "pooling": "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
    "AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d "
    "LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d",
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "sparse": "Embedding EmbeddingBag",
    "transformer": "MultiheadAttention Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
    "TransformerEncoderLayer",
    "vision": "ChannelShuffle Flatten Fold LocalResponseNorm PixelShuffle PixelUnshuffle Unflatten Unfold Upsample "
    "UpsamplingBilinear2d UpsamplingNearest2d",
}
"""By file in this folder (torch's names of files), the names in it that `nn` and `nn.modules` have."""

SAME = {
    **dict.fromkeys(["channelshuffle", "flatten", "fold", "pixelshuffle", "upsampling"], "vision"),
    "instancenorm": "batchnorm",
}
"""Files of torch's that are none here, and the file that has their names."""

LATER = {name: f"jaxvjp.nn.modules.{file}" for file, names in LAYERS.items() for name in names.split()}
__all__ = sorted(LATER)


def __getattr__(name: str) -> Any:
    if name in LAYERS or name in SAME:
        return import_module(f"jaxvjp.nn.modules.{name}")
    if name not in LATER:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(LATER[name]), name)
    complete(found, "nn", name)
    return found


def __dir__() -> list[str]:
    return __all__


class File(ModuleType):
    """Stands for one of torch's files of `SAME`, so that `from jaxvjp.nn.modules.pixelshuffle import PixelShuffle`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python asks, and needs no import for the answer
            raise AttributeError(name)
        return getattr(import_module(f"{__name__}.{SAME[self.__name__.rpartition('.')[2]]}"), name)


sys.modules.update({f"{__name__}.{each}": File(f"{__name__}.{each}") for each in SAME})

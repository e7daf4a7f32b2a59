"""The modules of torch's `nn`, each in a file that is imported when first used.

A layer is a row of `rows.ROWS`, or a class in the file that `CLASSES` names.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from jaxvjp.tensor.docstrings import complete

CLASSES = {
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d SyncBatchNorm",
    "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "lazy": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d "
    "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d "
    "LazyInstanceNorm3d LazyLinear",
    "linear": "Bilinear Identity Linear LinearCrossEntropyLoss PReLU",
    "module": "Module",
    "normalization": "GroupNorm LayerNorm RMSNorm",
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "sparse": "Embedding EmbeddingBag",
    "transformer": "MultiheadAttention Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
    "TransformerEncoderLayer",
}
"""By file in this folder (torch's names of files), the classes in it that `nn` and `nn.modules` have."""

OF_ROWS = ("activation", "distance", "dropout", "loss", "padding", "pooling", "vision")
"""Files that are none here: their layers are rows."""
SAME = {
    **dict.fromkeys(["channelshuffle", "flatten", "fold", "pixelshuffle", "upsampling"], "vision"),
    "instancenorm": "batchnorm",
}
"""Other files of torch's that are none here, and the file that has their names."""


@cache
def layers() -> dict[str, list[str]]:
    """By file, the names in it that `nn` and `nn.modules` have."""
    from jaxvjp.nn.modules.rows import ROWS, expanded  # at the first name that is asked for, as all files are

    rows = {file: [name for name, _ in expanded(table)] for file, table in ROWS.items()}
    return dict(sorted({**rows, **{file: names.split() for file, names in CLASSES.items()}}.items()))


@cache
def later() -> dict[str, str]:
    """By name, the module that has it, which is imported at first use."""
    return {name: f"{__name__}.{file}" for file, names in layers().items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in layers() or name in SAME:
        return import_module(f"{__name__}.{name}")
    if name not in later():
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(later()[name]), name)
    complete(found, "nn", name)
    return found


def __dir__() -> list[str]:
    return sorted(later())


class File(ModuleType):
    """Stands for one of torch's files, so that `from jaxvjp.nn.modules.pixelshuffle import PixelShuffle`; one of rows
    has its classes from the first name on that is asked for."""

    __file__ = f"{__path__[0]}/rows.py"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # Python asks, and needs no import for the answer
            raise AttributeError(name)
        own = self.__name__.rpartition(".")[2]
        if own in SAME:
            return getattr(import_module(f"{__name__}.{SAME[own]}"), name)
        if "Layer" not in vars(self):
            import_module(f"{__name__}.layer").define(own, vars(self))
        if name == "__all__":
            return layers()[own]
        if name not in vars(self):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        return vars(self)[name]


sys.modules.update({f"{__name__}.{each}": File(f"{__name__}.{each}") for each in (*OF_ROWS, *SAME)})

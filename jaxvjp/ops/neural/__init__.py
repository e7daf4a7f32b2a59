"""The functions of layers, and losses: `torch.nn.functional`."""

from jaxvjp.ops.neural import (
    activation,
    attention,
    classification,
    convolution,
    embedding,
    loss,
    normalization,
    padding,
    pooling,
    recurrence,
    resampling,
)

__all__ = [
    "activation",
    "attention",
    "classification",
    "convolution",
    "embedding",
    "loss",
    "normalization",
    "padding",
    "pooling",
    "recurrence",
    "resampling",
]

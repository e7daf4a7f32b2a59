"""What the layers of a network compute, and the losses that train it: `torch.nn.functional`."""

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
    "resampling",
]

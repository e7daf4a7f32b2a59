"""The functions of layers, and losses: `torch.nn.functional`."""

from jaxvjp.ops.neural import (  # noqa: F401
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

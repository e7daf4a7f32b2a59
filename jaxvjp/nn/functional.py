"""torch's `nn.functional`. Most functions are one row of `ops.neural` each.

The modules imported here publish those that are more than one row.
"""

from jaxvjp.nn import (  # noqa: F401
    attention,
    batch_norm,
    class_losses,
    dropout,
    embedding,
    losses,
    recurrence,
    torch_kernels,
)
from jaxvjp.tensor.bindings import published

__getattr__, __dir__ = published("nn.functional", globals())

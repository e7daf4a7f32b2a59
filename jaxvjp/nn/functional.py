"""torch's `nn.functional`. Most functions are one row of `ops.neural` each.

The modules imported here publish those that are more than one row.
"""

from importlib import import_module
from typing import Any

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

_published, __dir__ = published("nn.functional", globals())


def __getattr__(name: str) -> Any:
    return import_module("jaxvjp.nn.grad") if name == "grad" else _published(name)

"""torch's `optim`: optimizers, schedules of learning rates, averages of weights.

Each optimizer is torch's formula over tensors; `docs/optim.md` says which transform of optax corresponds to it.
"""

from __future__ import annotations

from jaxvjp.optim import lr_scheduler
from jaxvjp.optim.algorithms import (
    ASGD,
    SGD,
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Muon,
    NAdam,
    RAdam,
    RMSprop,
    Rprop,
    SparseAdam,
)
from jaxvjp.optim.lbfgs import LBFGS
from jaxvjp.optim.optimizer import Optimizer
from jaxvjp.types import public

__all__ = public.public_names(globals(), "lr_scheduler", "swa_utils")
__dir__ = __all__.copy


__getattr__ = public.modules_later(__name__, "swa_utils")  # it brings `nn.modules`

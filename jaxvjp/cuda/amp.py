"""torch's older names of `jaxvjp.amp` for GPUs: `torch.cuda.amp.autocast()`, `torch.cuda.amp.GradScaler()`."""

from __future__ import annotations

from functools import partial

from jaxvjp import amp
from jaxvjp.amp.older_names import older
from jaxvjp.types.dtypes import float16

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
custom_fwd = partial(amp.custom_fwd, device_type="cuda")
custom_bwd = partial(amp.custom_bwd, device_type="cuda")
autocast, GradScaler = older("cuda", float16)

"""torch's older names of `jaxvjp.amp` for the CPU: `torch.cpu.amp.autocast()`, `torch.cpu.amp.GradScaler()`."""

from __future__ import annotations

from jaxvjp.amp.older_names import older
from jaxvjp.types.dtypes import bfloat16

__all__ = ["GradScaler", "autocast"]
autocast, GradScaler = older("cpu", bfloat16)

"""torch's older names of `jaxvjp.amp` for GPUs: `torch.cuda.amp.autocast()`, `torch.cuda.amp.GradScaler()`."""

from __future__ import annotations

import warnings
from functools import partial

from jaxvjp import amp
from jaxvjp.types.dtypes import dtype as dtype_
from jaxvjp.types.dtypes import float16

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
custom_fwd = partial(amp.custom_fwd, device_type="cuda")
custom_bwd = partial(amp.custom_bwd, device_type="cuda")


def _warn(name: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(amp.autocast):  # noqa: N801 - torch's name
    """`jaxvjp.amp.autocast("cuda", ...)`."""

    def __init__(self, enabled: bool = True, dtype: dtype_ = float16, cache_enabled: bool = True) -> None:
        _warn("autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`jaxvjp.amp.GradScaler("cuda", ...)`."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _warn("GradScaler")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)

"""torch's older names of `autocast` and `GradScaler`, one pair for each type of device: `torch.cuda.amp.autocast()`."""

from __future__ import annotations

from functools import cache, partial
from types import SimpleNamespace

from jaxvjp.amp import autocast_mode, grad_scaler
from jaxvjp.tensor.autocasting import DEFAULTS
from jaxvjp.types.dtypes import dtype as dtype_
from jaxvjp.types.user_code import warn_user

custom_fwd = partial(autocast_mode.custom_fwd, device_type="cuda")
custom_bwd = partial(autocast_mode.custom_bwd, device_type="cuda")


@cache
def older(device_type: str) -> SimpleNamespace:
    """Both for one type of device."""
    usual = DEFAULTS[device_type]

    def warn(name: str) -> None:
        warn_user(
            f"`torch.{device_type}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{device_type}', "
            "args...)` instead.",
            FutureWarning,
        )

    class autocast(autocast_mode.autocast):  # noqa: N801 - torch's name
        def __init__(self, enabled: bool = True, dtype: dtype_ = usual, cache_enabled: bool = True) -> None:
            warn("autocast")
            super().__init__(device_type, dtype, enabled, cache_enabled)

    class GradScaler(grad_scaler.GradScaler):
        def __init__(
            self,
            init_scale: float = 2.0**16,
            growth_factor: float = 2.0,
            backoff_factor: float = 0.5,
            growth_interval: int = 2000,
            enabled: bool = True,
        ) -> None:
            warn("GradScaler")
            super().__init__(device_type, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    for each in (autocast, GradScaler):
        each.__module__, each.__qualname__ = f"jaxvjp.{device_type}.amp", each.__name__
        each.__doc__ = f'`jaxvjp.amp.{each.__name__}("{device_type}", ...)`.'
    return SimpleNamespace(autocast=autocast, GradScaler=GradScaler)

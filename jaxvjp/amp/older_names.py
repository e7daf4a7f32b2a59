"""torch's older names of `autocast` and `GradScaler`, one pair for each type of device: `torch.cuda.amp.autocast()`."""

from __future__ import annotations

from jaxvjp.amp import autocast_mode, grad_scaler
from jaxvjp.types.dtypes import dtype as dtype_
from jaxvjp.types.user_code import warn_user


def older(device_type: str, usual: dtype_) -> tuple[type[autocast_mode.autocast], type[grad_scaler.GradScaler]]:
    """Both for one type of device, and the dtype that its autocast has by default."""

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
    return autocast, GradScaler

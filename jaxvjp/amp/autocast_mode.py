"""`autocast`, as a block or a decorator, and what tells whether there is one."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from jaxvjp.core.record.modes import count_change, grad_mode
from jaxvjp.tensor.autocasting import DEFAULTS, begin_autocasting, cast_if_eligible
from jaxvjp.types import devices
from jaxvjp.types.devices import device
from jaxvjp.types.dtypes import bfloat16, dtype, float16
from jaxvjp.types.user_code import warn_user

BLOCKS = tuple[tuple[str, dtype], ...]


class _Cache(threading.local):
    """What this thread was told of torch's cache of cast weights; there is none here."""

    enabled = True


_cache = _Cache()


def is_autocast_cache_enabled() -> bool:
    """What `set_autocast_cache_enabled` said. Counterpart of `torch.is_autocast_cache_enabled`."""
    return _cache.enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Remembered, without effect: each call casts. Counterpart of `torch.set_autocast_cache_enabled`."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    _cache.enabled = enabled


def clear_autocast_cache() -> None:
    """Does nothing, as there is no cache. Counterpart of `torch.clear_autocast_cache`."""


class autocast:  # noqa: N801 - torch's name
    """In this block, or each call of a decorated function, matrix products and layers compute in 16 bits.

    Args:
        device_type: "cpu", "cuda", or "tpu" where JAX has one: operations of tensors there.
        dtype: bfloat16 or float16; without it bfloat16, on a GPU float16.
        enabled: False ends the casts of a block around this one.
        cache_enabled: what `is_autocast_cache_enabled` says in the block. Each call casts, so a weight that is
            written in the block counts at once; torch's cache has the old one. A compiled program has equal casts once.

    RuntimeError for a device that torch does not know. Counterpart of `torch.autocast`. Underneath: casts of operands,
    recorded like the user's own.
    """

    def __init__(
        self, device_type: str, dtype: dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device(device_type).type
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        refused = _refusal(self.device, self.fast_dtype) if enabled else None
        if refused is not None:
            warn_user(refused)
        self._enabled = bool(enabled) and refused is None
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self.__before__: list[tuple[BLOCKS, bool]] = []

    def __enter__(self) -> autocast:
        mode = grad_mode()
        self.__before__.append((mode.autocast, _cache.enabled))
        _cache.enabled = self._cache_enabled
        if self._enabled:
            begin_autocasting(self.device)
        mode.autocast = _within(mode.autocast, self.device, self.fast_dtype if self._enabled else None)
        count_change()
        return self

    def __exit__(self, *_: object) -> None:
        grad_mode().autocast, _cache.enabled = self.__before__.pop()
        count_change()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function in this mode."""

        @functools.wraps(function)
        def within(*arguments: Any, **named: Any) -> Any:
            with self:
                return function(*arguments, **named)

        return within


def _within(around: BLOCKS, kind: str, to: dtype | None) -> BLOCKS:
    others = tuple([each for each in around if each[0] != kind])
    return others if to is None else (*others, (kind, to))


def _refusal(kind: str, to: dtype) -> str | None:
    """torch's warning where there can be no such block; None where there can."""
    if kind == "cuda" and not devices.count_of("cuda"):
        return "CUDA is not available or torch_xla is imported. Disabling autocast."
    if to not in (bfloat16, float16):
        return (
            f"In {kind.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"{kind.upper()} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
        )
    return None


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` knows the device. Counterpart of `torch.amp.is_autocast_available`."""
    return device(device_type).type in DEFAULTS


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether this thread is in a block for the device. Counterpart of `torch.is_autocast_enabled`."""
    return any(kind == device(device_type).type for kind, _ in grad_mode().autocast)


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled("cpu")`, as torch called it before."""
    return is_autocast_enabled("cpu")


def get_autocast_dtype(device_type: str) -> dtype:
    """The type that operands are cast to, or would be by default. Counterpart of `torch.get_autocast_dtype`."""
    kind = device(device_type).type
    if kind not in DEFAULTS:
        raise RuntimeError(f"User specified an unsupported autocast device_type '{kind}'")
    within: dict[str, dtype] = dict(grad_mode().autocast)
    return within.get(kind, DEFAULTS[kind])


def get_autocast_cpu_dtype() -> dtype:
    """`get_autocast_dtype("cpu")`, as torch called it before."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> dtype:
    """`get_autocast_dtype("cuda")`, as torch called it before."""
    return get_autocast_dtype("cuda")


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dtype | None = None
) -> Callable[..., Any]:
    """Decorates `forward` of a custom Function: tensors are cast to `cast_inputs`, and there is no block inside.

    Without `cast_inputs` the block around the call holds inside. Counterpart of `torch.amp.custom_fwd`.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def within(context: Any, *arguments: Any, **named: Any) -> Any:
        context._autocast = grad_mode().autocast
        if cast_inputs is None or not is_autocast_enabled(device_type):
            return fwd(context, *arguments, **named)
        context._autocast = _within(context._autocast, device(device_type).type, None)
        with autocast(device_type, enabled=False):
            cast = {name: _cast(each, device_type, cast_inputs) for name, each in named.items()}
            return fwd(context, *[_cast(argument, device_type, cast_inputs) for argument in arguments], **cast)

    return within


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorates `backward` of a custom Function: it runs in the block of `forward`. As `torch.amp.custom_bwd`."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def within(context: Any, *arguments: Any, **named: Any) -> Any:
        mode = grad_mode()
        before, mode.autocast = mode.autocast, context._autocast
        count_change()
        try:
            return bwd(context, *arguments, **named)
        finally:
            grad_mode().autocast = before
            count_change()

    return within


def _cast(value: Any, kind: str, to: dtype) -> Any:
    """A tensor, or those of a list, tuple or dict, in `to`, where `autocast` would cast it."""
    if isinstance(value, dict):
        return {_cast(key, kind, to): _cast(each, kind, to) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_cast(each, kind, to) for each in value])
    return cast_if_eligible(value, kind, to)

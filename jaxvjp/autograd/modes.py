"""Whether operations are recorded for gradients."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from jaxvjp.core.derive.engine import anomaly
from jaxvjp.core.record.modes import changed, grad_mode

UNDERNEATH = "no JAX: a flag of this thread, which recording reads"

F = TypeVar("F", bound=Callable[..., Any])


class _Multithreading(threading.local):
    enabled = True


_multithreading = _Multithreading()


class _Mode:
    """Settings of this thread for a block or, as a decorator, for every call of a function; it nests."""

    def __init__(self, state: Callable[[], Any], **settings: bool) -> None:
        self._state = state
        self._settings = settings
        self._before: list[list[bool]] = []

    def __enter__(self) -> None:
        state = self._state()
        self._before.append([getattr(state, name) for name in self._settings])
        self._set(self._settings.values())

    def __exit__(self, *_: object) -> None:
        self._set(self._before.pop())

    def _set(self, values: Iterable[bool]) -> None:
        state = self._state()
        for name, value in zip(self._settings, values, strict=True):
            setattr(state, name, value)
        changed()

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def within(*arguments: Any, **named: Any) -> Any:
            with _Mode(self._state, **self._settings):
                return function(*arguments, **named)

        return within  # type: ignore[return-value]


class _ImmediateMode(_Mode):
    """A mode that begins when it is constructed; as a context manager or decorator it ends with the block or call."""

    def __init__(self, state: Callable[[], Any], **settings: bool) -> None:
        super().__init__(state, **settings)
        super().__enter__()

    def __enter__(self) -> None:
        if not self._before:
            super().__enter__()

    def __call__(self, function: F) -> F:
        self.__exit__()
        return super().__call__(function)


class no_grad(_Mode):  # noqa: N801 - torch's name
    """Operations inside record no gradient: `with no_grad(): w -= 0.1 * w.grad`. Counterpart of `torch.no_grad`."""

    def __init__(self) -> None:
        super().__init__(grad_mode, enabled=False)


class enable_grad(_Mode):  # noqa: N801 - torch's name
    """Operations inside record gradients, also within `no_grad`. Counterpart of `torch.enable_grad`."""

    def __init__(self) -> None:
        super().__init__(grad_mode, enabled=True)


class set_grad_enabled(_ImmediateMode):  # noqa: N801 - torch's name
    """Records gradients or not from here on, or within a block. Counterpart of `torch.set_grad_enabled`."""

    def __init__(self, mode: bool) -> None:
        super().__init__(grad_mode, enabled=bool(mode))


class inference_mode(_Mode):  # noqa: N801 - torch's name
    """Like `no_grad`, and what is made inside can never be saved for a gradient. As `torch.inference_mode`."""

    def __init__(self, mode: bool = True) -> None:
        super().__init__(grad_mode, enabled=not mode, inference=bool(mode))


class detect_anomaly(_Mode):  # noqa: N801 - torch's name
    """Looks for the first NaN in the backward passes of a block.

    Each backward step is then taken and computed by itself, which is slow. RuntimeError names the step and the line
    that recorded its forward. Counterpart of `torch.autograd.detect_anomaly`.
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(lambda: anomaly, enabled=True, check_nan=check_nan)


class set_detect_anomaly(_ImmediateMode):  # noqa: N801 - torch's name
    """`detect_anomaly`, or not, from here on or within a block. Counterpart of `torch.autograd.set_detect_anomaly`."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(lambda: anomaly, enabled=bool(mode), check_nan=check_nan)


class set_multithreading_enabled(_ImmediateMode):  # noqa: N801 - torch's name
    """Kept and without effect: a backward pass is one program. As `torch.autograd.set_multithreading_enabled`."""

    def __init__(self, mode: bool) -> None:
        super().__init__(lambda: _multithreading, enabled=bool(mode))


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` was last told."""
    return _multithreading.enabled


def is_grad_enabled() -> bool:
    """Whether operations of this thread record gradients now."""
    return grad_mode().enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return grad_mode().inference


def is_anomaly_enabled() -> bool:
    """Whether backward passes of this thread look for NaN."""
    return anomaly.enabled

"""Whether operations are recorded for gradients. `core.graph` comes before this room."""

from __future__ import annotations

import contextlib

from jaxvjp.core.graph import grad_mode, recording


class _Mode(contextlib.ContextDecorator):
    """A grad mode for a block or, as a decorator, for every call of a function; nests, and is per thread."""

    enabled: bool

    def __init__(self) -> None:
        self._entered: list[recording] = []

    def __enter__(self) -> None:
        self._entered.append(recording(self.enabled))
        self._entered[-1].__enter__()

    def __exit__(self, *exception: object) -> None:
        self._entered.pop().__exit__(*exception)

    def _recreate_cm(self) -> _Mode:
        return type(self)()


class no_grad(_Mode):  # noqa: N801 - torch's name
    """Operations inside record no gradient: `with no_grad(): w -= 0.1 * w.grad`. Counterpart of `torch.no_grad`."""

    enabled = False


class enable_grad(_Mode):  # noqa: N801 - torch's name
    """Operations inside record gradients, also within `no_grad`. Counterpart of `torch.enable_grad`."""

    enabled = True


def is_grad_enabled() -> bool:
    """Whether operations of this thread record gradients now."""
    return grad_mode.enabled

"""Whether operations are recorded for gradients."""

from __future__ import annotations

import copy
import functools
import inspect
import threading
from collections.abc import Callable, Generator
from types import MappingProxyType
from typing import Any, Self, TypeVar, overload

from jaxvjp.core.derive.anomaly import anomaly
from jaxvjp.core.record.blocks import Block, restored
from jaxvjp.core.record.modes import grad_mode
from jaxvjp.core.record.versions import next_serial
from jaxvjp.tensor.duals import Tangents
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "no JAX: a flag of this thread, which recording reads"

F = TypeVar("F", bound=Callable[..., Any])


class _Multithreading(threading.local):
    enabled = True


_multithreading = _Multithreading()


class _Mode(Block):
    """Settings of this thread for a block or, as a decorator, for every call of a function; it nests."""

    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, function: bool = True, *_: Any, **__: Any) -> Self: ...
    def __new__(cls, function: Any = None, *_: Any, **named: Any) -> Any:
        """The mode or, of `@no_grad` without parentheses, the function in that mode."""
        if named:
            function = named.get("mode", function)
        if function is None or type(function) is bool:
            return super().__new__(cls)
        return cls()(function) if inspect.isroutine(function) or inspect.isclass(function) else super().__new__(cls)

    def __call__(self, function: F) -> F:
        called: Any = function
        if inspect.isclass(function):
            warn_user(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
            )
        elif inspect.isgeneratorfunction(function):
            return _resumed(self.clone, function)  # type: ignore[return-value]

        @functools.wraps(function)
        @restored
        def within(*arguments: Any, **named: Any) -> Any:
            with self.clone():
                result = called(*arguments, **named)
            return result  # noqa: RET504 - inside, an interrupt after the call would find the block half left

        return within  # type: ignore[return-value]

    def clone(self) -> Self:
        """The same mode for another block, which may be in another thread."""
        other = copy.copy(self)
        other.__before__ = ()
        return other


def _resumed(
    mode: Callable[[], _Mode], function: Callable[..., Generator[Any, Any, Any]]
) -> Callable[..., Generator[Any, Any, Any]]:
    """A generator function in a mode, which holds while the generator runs and not between."""

    @functools.wraps(function)
    def within(*arguments: Any, **named: Any) -> Generator[Any, Any, Any]:
        generator = function(*arguments, **named)
        resume: Callable[[Any], Any] = generator.send
        given: Any = None
        try:
            while True:
                with mode():
                    response = resume(given)
                try:
                    resume, given = generator.send, (yield response)
                except GeneratorExit:
                    with mode():
                        generator.close()
                    raise
                except BaseException as thrown:
                    resume, given = generator.throw, thrown
        except StopIteration as end:
            return end.value

    return within


def _flag(function: str, value: Any, name: str = "enabled", position: int = 1) -> bool:
    """`value`; TypeError, in torch's words, for what is no bool."""
    if type(value) is not bool:
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be bool, not {type(value).__name__}"
        )
    return value


class _Immediate(Block):
    """A block that begins when it is constructed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        super().__enter__()

    def __enter__(self) -> None:
        if not self.__before__:
            super().__enter__()

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.{type(self).__name__}(mode={self.__settings__['enabled']})"


class _ImmediateMode(_Immediate, _Mode):
    """A mode that begins when it is constructed; as a context manager or decorator it ends with the block or call."""

    def __call__(self, function: F) -> F:
        self.__exit__()
        return super().__call__(function)


class no_grad(_Mode):  # noqa: N801 - torch's name
    """Operations inside record no gradient: `with no_grad(): w -= 0.1 * w.grad`. Counterpart of `torch.no_grad`."""

    __settings__ = MappingProxyType({"enabled": False})

    def __init__(self) -> None:
        """The settings are those of the class: each step of a training loop makes such a block."""


class enable_grad(_Mode):  # noqa: N801 - torch's name
    """Operations inside record gradients, also within `no_grad`. Counterpart of `torch.enable_grad`."""

    __settings__ = MappingProxyType({"enabled": True})

    def __init__(self) -> None:
        """As for `no_grad`."""


class set_grad_enabled(_ImmediateMode):  # noqa: N801 - torch's name
    """Records gradients or not from here on, or within a block. Counterpart of `torch.set_grad_enabled`."""

    def __init__(self, mode: bool) -> None:
        super().__init__(enabled=_flag("set_grad_enabled", mode))


class inference_mode(_Mode):  # noqa: N801 - torch's name
    """Like `no_grad`, and what is made inside can never be saved for a gradient. As `torch.inference_mode`."""

    def __init__(self, mode: bool = True) -> None:
        super().__init__(enabled=not _flag("inference_mode", mode, "mode"), inference=mode)
        self.__tangents__: tuple[Tangents, ...] = ()

    def __enter__(self) -> None:
        super().__enter__()
        self.__tangents__ = (*self.__tangents__, Tangents(self.__settings__["enabled"]))
        self.__tangents__[-1].__enter__()

    def __exit__(self, *exception: object) -> None:
        self.__tangents__[-1].__exit__()
        self.__tangents__ = self.__tangents__[:-1]
        super().__exit__(*exception)


def _anomaly(enabled: bool, check_nan: bool) -> dict[str, Any]:
    """The settings of anomaly mode, on or off."""
    on = _flag("set_anomaly_enabled", enabled)
    begins = on and not anomaly.enabled
    return {
        "enabled": on,
        "check_nan": _flag("set_anomaly_enabled", check_nan, "check_nan", 2),
        "since": next_serial() if begins else anomaly.since,
        "steps": [] if begins else anomaly.steps,
    }


class detect_anomaly(Block):  # noqa: N801 - torch's name
    """Looks for the first NaN in the backward passes of a block.

    Each backward step is then taken and computed by itself, which is slow. RuntimeError names the step and the line
    that recorded its forward; for any other error of a step a warning does. Counterpart of
    `torch.autograd.detect_anomaly`.
    """

    __state__ = staticmethod(lambda: anomaly)

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(**_anomaly(True, check_nan))
        warn_user(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
        )


class set_detect_anomaly(_Immediate):  # noqa: N801 - torch's name
    """`detect_anomaly`, or not, from here on or within a block. Counterpart of `torch.autograd.set_detect_anomaly`."""

    __state__ = staticmethod(lambda: anomaly)

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(**_anomaly(mode, check_nan))


class set_multithreading_enabled(_ImmediateMode):  # noqa: N801 - torch's name
    """Kept and without effect: a backward pass is one program. As `torch.autograd.set_multithreading_enabled`."""

    __state__ = staticmethod(lambda: _multithreading)

    def __init__(self, mode: bool) -> None:
        super().__init__(enabled=_flag("set_multithreading_enabled", mode))


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

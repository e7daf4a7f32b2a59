"""Settings of torch's that a program may switch and read back.

What JAX computes on one device is the same each time, and its threads are its own: most of these only remember what
was asked for, so that a program that sets and asks them runs as it stands.
"""

import os  # noqa: F401 - of the rows
from typing import Any

from jaxvjp.tensor.answers import publish
from jaxvjp.tensor.published import public
from jaxvjp.types.dtypes import typename
from jaxvjp.types.settings import settings

UNDERNEATH = "no JAX: remembered, and told when it is asked for"


MODES = {"default": 0, "warn": 1, "error": 2}
"""torch's names of how deterministic operations have to be."""


@public("function")
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks for operations that give the same each time, which JAX's do. As `torch.use_deterministic_algorithms`.

    Args:
        mode: whether to ask for it.
        warn_only: whether torch would warn where it has none, instead of raising.
    """
    for argument, each in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(each, bool):
            told = f"argument {argument} must be bool, not {typename(each)}"
            raise TypeError(f"_set_deterministic_algorithms(): {told}")
    settings.deterministic = (1 if warn_only else 2) if mode else 0
    settings.only_warns = warn_only


@public("function")
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """As `use_deterministic_algorithms`, by a number or name. Counterpart of `torch.set_deterministic_debug_mode`.

    Args:
        debug_mode: 0 or "default", 1 or "warn", 2 or "error".
    """
    if not isinstance(debug_mode, int | str):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    number = MODES.get(debug_mode, -1) if isinstance(debug_mode, str) else debug_mode
    if number not in MODES.values():
        expected = "one of `default`, `warn`, `error`" if isinstance(debug_mode, str) else "0, 1, or 2"
        raise RuntimeError(f"invalid value of debug_mode, expected {expected}, but got {debug_mode}")
    settings.deterministic = number
    settings.only_warns = number == 1


@public("function")
def set_warn_always(b: bool) -> None:
    """Accepted and told by `is_warn_always_enabled`. Counterpart of `torch.set_warn_always`.

    Args:
        b: whether each warning is to be given each time.
    """
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {typename(b)}")
    settings.warns_always = b


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RuntimeError(f"set_num_{name} expects an int, but got {typename(value)}")
    if value >= 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if value <= 0:
        raise RuntimeError(f"set_num_{name} expects a positive integer")
    return value


ANSWERS = """
are_deterministic_algorithms_enabled() -> bool = settings.deterministic > 0  # Whether they were asked for.
get_deterministic_debug_mode() -> int = settings.deterministic  # 0, 1 or 2, as set.
get_num_interop_threads() -> int = settings.interop_threads or os.cpu_count() or 1
    As many as were set, or else as there are cores.
get_num_threads() -> int = settings.threads or os.cpu_count() or 1
    As many as were set, or else as there are cores.
is_deterministic_algorithms_warn_only_enabled() -> bool = settings.only_warns  # The `warn_only` that was asked for.
is_warn_always_enabled() -> bool = settings.warns_always  # What `set_warn_always` was last called with.
set_flush_denormal(mode: bool) -> bool = True
    Accepted and without effect: XLA's programs on a CPU flush denormal numbers.
set_num_interop_threads(int: Any) -> None = setattr(settings, "interop_threads", _positive("interop_threads", int))
    Accepted and told by `get_num_interop_threads`: JAX's threads are its own.
set_num_threads(int: Any) -> None = setattr(settings, "threads", _positive("threads", int))
    Accepted and told by `get_num_threads`: JAX's threads are its own.
"""
publish({"function": ANSWERS}, globals())

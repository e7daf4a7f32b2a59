"""Blocks of the user's that set a mode and put it back, such as `with no_grad():`, also where Ctrl-C comes between.

`tracking` in `modes` is the quick one, of this package's own use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from jaxvjp.core.record.modes import count_change, grad_mode, thread_modes
from jaxvjp.types.compiled import CYTHONIZED

F = TypeVar("F", bound=Callable[..., Any])


def restored(function: F) -> F:
    """`function`, after an error in which the modes are as before, also where an interrupt kept a block from ending.

    Python handles Ctrl-C where a Python function begins. If that is the `__exit__` of `with tracking(False):`, it does
    not run, and recording stays off. Compiled by Cython, an `__exit__` has no such place, and this returns `function`.
    """
    if CYTHONIZED:
        return function

    @functools.wraps(function)
    def within(*arguments: Any, **named: Any) -> Any:
        modes = thread_modes()
        before = modes.noted()
        try:
            return function(*arguments, **named)
        except BaseException:
            modes.put_back(before)
            raise

    return within  # type: ignore[return-value]


class Block:
    """Base class of the user's blocks that set attributes of a mode of this thread and put them back; they nest.

    An interrupt leaves the mode set or not set, and never half. Only one that comes just where `__exit__` begins leaves
    it as it was in the block, and that only where this module is not compiled; so it is with torch's blocks.
    """

    _state: Callable[[], Any] = staticmethod(grad_mode)
    _settings: Mapping[str, Any]
    _before: tuple[list[Any], ...] = ()

    def __init__(self, **settings: Any) -> None:
        self._settings = settings

    def _check(self) -> None:
        """Raises an error where the block may not be entered."""

    def __enter__(self) -> None:
        self._check()
        state = self._state()
        before = [getattr(state, name) for name in self._settings]
        try:
            self._set(self._settings.values())
            self._before = (*self._before, before)
        except BaseException:
            self._set(before)
            raise

    def __exit__(self, *_: object) -> None:
        before = self._before[-1]
        try:
            self._set(before)
            self._before = self._before[:-1]
        except BaseException:
            self._set(before)
            raise

    def _set(self, values: Iterable[Any]) -> None:
        state = self._state()
        for name, value in zip(self._settings, values, strict=True):
            setattr(state, name, value)
        count_change()

"""Blocks of the user's that set a mode and put it back, such as `with no_grad():`, also where Ctrl-C comes between.

`tracking` in `modes` is the quick one, of this package's own use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, TypeVar

from jaxvjp.core.record.modes import count_change, grad_mode, thread_modes

F = TypeVar("F", bound=Callable[..., Any])


def restored(function: F) -> F:
    """`function`, after an error in which the modes are as before, also where an interrupt kept a block from ending.

    Python handles Ctrl-C where a Python function begins. If that is the `__exit__` of `with tracking(False):`, it does
    not run, and recording stays off. Compiled by Cython, that `__exit__` has no such place. So a compiled function,
    whose blocks are of that kind, is returned as it is.
    """
    if not isinstance(function, FunctionType):
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
    it as it was in the block; so it is with torch's blocks.
    """

    __state__: Callable[[], Any] = staticmethod(grad_mode)
    __settings__: Mapping[str, Any]
    __before__: tuple[list[Any], ...] = ()

    def __init__(self, **settings: Any) -> None:
        self.__settings__ = settings

    def __check__(self) -> None:
        """Raises an error where the block may not be entered."""

    def __enter__(self) -> None:
        self.__check__()
        state = self.__state__()
        before = [getattr(state, name) for name in self.__settings__]
        try:
            _set(self, self.__settings__.values())
            self.__before__ = (*self.__before__, before)
        except BaseException:
            _set(self, before)
            raise

    def __exit__(self, *_: object) -> None:
        before = self.__before__[-1]
        try:
            _set(self, before)
            self.__before__ = self.__before__[:-1]
        except BaseException:
            _set(self, before)
            raise


def _set(block: Block, values: Iterable[Any]) -> None:
    state = block.__state__()
    for name, value in zip(block.__settings__, values, strict=True):
        setattr(state, name, value)
    count_change()

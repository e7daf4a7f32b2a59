"""Handles of hooks.

Hooks are kept in a dict by number, in the order of registration; a handle removes its hook from there.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import count
from typing import Any

_numbers = count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook out again, as does leaving a `with` block.

    Args:
        hooks: the dict of hooks, by number.
        hook: the one that is registered.
        marks: further dicts that have True under the hook's number as long as it is registered.

    Counterpart of `torch.utils.hooks.RemovableHandle`.
    """

    def __init__(self, hooks: dict[int, Any], hook: Any, *marks: dict[int, bool]) -> None:
        self.__dicts__ = (hooks, *marks)
        self.id = next(_numbers)
        hooks[self.id] = hook
        for mark in marks:
            mark[self.id] = True

    def remove(self) -> None:
        """Takes the hook out; a second call does nothing."""
        for each in self.__dicts__:
            each.pop(self.id, None)

    def hooks_dict_ref(self) -> dict[int, Any]:
        """The dict that the hook is in, under torch's name for it."""
        return self.__dicts__[0]

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def put(hooks: OrderedDict[int, Any], hook: Any, *marks: dict[int, bool], prepend: bool = False) -> RemovableHandle:
    """Registers `hook`, last unless it is prepended, and its number in each of `marks`."""
    handle = RemovableHandle(hooks, hook, *marks)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle

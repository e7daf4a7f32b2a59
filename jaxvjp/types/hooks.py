"""Handles of hooks.

Hooks are kept in a dict by number, in the order of registration; a handle removes its hook from there.
"""

from __future__ import annotations

from itertools import count
from typing import Any

_numbers = count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook out again, as does leaving a `with` block.

    Counterpart of `torch.utils.hooks.RemovableHandle`.
    """

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self._hooks = hooks
        self.id = next(_numbers)
        hooks[self.id] = hook

    def remove(self) -> None:
        """Takes the hook out; a second call does nothing."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

"""What a thread is doing: recording gradients or not, transforming functions. `ops` comes before this room."""

from __future__ import annotations

import threading
from typing import Any

from jaxvjp import dtypes


class Changes:
    """How often any tensor that was there already came to show, hold or be called with something else, and how often a
    mode was set.

    While the count stands still, what was found out about a tensor, and in the same thread about its modes, holds.
    """

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def clear(self) -> None:
        """Says that what was found out holds no more."""
        self.count += 1


changes = Changes()
dtypes.REMEMBERED.append(changes)


class Counted(threading.local):
    """Modes, per thread; to set one counts as a change."""

    def __setattr__(self, name: str, value: Any) -> None:
        changes.count += 1
        super().__setattr__(name, value)


class GradMode(Counted):
    """Whether operations record gradients, per thread; the state behind `no_grad` and `enable_grad`."""

    enabled = True
    inference = False
    mutation: int | None = None
    """Since when, in the order of recording, what was saved may be written in place; None where it must not."""
    saving: Any = None
    """What packs the tensors that a node saves (`graph.SavingHooks`): the innermost `saved_tensors_hooks`, or None."""


grad_mode = GradMode()


class Transforming(Counted):
    """The transforms of functions that are under way in this thread.

    Attributes:
        depth: how many there are (`func.grad` inside `func.vmap` makes 2).
        forward: how many levels of forward mode are open. While one is, nodes keep what they were computed from, for
            a tangent may be asked for that came that way, whether or not it requires a gradient.
        batches: the `levels.Batch` of each `vmap`, the outermost first.
        guards: the `levels.Guard` of each derivative: which tensors its function may write.
        level: the `levels.Duals` that the user entered with `forward_ad.dual_level`; None outside of it.
    """

    depth = 0
    forward = 0
    level: Any = None

    def __init__(self) -> None:
        self.batches: list[Any] = []
        self.guards: list[Any] = []


transforming = Transforming()


class Staging(Counted):
    """The step that is being staged in this thread, if any."""

    journal: Any = None
    """What it does is told to this `staging.Journal`."""


staging = Staging()


class recording:  # noqa: N801 - reads as a word: `with recording(False):`
    """Switches the recording of gradients on or off for a block."""

    __slots__ = ("before", "enabled")

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        self.before = grad_mode.enabled
        grad_mode.__dict__["enabled"] = self.enabled
        changes.count += 1  # so much faster than to have it counted

    def __exit__(self, *_: object) -> None:
        grad_mode.__dict__["enabled"] = self.before
        changes.count += 1

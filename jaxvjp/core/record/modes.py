"""What a thread is doing: recording gradients or not, transforming functions, staging a step.

In this room one can ask for that (`grad_mode`, `transforming`, `staging`) and count whatever changes what was found out
(`changed`).
"""

from __future__ import annotations

import threading
from types import FunctionType
from typing import Any

from jaxvjp.types import dtypes


class Changes:
    """How often any tensor that was there already came to show, hold or be called with something else, and how often a
    mode was set.

    While the count stands still, what was found out about a tensor, and in the same thread about its modes, holds.
    """

    def __init__(self) -> None:
        self.count = 0

    def clear(self) -> None:
        """Says that what was found out holds no more."""
        self.count += 1


changes = Changes()
dtypes.REMEMBERED.append(changes)


def changed() -> None:
    """Counts a change."""
    those: Changes = changes
    those.count += 1


COMPILED = not isinstance(changed, FunctionType)
"""Whether this is the compiled form of the house: see `hatch_build.py`."""


class Counted:
    """Modes; to set one counts as a change."""

    def __setattr__(self, name: str, value: Any) -> None:
        changed()
        if COMPILED:
            PyObject_GenericSetAttr(self, name, value)  # type: ignore[name-defined]  # noqa: F821 - see modes.pxd
        else:
            object.__setattr__(self, name, value)


class GradMode(Counted):
    """Whether and how operations record gradients: the state behind `no_grad` and `enable_grad`.

    Attributes:
        enabled: whether they do.
        inference: whether what they make can never be saved for a gradient.
        mutation: since when, in the order of recording, what was saved may be written in place; None where it must
            not.
        saving: what packs the tensors that a node saves (`graph.SavingHooks`): the innermost `saved_tensors_hooks`,
            or None.
    """

    def __init__(self) -> None:
        self.enabled = True
        self.inference = False
        self.mutation: int | None = None
        self.saving: Any = None


class Transforming(Counted):
    """The transforms of functions that are under way.

    Attributes:
        depth: how many there are (`func.grad` inside `func.vmap` makes 2).
        forward: how many levels of forward mode are open. While one is, nodes keep what they were computed from, for
            a tangent may be asked for that came that way, whether or not it requires a gradient.
        batches: the `levels.Batch` of each `vmap`, the outermost first.
        guards: the `levels.Guard` of each derivative: which tensors its function may write.
        variables: the `levels.Variables` of each reverse-mode derivative, the outermost first.
        level: the `levels.Duals` that the user entered with `forward_ad.dual_level`; None outside of it.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.forward = 0
        self.batches: list[Any] = []
        self.guards: list[Any] = []
        self.variables: list[Any] = []
        self.level: Any = None


class Staging(Counted):
    """The step that is being staged, if any.

    Attributes:
        journal: the `staging.Journal` that is told what it does, or None.
    """

    def __init__(self) -> None:
        self.journal: Any = None


class Doing:
    """All that one thread is doing."""

    def __init__(self) -> None:
        self.grad_mode = GradMode()
        self.transforming = Transforming()
        self.staging = Staging()


class _Threads(threading.local):
    def __init__(self) -> None:
        self.doing = Doing()


_threads = _Threads()
# In the compiled form, what was found last, and the number of that thread: a look at a `threading.local` takes as long
# as ten other lines there, and every operation needs two.
_last: Doing
_number = 0


def doing() -> Doing:
    """What this thread is doing."""
    if COMPILED:
        global _last, _number
        number = PyThreadState_GetID(PyThreadState_Get())  # type: ignore[name-defined]  # noqa: F821 - see modes.pxd
        if number != _number:
            _last = _threads.doing
            _number = number
        return _last
    return _threads.doing


def grad_mode() -> GradMode:
    """Whether operations of this thread record gradients."""
    return doing().grad_mode


def transforming() -> Transforming:
    """The transforms that are under way in this thread."""
    return doing().transforming


def staging() -> Staging:
    """The step that is being staged in this thread."""
    return doing().staging


class recording:  # noqa: N801 - reads as a word: `with recording(False):`
    """Switches the recording of gradients on or off for a block."""

    __slots__ = ("before", "enabled")

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        now = grad_mode()
        self.before = now.enabled
        now.enabled = self.enabled
        changed()  # which nobody does for the compiled form here

    def __exit__(self, *_: object) -> None:
        grad_mode().enabled = self.before
        changed()

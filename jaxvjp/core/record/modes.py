"""The modes of a thread: whether it records gradients (`no_grad`), is inside `func.grad` or `vmap`, stages a step.

`grad_mode()`, `transforming()` and `staging()` give those of the current thread. `count_change()` counts each change of
a mode and of a tensor, so that `staging` can tell by one comparison that nothing has changed since it looked.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

from jaxvjp.types import dtypes
from jaxvjp.types.compiled import CYTHONIZED


class Changes:
    """A count of changes: of modes that were set, and of existing tensors that got another value, `grad` or hook.

    While the count stays the same, all that was read from a tensor before is still so, and so are the modes of the
    thread that read it.
    """

    def __init__(self) -> None:
        self.count = 0

    def clear(self) -> None:
        """Counts a change. It has this name as `dtypes.forget_calls` clears what was remembered."""
        self.count += 1


changes = Changes()
dtypes.REMEMBERED.append(changes)


def count_change() -> None:
    """Counts a change."""
    those: Changes = changes
    those.count += 1


class Counted:
    """Base class of modes: setting an attribute counts as a change."""

    def __setattr__(self, name: str, value: Any) -> None:
        count_change()
        if CYTHONIZED:
            PyObject_GenericSetAttr(self, name, value)  # type: ignore[name-defined]  # noqa: F821 - see modes.pxd
        else:
            object.__setattr__(self, name, value)


class GradMode(Counted):
    """Whether and how operations record gradients: the state behind `no_grad` and `enable_grad`.

    Attributes:
        enabled: whether operations record gradients; False inside `no_grad`.
        inference: whether the thread is inside `inference_mode`, whose tensors must not be saved for a gradient.
        mutation: inside `allow_mutation_on_saved_tensors`, that block: what nodes recorded there have saved may be
            written in place. None outside of it.
        saving: the innermost `saved_tensors_hooks` (`steps.SavingHooks`), or None.
        refusing: what the error says of `saved_tensors_hooks` inside `disable_saved_tensors_hooks`; else None.
        autocast: for each type of device with an `autocast` block, its name and the dtype that is cast to.
    """

    def __init__(self) -> None:
        self.enabled = True
        self.inference = False
        self.mutation: Any = None
        self.saving: Any = None
        self.refusing: str | None = None
        self.autocast: tuple[tuple[str, Any], ...] = ()


class Transforming(Counted):
    """The transforms of functions that are under way. Classes of `tensor` add themselves here.

    Attributes:
        depth: how many there are (`func.grad` inside `func.vmap` makes 2).
        forward: how many levels of forward mode are open. While there is one, each node keeps its inputs, also a node
            that requires no gradient: a tangent may be pushed through it later.
        batches: the `batches.Batch` of each `vmap`, the outermost first. `core` asks it whether it `holds` a node.
        guards: the `levels.Guard` of each derivative: which tensors its function may write.
        variables: the `levels.Variables` of each reverse-mode derivative, the outermost first. `core` reads `first`,
            `entries` and `pulling` of it.
        cuts: the `duals.Cut`s: from where to where in the order of recording no tangents go on.
        pure: how many pure functions are being recorded (`pure.recording`): their arguments have no values.
        duals: the open levels of forward mode, `duals.Duals`.
        level: the `duals.Duals` that the user entered with `forward_ad.dual_level`; None outside of it.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.forward = 0
        self.batches: list[Any] = []
        self.guards: list[Any] = []
        self.variables: list[Any] = []
        self.cuts: list[Any] = []
        self.pure = 0
        self.duals: list[Any] = []
        self.level: Any = None


class Staging(Counted):
    """The step that is being staged, if any.

    Attributes:
        journal: the `staging.Journal` that notes what the step does, or None outside of `jit`. `core` tells it to
            `refuse` what cannot be staged.
    """

    def __init__(self) -> None:
        self.journal: Any = None


class ThreadModes:
    """All modes of one thread.

    Attributes, besides one for each kind:
        listening: the functions that `observers.tell` calls with each event.
        walk: the backward pass that is calling a hook (`engine.Walk`), or None. `register_multi_grad_hook` asks it
            which nodes are `on_the_way`: so many of them get a gradient.
    """

    def __init__(self) -> None:
        self.walk: Any = None
        self.listening: list[Callable[[Any], None]] = []
        self.grad_mode = GradMode()
        self.transforming = Transforming()
        self.staging = Staging()

    def noted(self) -> tuple[Any, ...]:
        """What is in them now, but for the step that is staged; for `put_back`."""
        grad, under_way = self.grad_mode, self.transforming
        return (
            *(grad.enabled, grad.inference, grad.mutation, grad.saving, grad.refusing, grad.autocast),
            *(under_way.depth, under_way.forward, under_way.pure, under_way.level),
            *(list(under_way.batches), list(under_way.guards), list(under_way.variables), list(under_way.cuts)),
            list(under_way.duals),
        )

    def put_back(self, noted: tuple[Any, ...]) -> None:
        """Has them be as they were `noted`."""
        grad, under_way = self.grad_mode, self.transforming
        grad.enabled, grad.inference, grad.mutation, grad.saving, grad.refusing, grad.autocast = noted[:6]
        under_way.depth, under_way.forward, under_way.pure, under_way.level = noted[6:10]
        under_way.batches, under_way.guards, under_way.variables, under_way.cuts, under_way.duals = noted[10:]
        count_change()


class _Threads(threading.local):
    def __init__(self) -> None:
        self.modes = ThreadModes()


_threads = _Threads()
# For the compiled form: the result of the last `thread_modes()`, and the number of the thread that asked. Every
# operation asks twice, and reading a `threading.local` takes as long as ten other lines of compiled code.
_last: ThreadModes
_number = 0


def thread_modes() -> ThreadModes:
    """The modes of this thread."""
    if CYTHONIZED:
        global _last, _number
        number = PyThreadState_GetID(PyThreadState_Get())  # type: ignore[name-defined]  # noqa: F821 - see modes.pxd
        if number != _number:
            _last = _threads.modes
            _number = number
        return _last
    return _threads.modes


def grad_mode() -> GradMode:
    """Whether and how operations of this thread record gradients."""
    return thread_modes().grad_mode


def transforming() -> Transforming:
    """The transforms that are under way in this thread."""
    return thread_modes().transforming


def listening() -> list[Callable[[Any], None]]:
    """The functions of this thread that are called with each event. None listens if it is empty: then make no event."""
    return thread_modes().listening


def tangents_stop(first: int = 0) -> bool:
    """Whether no tangents go on now, for a level of forward mode that began at `first` in the order of recording."""
    return bool([cut for cut in transforming().cuts if first < cut.block and cut.end == math.inf])


def staging() -> Staging:
    """The step that is being staged in this thread."""
    return thread_modes().staging


class tracking:  # noqa: N801 - reads as a word: `with tracking(False):`
    """Switches the recording of gradients on or off for a block."""

    __slots__ = ("before", "enabled")

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        now = grad_mode()
        self.before = now.enabled
        now.enabled = self.enabled
        count_change()  # the compiled form sets `enabled` in C, without `Counted.__setattr__`

    def __exit__(self, *_: object) -> None:
        grad_mode().enabled = self.before
        count_change()


class outside_inference:  # noqa: N801 - reads as a word
    """A block that is run as if it were outside of inference mode: that of a transform of a function."""

    def __enter__(self) -> None:
        now = grad_mode()
        self.before = now.inference
        now.inference = False
        count_change()

    def __exit__(self, *_: object) -> None:
        grad_mode().inference = self.before
        count_change()

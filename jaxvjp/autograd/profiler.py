"""torch's `profiler` and `autograd.profiler`, over `jax.profiler`: it writes a trace, for TensorBoard or Perfetto.

JAX's trace has what XLA ran, on all devices. torch's tables of times by operation have no counterpart here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

import jax

from jaxvjp.tensor.docstrings import complete_all

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """What to record; accepted: JAX records whatever runs. Counterpart of `torch.profiler.ProfilerActivity`."""

    CPU = 0
    XPU = 1
    CUDA = 3


class ProfilerAction(Enum):
    """What a step of a schedule does. Counterpart of `torch.profiler.ProfilerAction`."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], ProfilerAction]:
    """A schedule of steps: some waited, some warming up, then those recorded. Counterpart of `torch.profiler.schedule`.

    Args:
        wait: how many steps nothing is done.
        warmup: how many then run unrecorded.
        active: how many are then recorded.
        repeat: how often; 0 for as long as it runs.
        skip_first: how many steps to leave out first.
    """

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        period = wait + warmup + active
        if step < 0 or (repeat > 0 and step >= repeat * period):
            return ProfilerAction.NONE
        place = step % period
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < period - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


class profile:  # noqa: N801 - torch's name
    """Records a block by `jax.profiler`. Counterpart of `torch.profiler.profile`.

    Args:
        activities, record_shapes, profile_memory, with_stack, with_flops, with_modules, use_cuda: accepted, without
            effect.
        schedule: which of the steps, told by `step()`, to record; by default all.
        on_trace_ready: called with this object when the trace is written, such as `tensorboard_trace_handler(folder)`.
        enabled: False to record nothing.
    """

    folder: str
    """Where the trace is written; that of `tensorboard_trace_handler`, or a temporary one."""

    def __init__(
        self,
        activities: Iterable[Any] | None = None,
        *,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        use_cuda: bool | None = None,
        enabled: bool = True,
    ) -> None:
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.enabled = enabled
        self.step_num = 0
        self.folder = getattr(on_trace_ready, "folder", "") or tempfile.mkdtemp(prefix="trace")
        self._recording = False

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _goes_on(self, wanted: bool) -> None:
        """Starts or ends the trace, where it is to be otherwise than it is."""
        if wanted and not self._recording:
            jax.profiler.start_trace(self.folder)
        elif self._recording and not wanted:
            jax.profiler.stop_trace()  # type: ignore[no-untyped-call]
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        self._recording = wanted

    def start(self) -> None:
        """Starts as `with` does."""
        self._goes_on(self.enabled and self.schedule(self.step_num).value >= ProfilerAction.RECORD.value)

    def stop(self) -> None:
        """Ends as `with` does."""
        self._goes_on(False)

    def step(self) -> None:
        """Says that the next step begins."""
        if self.schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE:
            self._goes_on(False)
        self.step_num += 1
        self.start()


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """For `on_trace_ready`: has the trace written to a folder. As `torch.profiler.tensorboard_trace_handler`.

    Args:
        dir_name: the folder.
        worker_name, use_gzip: accepted; JAX chooses names, and compresses.
    """

    def handler(profiler: Any) -> None:
        """JAX has written it already."""

    handler.folder = dir_name  # type: ignore[attr-defined]
    return handler


class record_function(jax.profiler.TraceAnnotation):  # noqa: N801 - torch's name
    """Names a block in the trace. Counterpart of `torch.profiler.record_function`."""

    def __init__(self, name: str, args: str | None = None) -> None:
        super().__init__(name)


complete_all(globals(), __all__, "profiler", "`jax.profiler`")

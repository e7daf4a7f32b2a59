"""torch's `profiler` and `autograd.profiler`, over `jax.profiler`: it writes a trace, for TensorBoard or Perfetto.

JAX's trace has what XLA ran, on all devices: a table of it has compiled steps such as `add_tanh_fusion` and
`dot_general.9` where torch's has `aten::addmm`, and the blocks that `record_function` named.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Self

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
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A schedule of steps: some waited, some warming up, then those recorded. Counterpart of `torch.profiler.schedule`.

    Args:
        wait: how many steps nothing is done.
        warmup: how many then run unrecorded.
        active: how many are then recorded.
        repeat: how often; 0 for as long as it runs.
        skip_first: how many steps to leave out first.
        skip_first_wait: 1 for no `wait` the first time.
    """

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step += (wait if skip_first_wait else 0) - skip_first
        period = wait + warmup + active
        if repeat > 0 and step >= repeat * period:
            return ProfilerAction.NONE
        place = step % period
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < period - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


@dataclass
class FunctionEventAvg:
    """All events of one name in a trace; times are in µs. Counterpart of `torch.autograd.profiler_util`'s class."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    """Without the events within these."""
    device_time_total: float = 0.0
    self_device_time_total: float = 0.0

    @property
    def cpu_time(self) -> float:
        """Of one event, on average."""
        return self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """Of one event, on average."""
        return self.device_time_total / self.count

    def add(self, device: bool, total: float, own: float) -> None:
        """Adds time, of which `own` is its own."""
        kind = "device" if device else "cpu"
        setattr(self, f"{kind}_time_total", getattr(self, f"{kind}_time_total") + total)
        setattr(self, f"self_{kind}_time_total", getattr(self, f"self_{kind}_time_total") + own)


class EventList(list[FunctionEventAvg]):
    """The rows of a table of times. Counterpart of `torch.autograd.profiler_util.EventList`."""

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The rows as text.

        Args:
            sort_by: `"count"`, or one of the times, such as `"self_cpu_time_total"`; by default as they came.
            row_limit: how many rows; -1 for all.
            max_name_column_width: where names are cut.
            header: a line to begin with.
            max_src_column_width, max_shapes_column_width, top_level_events_only, time_unit: accepted, without effect.
        """
        by = (sort_by or "").replace("cuda", "device")
        rows = sorted(self, key=lambda row: getattr(row, by), reverse=True) if by else list(self)
        head = ["Name", "Self CPU", "CPU total", "CPU time avg", "Self device", "Device total", "# of Calls"]
        lines = [head]
        for row in rows[: None if row_limit < 0 else row_limit]:
            times = [row.self_cpu_time_total, row.cpu_time_total, row.cpu_time]
            times += [row.self_device_time_total, row.device_time_total]
            lines.append([row.key[:max_name_column_width], *(f"{each:,.3f}us" for each in times), str(row.count)])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows_of_text = [
            "  ".join(
                [name.ljust(widths[0]), *(each.rjust(width) for each, width in zip(rest, widths[1:], strict=True))]
            )
            for name, *rest in lines
        ]
        return "\n".join([*([] if header is None else [header]), *rows_of_text])


class profile:  # noqa: N801 - torch's name
    """Records a block by `jax.profiler`. Counterpart of `torch.profiler.profile`.

    Args:
        activities: accepted, without effect; False instead of them is `enabled=False`, as in `autograd.profiler`.
        record_shapes, profile_memory, with_stack, with_flops, with_modules, use_cuda, use_device, use_kineto, use_cpu,
            experimental_config, acc_events: accepted, without effect.
        schedule: which of the steps, told by `step()`, to record; by default all.
        on_trace_ready: called with this object when the trace is written, such as `tensorboard_trace_handler(folder)`.
        enabled: False to record nothing.
    """

    folder: str
    """Where the trace is written; that of `tensorboard_trace_handler`, or a temporary one."""

    def __init__(
        self,
        activities: Iterable[Any] | bool | None = None,
        *,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        use_cuda: bool | None = None,
        use_device: str | None = None,
        use_kineto: bool = True,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        enabled: bool = True,
    ) -> None:
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.enabled = enabled and activities is not False
        self.step_num = 0
        self.folder = getattr(on_trace_ready, "folder", "") or tempfile.mkdtemp(prefix="trace")
        self._recording = False

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts as `with` does."""
        _switch(self, self.enabled and self.schedule(self.step_num).value >= ProfilerAction.RECORD.value)

    def stop(self) -> None:
        """Ends as `with` does."""
        _switch(self, False)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The times of the trace by name: what XLA ran, and the blocks of `record_function`.

        As `torch.profiler.profile.key_averages`; groups by shape or stack are accepted, and not made. The lines of
        Python functions in JAX's trace are left out; programs that still [run in NumPy](speed.md) have no line.
        """
        rows: dict[str, FunctionEventAvg] = {}
        for plane in jax.profiler.ProfileData.from_file(str(_written(self, ".xplane.pb"))).planes:
            device = plane.name.startswith("/device")
            for line in plane.lines:
                around: list[tuple[float, FunctionEventAvg]] = []
                """The events that an event is within: their ends, in ns."""
                events = [each for each in line.events if not each.name.startswith("$")]
                for each in sorted(events, key=lambda event: (event.start_ns, -event.duration_ns)):
                    while around and around[-1][0] <= each.start_ns:
                        around.pop()
                    if around:
                        around[-1][1].add(device, 0.0, -each.duration_ns / 1e3)
                    row = rows.setdefault(each.name, FunctionEventAvg(each.name))
                    row.count += 1
                    row.add(device, each.duration_ns / 1e3, each.duration_ns / 1e3)
                    around.append((each.end_ns, row))
        return EventList(rows.values())

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of the times on the CPU, in µs."""
        return sum(each.self_cpu_time_total for each in self.key_averages())

    def table(self, **options: Any) -> str:
        """`key_averages().table()`."""
        return self.key_averages().table(**options)

    def export_chrome_trace(self, path: str) -> None:
        """Writes the trace as JSON, for chrome://tracing or Perfetto. As `torch.profiler.profile.export_chrome_trace`.

        Args:
            path: the file; compressed if it ends in `.gz`.
        """
        trace = _written(self, ".trace.json.gz").read_bytes()
        Path(path).write_bytes(trace if path.endswith(".gz") else gzip.decompress(trace))

    def step(self) -> None:
        """Says that the next step begins."""
        if self.schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE:
            _switch(self, False)
        self.step_num += 1
        self.start()


def _written(profiler: profile, ending: str) -> Path:
    """The newest file of the trace with that ending."""
    found = sorted(Path(profiler.folder).rglob(f"*{ending}"), key=lambda each: each.stat().st_mtime)
    if not found:
        raise AssertionError(
            "Profiler didn't finish running\nNo trace was written: no step was recorded, or `stop()` is missing."
        )
    return found[-1]


def _switch(profiler: profile, wanted: bool) -> None:
    """Starts or ends the trace, where it is to be otherwise than it is."""
    if wanted and not profiler._recording:
        jax.profiler.start_trace(profiler.folder)
    elif profiler._recording and not wanted:
        jax.profiler.stop_trace()  # type: ignore[no-untyped-call]
        if profiler.on_trace_ready is not None:
            profiler.on_trace_ready(profiler)
    profiler._recording = wanted


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


class record_function(ContextDecorator):  # noqa: N801 - torch's name
    """Names a block, or each call of a function, in the trace. Counterpart of `torch.profiler.record_function`."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self._open: list[Any] = []

    def __enter__(self) -> Self:
        self._open.append(jax.profiler.TraceAnnotation(self.name))
        self._open[-1].__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._open.pop().__exit__(*error)


complete_all(globals(), __all__, "profiler", "`jax.profiler`")

"""torch's `multiprocessing`: Python's own, and `spawn`, which runs a function in several new processes.

JAX's arrays belong to one process: what another one is given is a copy, so there is no `share_memory_`. Processes that
compute together on one mesh are those of `jaxvjp.distributed`.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import *  # noqa: F403 - torch's module has all of Python's names, too
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

__all__ = [
    *multiprocessing.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]


class ProcessException(Exception):  # noqa: N818 - torch's name
    """A process of `spawn` failed. `error_index` is its number, `error_pid` its number for the system."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = pid


class ProcessRaisedException(ProcessException):
    """A process of `spawn` raised; the text has its traceback."""


class ProcessExitedException(ProcessException):
    """A process of `spawn` was killed, or left by `sys.exit`.

    `exit_code` is what it ended with, `signal_name` that of the signal which killed it, or None.
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name


class ProcessContext:
    """The processes that `spawn(..., join=False)` has started.

    Counterpart of `torch.multiprocessing.ProcessContext`.
    """

    def __init__(self, processes: Sequence[SpawnProcess], told: Sequence[Connection]) -> None:
        self.processes = list(processes)
        self._told = told

    def pids(self) -> list[int]:
        """The numbers of the processes for the system."""
        return [int(process.pid or 0) for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Waits until all have ended, for at most `timeout` seconds, and says whether they have.

        Where one failed the others are ended, and a ProcessRaisedException or ProcessExitedException is raised.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while running := [process for process in self.processes if process.exitcode is None]:
            if any(process.exitcode for process in self.processes):
                break
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return False
            wait([each.sentinel for each in running], left)
        failed = next((n for n, each in enumerate(self.processes) if each.exitcode), None)
        if failed is None:
            return True
        for each in self.processes:
            if each.is_alive():
                each.terminate()
            each.join()
        raise _failure(self, failed)


def _failure(context: ProcessContext, number: int) -> ProcessException:
    process, told = context.processes[number], context._told[number]
    pid, code = int(process.pid or 0), int(process.exitcode or 0)
    with suppress(EOFError):
        text = f"\n\n-- Process {number} terminated with the following error:\n{told.recv()}"
        return ProcessRaisedException(text, number, pid)
    if code < 0:
        name = signal.Signals(-code).name
        text = f"process {number} terminated with signal {name}"
        return ProcessExitedException(text, number, pid, code, name)
    return ProcessExitedException(f"process {number} terminated with exit code {code}", number, pid, code)


SpawnContext = ProcessContext


def _call(fn: Callable[..., Any], number: int, args: tuple[Any, ...], tell: Connection) -> None:
    try:
        fn(number, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted, too
    except Exception:
        tell.send(traceback.format_exc())
        sys.exit(1)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """`spawn`, by any of Python's ways to start a process. JAX must not have computed before a "fork"."""
    context: Any = multiprocessing.get_context(start_method)
    processes, told = [], []
    for number in range(nprocs):
        hear, tell = context.Pipe(duplex=False)
        process = context.Process(target=_call, args=(fn, number, args, tell), daemon=daemon)
        process.start()
        tell.close()
        processes.append(process)
        told.append(hear)
    started = ProcessContext(processes, told)
    if not join:
        return started
    started.join()
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Calls `fn(i, *args)` in `nprocs` new processes, i from 0 on.

    Args:
        fn: a function of a module, or of the script, which each process imports anew.
        args: what else it is given; tensors are copied.
        nprocs: how many processes.
        join: whether to wait until all have ended; if not, a `ProcessContext` is returned.
        daemon: whether the processes end with this one.
        start_method: "spawn"; `start_processes` takes others.

    Raises:
        ProcessRaisedException: one raised; the others are ended.
        ProcessExitedException: one was killed, or left by `sys.exit`.

    Counterpart of `torch.multiprocessing.spawn`. Underneath: Python's `multiprocessing`; no JAX.
    """
    return start_processes(fn, args, nprocs, join, daemon, "spawn")

"""Runs a script in a process of its own, under either module.

It may crash, hang, or print without end: what it printed and recorded until then is kept.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jaxvjp.tools.comparison.gradients import decoded
from jaxvjp.tools.comparison.outcome import CRASHED, ENDLESS, EXITED, FINISHED, RAISED, TIMED_OUT, Side
from jaxvjp.tools.comparison.recorder import DOUBLE

MOST_OUTPUT = 10_000_000
"""Bytes that a script may print before it is stopped."""
KEPT_ERRORS = 20_000
"""How many characters are kept of the end of its standard error."""
STEP = 0.1
RECORDER = Path(__file__).parent / "recorder.py"
Progress = Callable[[str], None]


class Input:
    """This process's standard input, unless it is a terminal: read once and given to every side."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._ended = False
        self._changed = threading.Condition()
        if sys.stdin is None or os.isatty(0):
            self._ended = True
        else:
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        part = b"?"
        while part:
            try:
                part = os.read(0, 1 << 16)
            except OSError:
                part = b""
            with self._changed:
                self._ended = not part
                self._parts += [part] if part else []
                self._changed.notify_all()

    def feed(self, process: subprocess.Popen[bytes]) -> None:
        """Writes the input to a process as it arrives, until the input or the process ends."""
        position = 0
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            while process.poll() is None:
                with self._changed:
                    if not self._ended and len(self._parts) == position:
                        self._changed.wait(STEP)
                    parts, ended = self._parts[position:], self._ended
                for part in parts:
                    process.stdin.write(part)
                    process.stdin.flush()
                position += len(parts)
                if ended and position == len(self._parts):
                    break
        with contextlib.suppress(OSError):
            process.stdin.close()


def run_side(
    module: str,
    script: Path,
    arguments: Sequence[str] = (),
    timeout: float | None = None,
    given: Input | None = None,
    progress: Progress = lambda _: None,
    double: bool = False,
) -> Side:
    """Runs `script` under `module`, in `double` precision or not, and returns what it did; stops it after `timeout`
    seconds."""
    side = Side(module)
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "records"
        # -u: output from before a crash is not lost in a buffer. -P: this folder is not on the script's import path.
        command = [sys.executable, "-u", "-P", str(RECORDER), str(records), module, str(RECORDER.parents[3])]
        process = subprocess.Popen(
            [*command, str(script), *arguments],
            # sets of strings have one order on both sides
            env={"PYTHONHASHSEED": "0", **os.environ, **({DOUBLE: "1"} if double else {})},
            stdin=subprocess.PIPE if given else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that its child processes can be stopped with it
        )
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = _Reader(process.stdout, MOST_OUTPUT, False), _Reader(process.stderr, KEPT_ERRORS, True)
        if given:
            threading.Thread(target=given.feed, args=(process,), daemon=True).start()
        try:
            status = _wait(
                process, output, timeout, lambda seconds: progress(f"{module}: {output.lines} lines, {seconds:.0f} s")
            )
        finally:
            _stop(process)
        side.lines = output.text().splitlines()
        side.errors = errors.text()
        _read_records(side, records)
    _judge(side, status, process.returncode, timeout)
    return side


class _Reader:
    """A thread that reads a pipe to its end, and keeps the first or the last `most` bytes."""

    def __init__(self, pipe: Any, most: int, keeps_end: bool) -> None:
        self._pipe, self._most, self._keeps_end = pipe, most, keeps_end
        self._bytes = bytearray()
        self.lines = 0
        self.overflowed = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while part := os.read(self._pipe.fileno(), 1 << 16):
            self._bytes += part
            self.lines += part.count(b"\n")
            if len(self._bytes) > self._most:
                self.overflowed = True
                cut = len(self._bytes) - self._most
                del self._bytes[slice(cut) if self._keeps_end else slice(self._most, None)]

    def text(self) -> str:
        """What was read."""
        self._thread.join(timeout=5)  # the pipe may stay open in a process that was not stopped
        if not self._thread.is_alive():
            self._pipe.close()
        return bytes(self._bytes).decode("utf-8", "replace")


def _wait(
    process: subprocess.Popen[bytes], output: _Reader, timeout: float | None, tell: Callable[[float], None]
) -> str:
    start = time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STEP)
            return FINISHED
        seconds = time.monotonic() - start
        tell(seconds)
        if output.overflowed:
            return ENDLESS
        if timeout is not None and seconds > timeout:
            return TIMED_OUT


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and its child processes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _read_records(side: Side, path: Path) -> None:
    """Fills in `side` from the recorder's file, whose last record may be incomplete."""
    if not path.exists():
        return
    with path.open("rb") as file, contextlib.suppress(EOFError, pickle.UnpicklingError):
        while True:
            record = pickle.load(file)
            if record["event"] == "ready":
                side.version, side.loading = record["version"], record["seconds"]
            elif record["event"] == "call":
                side.calls.append(decoded(record))
            else:
                side.error, side.seconds = record.get("error"), record["seconds"]
                if "exit" in record:
                    side.status, side.detail = EXITED, f"with status {record['exit']}"


def _judge(side: Side, status: str, code: int, timeout: float | None) -> None:
    """Notes how a side ended; its seconds are known only if the script itself ended."""
    if side.error is not None:
        side.status = RAISED
    elif status == TIMED_OUT:
        side.status, side.detail = TIMED_OUT, f"after {timeout:g} seconds"
    elif status == ENDLESS:
        side.status, side.detail = ENDLESS, f"(more than {MOST_OUTPUT:,} bytes)"
    elif code < 0:
        side.status, side.detail = CRASHED, f"by signal {signal.Signals(-code).name}"
    elif side.seconds is None and side.loading is None:
        side.status, side.detail = CRASHED, f"before it began: {(side.errors.strip().splitlines() or [''])[-1]}"
    elif side.seconds is None:
        side.status, side.detail = EXITED, f"with status {code}, not through Python"

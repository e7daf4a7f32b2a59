"""The tests of a file run in processes, each replaced after a crash or a test that takes too long."""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from tools.conformance.worker import CRASHED, ERROR, NOT_APPLICABLE, TIMEOUT

STARTING = 900.0
"""Seconds that a process has for loading a file."""
WAITING, LEAST = 6.0, 120.0
"""How much longer than its limit of processor time a test may take on the clock, and the seconds that it may anyway:
others may keep the processor busy."""
TESTS_A_PROCESS = 400
ALONE = {"OPENBLAS_NUM_THREADS": "1"}
"""NumPy's threads wait for one another in loops, which count as processor time."""
Outcome = dict[str, Any]


class Worker:
    """A process that has loaded a file and runs its tests, one at a time."""

    def __init__(self, implementation: str, folder: Path, file: str, dtypes: str, limit: float) -> None:
        self.waiting = max(limit * WAITING, LEAST)
        self.limit = limit
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        command = [sys.executable, "-m", "tools.conformance.worker"]
        self.process = subprocess.Popen(
            [*command, implementation, str(folder), file, dtypes, str(limit)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            start_new_session=True,  # so that what it starts can be stopped with it
            env={**os.environ, **ALONE, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path[1:]])},
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.runs = 0
        self.loaded = self._answer(STARTING) or {}

    def _read(self) -> None:
        with cast(IO[str], self.process.stdout) as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put("")

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        """What it says next; None when the time is over, and an empty answer when the process is."""
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return None
        return dict(json.loads(line)) if line else {}

    def run(self, test: str) -> Outcome:
        """Runs a test; the process ends where that takes longer than the limit, of its own time or of waiting."""
        assert self.process.stdin is not None
        self.runs += 1
        start = time.monotonic()
        answer: Outcome | None = {}
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(test + "\n")
            self.process.stdin.flush()
            answer = self._answer(self.waiting)
        if answer is None:
            answer = {"status": TIMEOUT, "told": f"waits for more than {self.waiting:g} seconds"}
            self.process.kill()
            self.process.wait()
        elif not answer:
            code = self.process.wait()
            answer = {"status": CRASHED, "told": f"the process ended with {code}", "traceback": self.said()}
            if code == -signal.SIGPROF:
                answer.update(status=TIMEOUT, told=f"more than {self.limit:g} seconds")
        return {**answer, "seconds": round(time.monotonic() - start, 2)}

    def said(self) -> str:
        """The end of its standard error."""
        self.errors.seek(0)
        return self.errors.read()[-4000:].decode("utf-8", "replace")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None and self.runs < TESTS_A_PROCESS

    def stop(self) -> None:
        """Ends the process and what it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        self.errors.close()
        with contextlib.suppress(BrokenPipeError):
            cast(IO[str], self.process.stdin).close()


class Run:
    """How to run tests: under which implementation, in which types, how long each."""

    def __init__(self, folder: Path, implementation: str, dtypes: str, limit: float, workers: int) -> None:
        self.folder, self.implementation, self.dtypes = folder, implementation, dtypes
        self.limit, self.workers = limit, workers

    def of_file(
        self, file: str, names: Sequence[str], left_out: Callable[[str], str | None]
    ) -> Iterator[tuple[str, Outcome]]:
        """Each test of a file whose name fits, with its outcome; `left_out` gives the reason not to run one."""
        worker = self._worker(file)
        if "tests" not in worker.loaded:
            yield "(the file)", {"status": CRASHED, "told": "it cannot be loaded", "traceback": worker.said()}
            worker.stop()
            return
        waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        results: queue.SimpleQueue[tuple[str, Outcome] | None] = queue.SimpleQueue()
        for test in worker.loaded["tests"]:
            if not names or any(fits(test, name) for name in names):
                if reason := left_out(test):
                    yield test, {"status": NOT_APPLICABLE, "told": reason}
                else:
                    waiting.put(test)
        servers = [worker, *[None] * (self.workers - 1)]
        threads = [threading.Thread(target=self._serve, args=(file, each, waiting, results)) for each in servers]
        for each in threads:
            each.start()
        running = len(threads)
        while running:
            result = results.get()
            running -= result is None
            if result:
                yield result

    def _worker(self, file: str) -> Worker:
        return Worker(self.implementation, self.folder, file, self.dtypes, self.limit)

    def _serve(self, file: str, worker: Worker | None, waiting: Any, results: Any) -> None:
        try:
            while True:
                test = waiting.get_nowait()
                if worker is None or not worker.alive:
                    if worker is not None:
                        worker.stop()
                    worker = self._worker(file)
                if "tests" not in worker.loaded:
                    results.put((test, {"status": ERROR, "told": "the file could not be loaded again"}))
                    continue
                results.put((test, worker.run(test)))
        except queue.Empty:
            pass
        finally:
            if worker is not None:
                worker.stop()
            results.put(None)


def fits(test: str, name: str) -> bool:
    """Whether a test, "TestX.test_y", is meant by a part of its name or a pattern."""
    return fnmatch.fnmatchcase(test, name) if set(name) & set("*?[") else name in test

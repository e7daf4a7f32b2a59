"""The process that runs tests: `python -m tools.conformance.worker IMPLEMENTATION FOLDER FILE DTYPES LIMIT`.

It writes a line of JSON with the names of the file's tests, then reads a name a line from its input, runs that test,
and writes a line with what came of it. What a test prints goes to standard error. A test that takes more than LIMIT
seconds of the processor ends the process, by SIGPROF.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import re
import signal
import sys
import traceback
import unittest
import unittest.mock  # as torch imports it: tests use it without
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PASSED, WRONG, UNRAISED, ERROR = "passed", "wrong value", "missing error", "error"
MISSING, NOT_APPLICABLE, TIMEOUT, CRASHED = "missing name", "not applicable", "timeout", "crashed"
RUNS_BETWEEN_CLEARING = 50
"""Tests compile many programs each, and a process can map but so many."""


def main(implementation: str, folder: str, file: str, dtypes: str, limit: str) -> None:
    """Serves until its input ends."""
    with os.fdopen(os.dup(1), "w", buffering=1) as answers:
        os.dup2(2, 1)
        faulthandler.enable()
        faulthandler.register(signal.SIGPROF, chain=True)
        with _in_the_place_of_torch(implementation):
            from tools.conformance import devices, internals
            from tools.conformance.loading import load

            devices.COMMON[:] = [] if dtypes == "all" else dtypes.split(",")
            internals.install()
            sys.path[:0] = [folder, str((Path(folder) / file).parent)]
            warnings.simplefilter("ignore")
            module, lost = load(Path(folder) / file, "__conformance__")
            sys.modules[module.__name__] = module
            tests = dict(_tests(module))
            told = {name: f"{type(error).__name__}: {error}".partition("\n")[0] for name, error in lost.items()}
            print(json.dumps({"tests": list(tests), "lost": told}), file=answers)
            for number, line in enumerate(sys.stdin, 1):
                name = line.strip()
                signal.setitimer(signal.ITIMER_PROF, float(limit))
                answer = outcome(tests[name], told)
                signal.setitimer(signal.ITIMER_PROF, 0)
                print(json.dumps(answer), file=answers)
                _restore(implementation)
                if implementation == "jaxvjp" and number % RUNS_BETWEEN_CLEARING == 0:
                    _forget()
        os._exit(0)  # threads that a test left behind do not keep it


@contextlib.contextmanager
def _in_the_place_of_torch(implementation: str) -> Iterator[None]:
    if implementation == "torch":
        import torch

        torch.set_num_threads(1)
        yield
        return
    from jaxvjp.tools.scripts import as_torch

    with as_torch():
        yield


def _tests(module: Any) -> Iterator[tuple[str, unittest.TestCase]]:
    for each in list(vars(module).values()):
        if isinstance(each, type) and issubclass(each, unittest.TestCase) and each.__module__ == module.__name__:
            for name in unittest.defaultTestLoader.getTestCaseNames(each):
                yield f"{each.__name__}.{name}", each(name)


def outcome(test: unittest.TestCase, lost: dict[str, str]) -> dict[str, str]:
    """Runs a test: its status, the first line of what was wrong, and the traceback."""
    result = _Result()
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as unittest's own runner
        unittest.TestSuite([test]).run(result)
    if result.problems:
        return _judged(result.problems[0], lost)
    if result.unexpectedSuccesses:
        return {"status": UNRAISED, "told": "it is expected to fail, and did not"}
    if result.skipped:
        return {"status": NOT_APPLICABLE, "told": result.skipped[0][1]}
    return {"status": PASSED}


class _Result(unittest.TestResult):
    """Keeps exceptions, of which unittest makes text."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[BaseException] = []

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self.problems.append(err[1])

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self.problems.append(err[1])

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            self.problems.append(err[1])


def _judged(error: BaseException, lost: dict[str, str]) -> dict[str, str]:
    said = str(error)
    told = f"{type(error).__name__}: {said}".strip().partition("\n")[0]
    status = ERROR
    if isinstance(error, AssertionError):
        status = WRONG
        if re.search(r" not raised( by|$)| not triggered", said):
            status = UNRAISED
        elif re.search(r'^"[^"]*" does not match "', said, re.DOTALL):
            status = ERROR  # another sentence
    elif type(error).__name__ == "GradcheckError":
        status = WRONG
    elif isinstance(error, NameError) and error.name in lost:
        status, told = MISSING, f"{told} ({lost[error.name]})"
    elif isinstance(error, ImportError) or (isinstance(error, AttributeError) and _is_torchs(error)):
        status = MISSING
    text = "".join(traceback.format_exception(error))
    return {"status": status, "told": told[:300], "traceback": text[-6000:]}


def _is_torchs(error: AttributeError) -> bool:
    """Whether the attribute that is not there is one of torch's."""
    owner = error.obj if isinstance(error.obj, type) else type(error.obj)
    places = {owner.__module__, getattr(error.obj, "__name__", "")}
    return any(str(place).partition(".")[0] in ("torch", "jaxvjp", "functorch") for place in places)


def _restore(implementation: str) -> None:
    """What a failed test may have left, and hooks of all modules, which tests clear by torch's private names."""
    import torch

    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    if implementation == "jaxvjp":
        from jaxvjp.nn.modules.hooks import forget_global_hooks

        forget_global_hooks()


def _forget() -> None:
    import jax

    clear: Any = jax.clear_caches
    clear()


if __name__ == "__main__":
    main(*sys.argv[1:])

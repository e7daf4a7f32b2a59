"""When a program is compiled: once it has spent in NumPy what compiling it is expected to take.

`Waiting` puts off compiling a program; `set_compiling` says when programs are compiled.

A program runs in NumPy until that has cost as much as compiling it: so it takes at most about twice the best possible
time, however often it is called (the ski-rental rule of online decisions). XLA lets go of the interpreter's lock, so a
thread compiles, and the program changes over when that is done.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax

from jaxvjp.core.run.interpreter import PRIMITIVE, Interpreter
from jaxvjp.types.accelerators import is_on
from jaxvjp.types.environment import from_environment
from jaxvjp.types.forks import Fork, check

Compiled = Callable[..., Sequence[Any]]
When = str | int


class Compiling:
    """When programs are compiled: see `set_compiling`. `JAXVJP_XLA` in the environment says it for a process."""

    when: When = "when it pays" if is_on("numpy first") else "always"
    thread = True

    @classmethod
    def waits(cls) -> bool:
        """Whether programs run in NumPy before they are compiled."""
        Fork.start()
        if Fork.without and jax.default_backend() != "cpu":
            check("What is on an accelerator")
        return Fork.without or (cls.when != "always" and jax.default_backend() == "cpu")

    @classmethod
    def when_it_pays(cls) -> bool:
        """Whether the time that programs run in NumPy decides."""
        return cls.when == "when it pays" and cls.waits()


def set_compiling(when: When, *, thread: bool = True) -> None:
    """Says when a program is compiled by XLA; before that, on a CPU, NumPy runs it.

    Args:
        when: "when it pays", which is the default: once its runs have taken as long as its compile is expected to take.
            "always": at its first call. "never". Or a number: at that call of it.
        thread: whether a thread compiles "when it pays", and the program runs on in NumPy meanwhile.

    Raises:
        ValueError: for another word.

    The results of NumPy and of XLA differ by rounding. torch's counterpart is to wrap what is called often in
    `torch.compile`.
    """
    if when not in ("when it pays", "always", "never") and (type(when) is not int or when < 1):
        raise ValueError(f'"when it pays", "always", "never" or the number of a call expected, not {when!r}')
    Compiling.when, Compiling.thread = when, thread


from_environment("JAXVJP_XLA", None, lambda written: set_compiling(int(written) if written.isdecimal() else written))


class Expected:
    """What a compile is expected to take: learnt from those that were made."""

    base, equation = 20e-3, 2e-3
    """Seconds for a program, and for each equation of it, before anything is known of the machine."""
    ratio = 1.0

    def seconds(self, equations: int) -> float:
        return self.ratio * (self.base + self.equation * equations)

    def learn(self, equations: int, took: float) -> None:
        """Moves a quarter of the way to what a compile took, which other work on the machine may have slowed down."""
        seen = took / (self.base + self.equation * equations)
        self.ratio += (min(max(seen, 0.1), 10.0) - self.ratio) / 4


expected = Expected()


def pays(spent: float, compiles: float, operations: int) -> bool:
    """Whether so many more compiles of a program pay, for which that much was spent without them: `staging` asks."""
    return not Fork.without and (Compiling.when == "always" or spent >= compiles * expected.seconds(operations))


class Runs(Protocol):
    """What waits: `compilation.Executable`."""

    def replayed(self, *operands: Any) -> Sequence[Any]:
        """What JAX traces."""

    def interpreter(self, operands: Sequence[Any]) -> Interpreter:
        """What NumPy runs."""


class Waiting:
    """Stands in for a program's compiled function until it is compiled.

    Args:
        of: the program: `replayed` is what JAX traces, `interpreter` makes what NumPy runs.
        then: what compiles it at its first call.
        settle: is told to take `then` from then on.

    Attributes:
        spent: the seconds that it has run in NumPy.
        least: about how many seconds a run in NumPy takes.
        eagerly: whether the first call runs operation by operation in JAX, uncompiled, as it may be the only one. Used
            where programs do not wait in NumPy.
    """

    def __init__(self, of: Runs, then: Compiled, settle: Callable[[Compiled], None]) -> None:
        self.of = of
        self.then = then
        self.settle = settle
        self.calls = 0
        self.spent = self.least = 0.0
        self.eagerly = False
        self.interpreter: Interpreter | None = None
        self.thread: threading.Thread | None = None

    def __call__(self, *operands: Any) -> Sequence[Any]:
        self.calls += 1
        if self.interpreter is None:
            if not Compiling.waits():
                if self.eagerly and self.calls == 1:  # NumPy's arrays lack some of the methods that operations call
                    return self.of.replayed(
                        *[each if isinstance(each, jax.Array) else jax.device_put(each) for each in operands]
                    )
                return self.over(operands)
            self.interpreter = self.of.interpreter(operands)
            self.least = max(self.interpreter.seconds, self.interpreter.left_to_jax * PRIMITIVE)
        if self.is_due(self.interpreter.equations):
            if (
                Compiling.when != "when it pays"
                or not Compiling.thread
                or self.least >= expected.seconds(self.interpreter.equations)
            ):
                return self.over(operands)
            self.begin(operands)
        if self.thread is not None and not self.thread.is_alive():
            return self.over(operands)
        begun = time.perf_counter()
        results = self.interpreter(*operands)
        self.spent += time.perf_counter() - begun
        return results

    def is_due(self, equations: int) -> bool:
        """Whether it is to be compiled now: "when it pays", also if one run takes as long as the compile."""
        if Fork.without:
            return False
        if Compiling.when == "when it pays":
            return max(self.spent, self.least) >= expected.seconds(equations)
        return Compiling.when == "always" or (type(Compiling.when) is int and self.calls >= Compiling.when)

    def over(self, operands: tuple[Any, ...]) -> Sequence[Any]:
        """Has it compiled, here and now unless a thread did, and runs it."""
        self.settle(self.then)
        if self.thread is None:
            return self.timed(operands)
        self.thread.join()
        self.thread = None
        return self.then(*operands)

    def timed(self, operands: tuple[Any, ...]) -> Sequence[Any]:
        """Its first compiled run, of which nearly all is the compile: what that took is learnt."""
        begun = time.perf_counter()
        results = self.then(*operands)
        if self.interpreter is not None:
            expected.learn(self.interpreter.equations, time.perf_counter() - begun)
        return results

    def begin(self, operands: tuple[Any, ...]) -> None:
        """Has a thread compile it, unless one is at work."""
        if self.thread is None and not worker.locked():
            worker.thread = threading.Thread(target=self._compile, args=(operands,), name="jaxvjp compiles")
            worker.thread.start()
            self.thread = worker.thread

    def _compile(self, operands: tuple[Any, ...]) -> None:
        with jax.enable_x64(True):  # and runs it to its end: XLA crashes where the process ends before
            jax.block_until_ready(self.timed(operands))  # type: ignore[no-untyped-call]


class Worker:
    """The thread that compiles: one program at a time. An interrupt before it starts leaves nothing locked."""

    thread: threading.Thread | None = None

    def locked(self) -> bool:
        """Whether it is at work. In a child made by `fork` it is not."""
        return self.thread is not None and self.thread.is_alive()


worker = Worker()


def threads() -> int:
    """How many threads of the user's there are: the one that compiles is none. `staging` asks."""
    return threading.active_count() - worker.locked()

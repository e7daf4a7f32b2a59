"""torch's `utils.benchmark`: `Timer`, which measures a statement until its value is there."""

from __future__ import annotations

import gc
import statistics
import time
import timeit
from collections.abc import Callable, Mapping
from typing import Any

from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor

__all__ = ["Measurement", "Timer"]


class Measurement:
    """Times of a statement: `mean`, `median` and `iqr` in seconds. As `torch.utils.benchmark.Measurement`."""

    def __init__(self, number_per_run: int, raw_times: list[float], title: str) -> None:
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.title = title

    @property
    def times(self) -> list[float]:
        """Seconds for one run of the statement, of each measurement."""
        return [each / self.number_per_run for each in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of `times`."""
        return statistics.mean(self.times)

    @property
    def median(self) -> float:
        """The median of `times`."""
        return statistics.median(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the quartiles of `times`."""
        if len(self.raw_times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    def __repr__(self) -> str:
        count = len(self.raw_times)
        return (
            f"<{type(self).__module__}.Measurement>\n{self.title}\n  Median: {self.median * 1e6:.2f} us\n"
            f"  {count} measurement{'s' * (count > 1)}, {self.number_per_run} runs each"
        )


class Timer:
    """Measures a statement, as `timeit.Timer`. Counterpart of `torch.utils.benchmark.Timer`.

    Values are computed when they are read; so what a statement gives, or gives a name, is read after each run.

    Args:
        stmt: the statement, or a function without arguments.
        setup: what runs once before.
        global_setup: accepted only if it is empty: it is for C++.
        timer: gives the time in seconds.
        globals: the names that the statement knows.
        label, sub_label, description, env: what a measurement is called.
        num_threads: accepted, without effect: JAX's threads are its own.
        language: "python".

    ValueError for another language.
    """

    def __init__(
        self,
        stmt: str | Callable[[], Any] = "pass",
        setup: str | Callable[[], Any] = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = time.perf_counter,
        globals: Mapping[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(language).lower() not in ("python", "py"):
            raise ValueError(f"there is no Timer for {language} here")
        if global_setup:
            raise ValueError("global_setup is only for C++")
        names: dict[str, Any] = {} if globals is None else {**globals}
        if callable(setup):
            setup()
        else:
            exec(setup, names)
        self.__run__ = stmt if callable(stmt) else _function(stmt, names)
        self._timer = timeit.Timer(lambda: _read(self.__run__()), timer=timer)
        self.__title__ = ": ".join(each for each in (label or str(stmt), sub_label, description) if each)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Measures `number` runs at once, after a few that are not counted."""
        self._timer.timeit(max(int(number // 100), 2))
        return Measurement(number, [self._timer.timeit(number)], self.__title__)

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Measures runs in blocks for at least `min_run_time` seconds."""
        return _measured(self, min_run_time, callback, lambda so_far: True)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Any = None
    ) -> Measurement:
        """Measures runs in blocks until their `iqr` is below `threshold` times the median, or for `max_run_time`."""

        def settled(so_far: Measurement) -> bool:
            few = len(so_far.raw_times) < 4
            return sum(so_far.raw_times) >= max_run_time or not (few or so_far.iqr >= threshold * so_far.median)

        return _measured(self, min_run_time, callback, settled)


def _measured(timer: Timer, min_run_time: float, callback: Any, enough: Callable[[Measurement], bool]) -> Measurement:
    """Blocks of runs, for `min_run_time` and until there are enough."""
    number, taken = timer._timer.autorange(callback)
    number = max(1, round(number * min(1.0, min_run_time / max(taken, 1e-9) / 10)))
    found = Measurement(number, [], timer.__title__)
    gc.collect()
    while sum(found.raw_times) < min_run_time or not enough(found):
        found.raw_times.append(timer._timer.timeit(number))
    return found


def _function(statement: str, names: dict[str, Any]) -> Callable[[], Any]:
    """A function that runs a statement, and gives its value if it is an expression, else all that has a name."""
    try:
        code = compile(statement, "<timed>", "eval")
    except SyntaxError:
        code = compile(statement, "<timed>", "exec")
        return lambda: (eval(code, names), list(names.values()))
    return lambda: eval(code, names)


def _read(value: Any) -> None:
    """Computes tensors, as they are or in a tuple or list."""
    if isinstance(value, Tensor):
        value.__value__.block_until_ready()
    elif isinstance(value, tuple | list):
        for each in value:
            _read(each)


complete_all(globals(), __all__, "utils.benchmark", "no JAX: `timeit`")

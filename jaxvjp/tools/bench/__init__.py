"""How long a warm step takes: torch eager, hand-written `jax.jit`, jaxvjp and `jaxvjp.jit`, as ratios. Run by hand.

`python -m jaxvjp bench` prints a line per workload. The contenders are timed in one process, in rounds that alternate
between them, and the ratios of their medians are shown, as seconds would depend on the machine. Every program is
compiled at its first call (`set_compiling("always")`); `bench --cold` measures the calls before that, which run in
NumPy.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax

import jaxvjp
from jaxvjp.core.run.compilation import counters
from jaxvjp.core.run.history import history
from jaxvjp.core.run.tiers import Compiling, set_compiling
from jaxvjp.explain import terminal
from jaxvjp.tools.bench.workloads import Step, Workload, workloads
from jaxvjp.types.compiled import CYTHONIZED

ROUNDS = 15
ROUND_SECONDS = 0.02

TORCH, BY_HAND, OURS, STAGED = "torch", "by hand", "jaxvjp", "jit"
AS_A_WHOLE = (BY_HAND, STAGED)


def measure(steps: dict[str, Step], warm: int, fresh: bool = False) -> dict[str, Any]:
    """For each step the seconds of its first call, the median seconds of later ones, and for jaxvjp its counters.

    After `warm` calls each, steps take turns in rounds. A `fresh` step, which is another program at each call, is timed
    call by call; if it is compiled as a whole there is nothing to warm up.
    """
    history.programs.clear()
    first: dict[str, float] = {}
    repeats = dict.fromkeys(steps, 1)
    for name, step in steps.items():
        start = time.perf_counter()
        _finish(step())
        first[name] = time.perf_counter() - start
        for _ in range(0 if fresh and name in AS_A_WHOLE else warm):
            _finish(step())
        if name == OURS:
            programs = [each for _, each in history.programs]
        if not fresh:
            start, calls = time.perf_counter(), 0
            while calls < warm and time.perf_counter() < start + ROUND_SECONDS:
                _finish(step())
                calls += 1
            repeats[name] = max(1, int(ROUND_SECONDS * calls / (time.perf_counter() - start)))
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    compiles = dispatches = 0
    for _ in range(ROUNDS):
        for name, step in steps.items():
            if not fresh:  # not to measure threads and memory that the previous contender left
                _finish(step())
            before = counters.compiles, counters.dispatches
            start = time.perf_counter()
            for _ in range(repeats[name]):
                result = step()
            _finish(result)
            seconds[name].append((time.perf_counter() - start) / repeats[name])
            if name == OURS:
                compiles += counters.compiles - before[0]
                dispatches += counters.dispatches - before[1]
    calls = ROUNDS * repeats[OURS]
    return {
        "first": first,
        "seconds": {name: statistics.median(each) for name, each in seconds.items()},
        "way": str(max(programs, key=lambda each: each.program.weight).choice) if programs else "",
        "compiles": compiles / calls,
        "dispatches": dispatches / calls,
    }


def contenders(workload: Workload, torch: Any) -> dict[str, Step]:
    """A step for each contender, which takes no arguments."""
    steps = {
        BY_HAND: workload.by_hand(*workload.data),
        OURS: _computing(workload.imperative(jaxvjp, *workload.data)),
        STAGED: jaxvjp.jit(workload.imperative(jaxvjp, *workload.data)),
    }
    if torch is not None:
        steps = {TORCH: workload.imperative(torch, *workload.data), **steps}
    if workload.given is not None:
        for name, step in steps.items():
            given = workload.given()
            # Every contender gets new lengths, but one that needs warming up has compiled for many other lengths
            # before.
            skipped = itertools.islice(given, workload.warm if workload.fresh and name in AS_A_WHOLE else 0, None)
            steps[name] = lambda step=step, skipped=skipped: step(next(skipped))
    return {name: partial(_reading, step) if workload.reads else step for name, step in steps.items()}


def _reading(step: Step) -> Any:
    loss, *others = step()
    loss.item()
    return others


def _computing(step: Step) -> Step:
    """A recorded step that also computes its results, as the other contenders do."""

    def computed(*given: Any) -> Any:
        result = step(*given)
        for each in result if type(result) is tuple else (result,):
            _ = each.value
        return result

    return computed


def _finish(result: Any) -> None:
    """Waits for a step's result, of any contender."""
    for each in jax.tree.leaves(result, is_leaf=lambda each: isinstance(each, jaxvjp.Tensor)):
        array = each.__value__ if isinstance(each, jaxvjp.Tensor) else each
        if isinstance(array, jax.Array):
            array.block_until_ready()
        elif getattr(array, "is_cuda", False) and not isinstance(each, jaxvjp.Tensor):
            importlib.import_module("torch").cuda.synchronize()


def run(chosen: Sequence[Workload], torch: Any) -> list[dict[str, Any]]:
    """The figures of each workload, with its name; programs are compiled at their first call."""
    results = []
    with compiled_at_once():
        for workload in terminal.progress(chosen, "measuring"):
            steps = contenders(workload, torch)
            results.append({"workload": workload.name, **measure(steps, workload.warm, workload.fresh)})
    return results


@contextmanager
def compiled_at_once() -> Iterator[None]:
    """Has programs compiled at their first call in this block."""
    when, thread = Compiling.when, Compiling.thread
    set_compiling("always")
    try:
        yield
    finally:
        set_compiling(when, thread=thread)


def row(result: dict[str, Any]) -> list[str]:
    seconds, first = result["seconds"], result["first"]
    ratios = [f"{seconds[OURS] / seconds[name]:.2f}" if name in seconds else "-" for name in (TORCH, BY_HAND)]
    return [
        result["workload"],
        *[f"{seconds[name] * 1e6:.1f}" if name in seconds else "-" for name in (TORCH, BY_HAND, OURS, STAGED)],
        *ratios,
        f"{seconds[STAGED] / seconds[BY_HAND]:.2f}",
        result["way"],
        f"{result['compiles']:g}",
        f"{result['dispatches']:g}",
        *[f"{first[name]:.2f}" for name in (BY_HAND, OURS)],
    ]


COLUMNS = ["workload", "torch µs", "by hand µs", "jaxvjp µs", "jit µs", "/ torch", "/ by hand", "jit / by hand", "way"]
COUNTS = ["compiles", "dispatches"]
FIRST = ["first by hand s", "first jaxvjp s"]


OTHERS = {
    "--first-use": "jaxvjp.tools.bench.first_use",
    "--cold": "jaxvjp.tools.bench.cold",
}
"""Other measurements, by command-line option."""


def main(arguments: Sequence[str] = (), workloads: Callable[[], list[Workload]] = workloads) -> int:
    """Prints what warm steps take, compiled; with `--json` all figures. A name, or a part of one, picks workloads.

    As the first argument, `--first-use` measures the first gradient of a new process instead, and `--cold` whole
    scripts as processes.
    """
    if arguments and arguments[0] in OTHERS:
        return int(importlib.import_module(OTHERS[arguments[0]]).main(arguments[1:]))
    parser = argparse.ArgumentParser(prog="python -m jaxvjp bench", description=main.__doc__)
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.add_argument("--inline", action="store_true", help="have XLA compute in the calling thread (docs/speed.md)")
    parser.add_argument("names", nargs="*", help="parts of the names of the workloads to run")
    options = parser.parse_args(arguments)
    if options.inline:
        # Before JAX begins. This process is the command's own.
        jax.config.update("jax_cpu_enable_async_dispatch", False)  # type: ignore[no-untyped-call]
    chosen = [each for each in workloads() if not options.names or any(part in each.name for part in options.names)]
    if not chosen:
        parser.error(f"there is no workload with {' or '.join(map(repr, options.names))} in its name")
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    device = jax.devices()[0]
    results = run(chosen, torch)
    if options.json:
        about = {"device": device.device_kind, "platform": device.platform, "compiled": CYTHONIZED}
        print(json.dumps({**about, "results": results}))
        return 0
    if torch is None:
        print("torch is not installed, so its column is empty: `pip install 'jaxvjp[compare]'`")
    form = "compiled" if CYTHONIZED else "as pure Python: an install from a wheel is compiled where it can be"
    print(
        f"on {device.platform} ({device.device_kind}), jaxvjp {form}; every program compiled by XLA at its first call"
    )
    terminal.table(COLUMNS + COUNTS + FIRST, [row(result) for result in results])
    if torch is not None and results:
        ratios = [result["seconds"][OURS] / result["seconds"][TORCH] for result in results]
        print(f"geometric mean of the ratios to torch: {statistics.geometric_mean(ratios):.2f}")
    return 0

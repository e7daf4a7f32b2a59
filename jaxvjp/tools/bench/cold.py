"""Times whole scripts as processes, imports included: `python -m jaxvjp bench --cold`, run by hand.

Each script runs in turns under torch, under jaxvjp with an empty compilation cache, and under jaxvjp again, with the
cache that the run before has filled.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxvjp.explain import terminal
from jaxvjp.tools.bench.first_use import PROGRAMS, Took, process

ROUNDS = 3
SCRIPTS = Path(__file__).parents[3] / "examples" / "torch_scripts"
"""The scripts; they exist in a checkout only."""

TORCH, FIRST, AGAIN = "torch", "first", "again"

UNDER_JAXVJP = """
import atexit, sys

atexit.register(lambda: print(f"\\n{counters.compiles}", file=sys.stderr))  # threads that compile have ended by then
from jaxvjp import counters
from jaxvjp.__main__ import process

sys.argv.insert(1, "run")
sys.exit(process())
"""
"""`python -m jaxvjp run SCRIPT`, with the number of compiled programs as the last line on standard error."""


def measured(script: Path, rounds: int, with_torch: bool) -> dict[str, Any]:
    """The medians of a script's figures, over rounds that alternate between the ways to run it."""
    runs: dict[str, list[Took]] = {name: [] for name in (TORCH, FIRST, AGAIN) if with_torch or name != TORCH}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            kept = {"JAX_COMPILATION_CACHE_DIR": cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
            for name, each in runs.items():
                each.append(process([*([] if name == TORCH else ["-c", UNDER_JAXVJP]), str(script)], **kept))
    return {
        "script": script.stem,
        "seconds": {name: statistics.median(took.seconds for took in each) for name, each in runs.items()},
        "user": {name: statistics.median(took.user for took in each) for name, each in runs.items()},
        "compiles": {
            name: statistics.median(int(took.errors.split()[-1]) for took in runs[name]) for name in (FIRST, AGAIN)
        },
    }


def ratios(results: Sequence[dict[str, Any]], figure: str, name: str) -> list[float]:
    """For each script its figure under `name`, divided by that under torch."""
    return [result[figure][name] / result[figure][TORCH] for result in results]


def _row(result: dict[str, Any]) -> list[str]:
    cells = [result["script"]]
    for figure in ("seconds", "user"):
        given = result[figure]
        cells += [f"{given[name]:.2f}" if name in given else "-" for name in (TORCH, FIRST, AGAIN)]
        cells += [f"{ratios([result], figure, name)[0]:.2f}" if TORCH in given else "-" for name in (FIRST, AGAIN)]
    return [*cells, *[f"{result['compiles'][name]:g}" for name in (FIRST, AGAIN)]]


COLUMNS = ["script", "torch s", "first s", "again s", "first / torch", "again / torch"]
COLUMNS += [*[f"user: {each}" for each in COLUMNS[1:]], "first compiles", "again compiles"]


def main(arguments: Sequence[str] = ()) -> int:
    """Runs scripts as whole processes: under torch, under jaxvjp first (nothing cached), and under jaxvjp again.

    Prints a table of seconds on the clock, of user seconds of all threads, and of compiles; medians over the rounds.
    """
    parser = argparse.ArgumentParser(prog="python -m jaxvjp bench --cold", description=main.__doc__)
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each runs (default: %(default)s)")
    parser.add_argument("paths", nargs="*", type=Path, default=[SCRIPTS], help="scripts, or folders of them")
    given = parser.parse_args(arguments)
    if given.rounds < 1:
        parser.error("--rounds is at least 1")
    scripts: list[Path] = []
    for path in given.paths:
        if not path.exists():
            also = "; the examples are in a checkout only, so name scripts of your own" if path == SCRIPTS else ""
            parser.error(f"there is no {str(path)!r}{also}")
        scripts += sorted(path.glob("*.py")) if path.is_dir() else [path]
    if not scripts:
        parser.error(f"no scripts in {', '.join(str(each) for each in given.paths)}")
    with_torch = importlib.util.find_spec("torch") is not None
    for name in ("jaxvjp", *[TORCH] * with_torch):
        process(["-c", PROGRAMS[name]])  # writes bytecode, and fills the system's file cache
    results, failed = [], 0
    for script in terminal.progress(scripts, "measuring", len(scripts)):
        try:
            results.append(measured(script, given.rounds, with_torch))
        except RuntimeError as error:
            failed += 1
            print(f"{script}: {error}", file=sys.stderr)
    if given.json:
        print(json.dumps({"rounds": given.rounds, "results": results}))
    elif results:
        _show(results, with_torch)
    return 1 if failed else 0


def _show(results: Sequence[dict[str, Any]], with_torch: bool) -> None:
    if not with_torch:
        print("torch is not installed, so its columns are empty: `pip install 'jaxvjp[compare]'`")
    terminal.table(COLUMNS, [_row(result) for result in results])
    for figure in ("seconds", "user") if with_torch else ():
        for name in (FIRST, AGAIN):
            each = ratios(results, figure, name)
            worst = results[each.index(max(each))]["script"]
            mean = statistics.geometric_mean(each)
            print(
                f"{figure}, {name}: geometric mean of the ratios to torch {mean:.2f}, worst {max(each):.2f} ({worst})"
            )

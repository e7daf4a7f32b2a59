"""Counts the instructions that warm steps take, beside those of another checkout, by Valgrind.

    python tools/count_instructions.py ../before               # all workloads of the benchmark that are small
    python tools/count_instructions.py ../before network hook  # some of them

A time differs by a tenth from one minute to the next, the smallest of three counts by half a hundredth: it says
whether recording and walking back became slower. Both checkouts have to be compiled in place (`JAXVJP_COMPILE=1 pip
install -e .`), or neither. What XLA's threads do while they wait is left out, and so is the choice of a way to compile.
Needs `valgrind`.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SMALL = (
    *("x * 2 ten times", "3a + 2b", "61 tiny", "network's training", "recurrent net", "Hessian-vector"),
    *("64 per-sample", "pullback of 64", "loop of varying", "length never seen", "steps with a hook", "10,000 adds"),
)
"""Parts of the names of the workloads in which most of the time is spent in Python and in this package."""
STEPS, LONG_STEPS = 40, 2
"""How many steps are counted; of a step with thousands of operations fewer."""
RUNS = 3
"""Of how many processes the smallest count is taken: where strings and XLA's threads lie adds up to a twentieth."""
WARM = 40
WAITING = re.compile(r"Eigen::|tsl::thread")

WORKLOADS = Path(__file__).resolve().parents[1] / "jaxvjp/tools/bench/workloads.py"
"""Of this checkout: both run the same lines."""
STEPPING = f"""
import gc, importlib, importlib.util, os, runpy, subprocess, sys
import jax, jaxvjp
if importlib.util.find_spec("jaxvjp.core.run"):
    importlib.import_module("jaxvjp.core.run.tiers").set_compiling("always")
workloads = runpy.run_path({str(WORKLOADS)!r}, run_name="workloads")["workloads"]
[workload] = [each for each in workloads() if sys.argv[1] in each.name]
stepped, given = workload.imperative(jaxvjp, *workload.data), workload.given and workload.given()
def step():
    result = stepped(next(given)) if given else stepped()
    result = result if type(result) is tuple else (result,)
    jax.block_until_ready([each.value for each in result])
    if workload.reads:
        result[0].item()
long = workload.name.startswith(("1,000 ", "10,000 "))
for _ in range(4 if long else {WARM}):
    step()
gc.collect()
control = lambda switch: subprocess.run(["callgrind_control", "-i", switch, str(os.getpid())], capture_output=True)
control("on")
for _ in range({LONG_STEPS} if long else {STEPS}):
    step()
control("off")
os._exit(0)
"""


def instructions(checkout: Path, workload: str) -> int:
    """How many instructions the counted steps of a workload take in that checkout."""
    with tempfile.TemporaryDirectory() as scratch:
        told = Path(scratch) / "told"
        counting = ("valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={told}")
        subprocess.run(
            [*counting, sys.executable, "-c", STEPPING, workload],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout), "JAXVJP_CHOOSE": "0"},
            check=True,
            capture_output=True,
        )
        return counted(told.read_text().splitlines())


def counted(lines: Sequence[str]) -> int:
    """The sum of what functions took themselves, in a file of Callgrind, without those that wait.

    A line `fn=(7) name` begins a function, later `fn=(7)`. A line of numbers ends with a count; one that follows a line
    `calls=` is what the called function took.
    """
    names: dict[str, str] = {}
    total, waits, called = 0, False, False
    for line in lines:
        function = re.match(r"(c?)fn=(\(\d+\))(?: (.*))?$", line)
        if function:
            if function[3]:
                names[function[2]] = function[3]
            if not function[1]:
                waits = bool(WAITING.search(names[function[2]]))
        elif line.startswith("calls="):
            called = True
        elif line[:1] in "+-*0123456789" and line:
            total += 0 if called or waits else int(line.split()[-1])
            called = False
    return total


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the other checkout")
    parser.add_argument("workloads", nargs="*", help="parts of names of workloads")
    given = parser.parse_args(arguments)
    if shutil.which("valgrind") is None:
        print("This needs Valgrind: apt install valgrind", file=sys.stderr)
        return 2
    here, other = Path(__file__).resolve().parents[1], given.other.resolve()
    ratios: list[float] = []
    for workload in SMALL:
        if not given.workloads or any(part in workload for part in given.workloads):
            now, before = (min(instructions(each, workload) for _ in range(RUNS)) for each in (here, other))
            ratios.append(now / before)
            print(f"{workload:20} {before / 1e6:9.1f} {now / 1e6:9.1f} million  {ratios[-1]:.3f}", flush=True)
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

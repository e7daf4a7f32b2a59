"""Proves a ported script: trains it in a process that has JAX and not this package, and compares (`check`)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from jaxvjp.explain.ported import Ported

TOLERANCE = 1e-4
"""How far losses and the final state may be apart, relative to the largest number of each."""
APART = """
import sys
import numpy as np
_, script, results, *names = sys.argv
sys.argv = [script, "--exact-random"]
found = {"__name__": "__main__", "__file__": script}
try:
    exec(compile(open(script, encoding="utf-8").read(), script, "exec"), found)
except NotImplementedError:  # at its end: not all is in it
    pass
assert not {"jaxvjp", "torch"} & {*sys.modules}
arrays = {f"loss {step} {place}": each for step, row in enumerate(found["losses"]) for place, each in enumerate(row)}
arrays.update({name: eval(name, found) for name in names})
np.savez(results, **{name: np.asarray(each, np.complex128) for name, each in arrays.items()})
"""


def check(found: Ported, output: Path, called: str = "") -> bool:
    """Trains the script at `output` in a clean process; whether its losses and what it leaves are those of `found`.

    What was compared is printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.npz"
        command = [sys.executable, "-P", "-c", APART, str(output.resolve()), str(results), *found.state]
        environment = {**os.environ, "PYTHONPATH": ""}
        ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
        if ended.returncode:
            print(f"{output} does not run:\n{ended.stderr}", file=sys.stderr)
            return False
        with np.load(results) as given:
            theirs = dict(given)
    own = {f"loss {step} {place}": each for step, row in enumerate(found.losses) for place, each in enumerate(row)}
    own.update(found.state)
    distances = {name: distance(value, theirs[name]) for name, value in own.items()}
    worst = max(distances, key=lambda name: distances[name])
    good = distances[worst] <= TOLERANCE
    print(
        f"{called or output}: {len(found.losses)} steps, {len(found.state)} arrays at the end: "
        f"{'DISAGREE' if not good else 'NOT ALL IS IN IT' if found.dropped else 'agree'}; "
        f"largest relative difference {distances[worst]:.1e} ({worst})",
        file=sys.stderr,
    )
    return good


def distance(one: Any, other: Any) -> float:
    """The largest difference of two arrays, relative to their largest number; infinite where a number is not finite in
    only one."""
    first, second = np.asarray(one, np.complex128), np.asarray(other, np.complex128)
    if first.shape != second.shape or not np.array_equal(np.isfinite(first), np.isfinite(second)):
        return float("inf")
    size = max(float(np.max(np.abs(first), initial=0)), float(np.max(np.abs(second), initial=0)), 1e-6)
    return float(np.max(np.abs(first - second), initial=0)) / size

"""`python -m jaxvjp port script.py -o script_jax.py`: a torch training script as a JAX script."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxvjp.explain.literals import Unwritable
from jaxvjp.explain.optimizers import Updates
from jaxvjp.explain.ported import Ported, ported
from jaxvjp.explain.steps import NotPortable
from jaxvjp.tools.explain import recorded

TOLERANCE = 1e-4
"""How far losses and the final state may be apart, relative to the largest number of each."""
APART = """
import runpy, sys
import numpy as np
found = runpy.run_path(sys.argv[1])
assert not {"jaxvjp", "torch"} & {*sys.modules}
arrays = {f"loss {step} {place}": each for step, row in enumerate(found["losses"]) for place, each in enumerate(row)}
arrays.update({name: eval(name, found) for name in sys.argv[3:]})
np.savez(sys.argv[2], **{name: np.asarray(each) for name, each in arrays.items()})
"""


def main(arguments: Sequence[str]) -> int:
    """The command; returns its exit status: 1 where a script cannot be ported or is not proved, 2 for a wrong call."""
    parser = argparse.ArgumentParser(prog="jaxvjp port", description="Runs a training script, and writes it in JAX.")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="the script to write")
    parser.add_argument("--check", action="store_true", help="also train the ported script, and compare")
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs="*", help="what the script finds in sys.argv, after --")
    given = parser.parse_intermixed_args(arguments)
    if not given.script.is_file():
        parser.error(f"there is no script {str(given.script)!r}")
    output = given.output or given.script.with_name(f"{given.script.stem}_jax.py")
    with Updates() as updates:
        explanation = recorded(given.script, given.arguments, "grad")
    if explanation is None:
        return 1
    try:
        found = ported(explanation.story, updates.found, f'{given.script.name}, ported."""', f"{output.stem}.npz")
    except (NotPortable, Unwritable) as error:
        print(f"{given.script} cannot be ported: {error}", file=sys.stderr)
        return 1
    output.write_text(found.source, encoding="utf-8")
    if found.data:
        np.savez(output.with_suffix(".npz"), **found.data)
    return check(found, output) if given.check else 0


def check(found: Ported, output: Path) -> int:
    """Trains the ported script in a clean process and compares; 1 if it differs, which is printed."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.npz"
        command = [sys.executable, "-P", "-c", APART, str(output), str(results), *found.state]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": ""})
        if ended.returncode:
            print(f"{output} does not run:\n{ended.stderr}", file=sys.stderr)
            return 1
        with np.load(results) as given:
            theirs = dict(given)
    own = {f"loss {step} {place}": each for step, row in enumerate(found.losses) for place, each in enumerate(row)}
    own.update(found.state)
    distances = {name: distance(value, theirs[name]) for name, value in own.items()}
    worst = max(distances, key=lambda name: distances[name])
    good = distances[worst] <= TOLERANCE
    verdict = "agree" if good else "DISAGREE"
    print(
        f"{output}: {len(found.losses)} steps, {len(found.state)} arrays at the end: {verdict}; "
        f"largest relative difference {distances[worst]:.1e} ({worst})",
        file=sys.stderr,
    )
    return 0 if good else 1


def distance(one: Any, other: Any) -> float:
    """The largest difference of two arrays, relative to their largest number; infinite where a number is not finite in
    only one."""
    first, second = np.asarray(one, np.complex128), np.asarray(other, np.complex128)
    if first.shape != second.shape or not np.array_equal(np.isfinite(first), np.isfinite(second)):
        return float("inf")
    size = max(float(np.max(np.abs(first), initial=0)), float(np.max(np.abs(second), initial=0)), 1e-6)
    return float(np.max(np.abs(first - second), initial=0)) / size

"""Proves a ported script: trains it in a process that has JAX and not this package, and compares (`check`)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.explain.ported import Ported

TOLERANCE = 1e-4
"""How far losses and the final state may be apart, relative to the largest number of each."""
SAME = 10
"""What a unit in the last place moves by a tenth of a difference, or more, differs by rounding alone."""
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


class Proof(NamedTuple):
    """What a check found: whether all agrees, in words, and whether what differs may be rounding in single precision:
    no loss, and by little next to the largest number of its dict. `unrepeated` says why there was no check; `ran`
    whether what the ported script imports is there."""

    good: bool = False
    told: str = ""
    near: bool = False
    unrepeated: str = ""
    ran: bool = True


def check(found: Ported, output: Path, called: str = "", moved: Path | None = None) -> Proof:
    """Trains the script at `output` in a clean process: are its losses and what it leaves those of `found`? `moved` is
    the same script, beginning with numbers that differ in the last place: what that moves as much is made of rounding,
    if it is little next to the largest number of its dict, and differs in no formula."""
    theirs = _trained(found, output)
    if isinstance(theirs, Proof):
        return theirs
    own = {f"loss {step} {place}": each for step, row in enumerate(found.losses) for place, each in enumerate(row)}
    own.update(found.state)
    distances = {name: distance(value, theirs[name]) if name in theirs else inf for name, value in own.items()}
    sizes: dict[str, float] = {}
    for name, value in own.items():
        size = float(np.max(np.abs(value), initial=0, where=np.isfinite(value)))
        sizes[_dict_of(name)] = max(sizes.get(_dict_of(name), 0.0), size)
    near = all(name in theirs and distance(own[name], theirs[name], sizes[_dict_of(name)]) <= TOLERANCE for name in own)
    differing = [name for name in found.state if near and distances[name] > TOLERANCE]
    again = _trained(found, moved) if differing and moved is not None else theirs
    moves = {name: distance(theirs[name], again[name]) for name in differing} if isinstance(again, dict) else {}
    rounding = [
        f"{_words(name)} ({distances.pop(name):.1e})" for name in moves if distances[name] <= SAME * moves[name]
    ]
    worst = max(distances, key=lambda name: distances[name])
    good = distances[worst] <= TOLERANCE
    told = f"largest relative difference {distances[worst]:.1e} ({_words(worst)})"
    if rounding:
        told += (
            f"; but for {', '.join(rounding)}: rounding alone, a unit in the last place at the beginning moves it so"
        )
    return Proof(
        good,
        f"{called or output}: {len(found.losses)} steps, {len(found.state)} arrays at the end: "
        f"{'DISAGREE' if not good else 'NOT ALL IS IN IT' if found.dropped else 'agree'}; "
        + (told if worst in theirs else f"the ported script tells no {_words(worst)}"),
        near,
    )


def _trained(found: Ported, output: Path) -> dict[str, Any] | Proof:
    """The losses of the script at `output`, and what it leaves; a proof that says why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.npz"
        command = [sys.executable, "-P", "-c", APART, str(output.resolve()), str(results), *found.state]
        environment = {**os.environ, "PYTHONPATH": ""}
        ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
        missing = re.search(r"No module named '(\w+)'", ended.stderr) if ended.returncode else None
        if missing:
            return Proof(
                told=f"{output} is not checked: it needs {missing[1]}, `pip install 'jaxvjp[port]'`.", ran=False
            )
        if ended.returncode:
            return Proof(told=f"{output} does not run:\n{ended.stderr}")
        with np.load(results) as given:
            return dict(given)


def _words(name: str) -> str:
    """What an array of the state is called: its expression, or the comment in it."""
    return name.rpartition("  # ")[2]


def _dict_of(name: str) -> str:
    """The dict of an array of the state; of what is in none, its own name."""
    outer = name.rpartition("[")[0]
    return outer if "[" in outer else name


def distance(one: Any, other: Any, least: float = 1e-6) -> float:
    """The largest difference of two arrays, relative to their largest number, or to `least`; infinite where a number is
    not finite in only one."""
    first, second = np.asarray(one, np.complex128), np.asarray(other, np.complex128)
    if first.shape != second.shape or not np.array_equal(np.isfinite(first), np.isfinite(second)):
        return float("inf")
    size = max(float(np.max(np.abs(first), initial=0)), float(np.max(np.abs(second), initial=0)), least, 1e-6)
    return float(np.max(np.abs(first - second), initial=0)) / size

"""`python -m jaxvjp port script.py -o script_jax.py`: a torch training script as a JAX script, proved by `--check`."""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxvjp.core.record.user_lines import user_line
from jaxvjp.explain.literals import Unwritable
from jaxvjp.explain.names import statement
from jaxvjp.explain.optimizers import Updates
from jaxvjp.explain.ported import Ported, ported
from jaxvjp.explain.steps import NotPortable
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.tools.explain import recorded

TOLERANCE = 1e-4
"""How far losses and the final state may be apart, relative to the largest number of each."""
NEEDS = [
    "It needs jax and numpy. Its batches and random numbers are those that torch's seed gives, as they were recorded.",
]
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
    with Updates() as updates, decisions() as decided:
        explanation = recorded(given.script, given.arguments, "grad")
    if explanation is None:
        return 1
    notes = [*said(decided)] and ["", "Values decided what ran; here it is as it was recorded:"]
    notes += [f"    {line}" for line in said(decided)]
    try:
        head = [
            f'"""{given.script.name} in JAX, ported by `python -m jaxvjp port` from {{steps}} recorded steps.',
            "",
            *NEEDS,
        ]
        text = "\n".join([*head, *[each.replace("{", "{{").replace("}", "}}") for each in notes], '"""'])
        found = ported(explanation.story, updates.found, text, f"{output.stem}.npz")
    except (NotPortable, Unwritable) as error:
        place = place_of(error.where)
        why = f"{f'{place}: ' if place else ''}{str(error).splitlines()[0]}"
        print(f"{given.script} cannot be ported\n{why}", *said(decided), sep="\n", file=sys.stderr)
        listed = [
            f'"""{given.script.name} cannot be ported to JAX:',
            "",
            f"    {why}",
            *notes,
            '"""',
            "",
            "raise SystemExit(__doc__)",
        ]
        output.write_text("\n".join(listed) + "\n", encoding="utf-8")
        return 1
    for each in said(decided):
        print(each, file=sys.stderr)
    output.write_text(found.source, encoding="utf-8")
    if found.data:
        np.savez(output.with_suffix(".npz"), allow_pickle=False, **found.data)
    return check(found, output) if given.check else 0


@contextlib.contextmanager
def decisions() -> Iterator[dict[Any, list[bool]]]:
    """A context that notes each time that the truth of a tensor is asked for, by the user's line."""
    found: dict[Any, list[bool]] = {}
    truth = Tensor.__bool__

    def noting(self: Tensor) -> bool:
        answer = truth(self)
        frame = sys._getframe(1)
        where = user_line(frame)
        if where is not None and where[0] is frame.f_code:  # the user's line itself, no optimizer that it calls
            found.setdefault(where, []).append(answer)
        return answer

    Tensor.__bool__ = noting  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Tensor.__bool__ = truth  # type: ignore[method-assign]


def said(decided: Mapping[Any, list[bool]]) -> list[str]:
    """What values decided: `line 5: while y.norm() < 10: true 3 times, false once; see jax.lax.while_loop`."""
    lines = []
    places: dict[Any, tuple[Any, list[bool]]] = {}
    for where, answers in decided.items():
        found = statement(where)
        if found is not None:
            places.setdefault((found.filename, found.line), (found, []))[1].extend(answers)
    for found, answers in places.values():
        true, false = answers.count(True), answers.count(False)
        function = "while_loop" if isinstance(found.tree, ast.While) else "cond"
        lines.append(f"line {found.line}: {found.text} true {true} times, false {false} times; see jax.lax.{function}")
    return lines


def place_of(where: Any) -> str:
    """`line 5`; empty if no source is known."""
    found = statement(where)
    return "" if found is None else f"line {found.line}"


def check(found: Ported, output: Path) -> int:
    """Trains the ported script in a clean process and compares; 1 if it differs, which is printed."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.npz"
        command = [sys.executable, "-P", "-c", APART, str(output), str(results), *found.state]
        ended = subprocess.run(
            command, capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": ""}
        )
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

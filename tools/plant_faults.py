"""Plants one small fault at a time in a copy of the tree, and says which of them the tests find.

    python tools/plant_faults.py                # all faults; a table, and exit status 1 if one was not found
    python tools/plant_faults.py staging 12     # those of an area or of a number

`faults.txt` has for each a file, the text before and the text after. The text before has to be in the file exactly
once, or nothing is run. The tests of the fault's area (`TESTS`) run in one process, until the first one fails. torch is
hidden from them, so that they compare with what is recorded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 900
"""How long the tests of one fault may run; a fault that makes them hang is found."""

TESTS = {
    "core/record": "tests/core/test_core.py tests/autograd/test_autograd.py tests/types "
    "tests/ops/test_python_numbers.py tests/autograd/test_saved_tensors.py tests/autograd/test_modes.py tests/tensor",
    "core/derive": "tests/autograd/test_autograd.py tests/autograd/test_graph.py tests/autograd/test_hooks.py "
    "tests/autograd/test_saved_tensors.py tests/autograd/test_partial_graphs.py tests/core tests/autograd",
    "core/run": "tests/core tests/autograd/test_autograd.py tests/staging",
    "autograd": "tests/autograd",
    "tensor": "tests/tensor tests/library tests/core/test_core.py tests/core/test_plans.py tests/types",
    "staging": "tests/staging tests/optim/test_staged_steps.py",
}
"""By area, the tests that look for its faults; the quickest and most general first."""


class Fault(NamedTuple):
    """A small change of a file's text."""

    file: str
    before: str
    after: str
    equivalent: str
    """Why no program can see the fault, where that is so."""

    @property
    def area(self) -> str:
        """The key of `TESTS` that the file is below."""
        return next(area for area in TESTS if self.file.startswith(area + "/"))

    def text(self, root: Path = ROOT) -> str:
        """The file's text with the fault; ValueError unless the text before is there exactly once."""
        text = (root / "jaxvjp" / self.file).read_text()
        if (times := text.count(self.before)) != 1:
            raise ValueError(f"{self.file}: {self.before!r} is there {times} times; it has to be there once")
        return text.replace(self.before, self.after)


def faults() -> list[Fault]:
    """Those of `faults.txt`."""
    found = []
    for block in (ROOT / "tools" / "faults.txt").read_text().split("\n\n")[1:]:
        file, *lines = block.strip().splitlines()
        before, after, why = ("\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+=")
        found.append(Fault(file, before.replace("$", "\n"), after.replace("$", "\n"), why))
    return found


FAULTS = faults()


def chosen(words: Sequence[str]) -> Iterator[tuple[int, Fault]]:
    """The faults, with their numbers, whose number or whose file's beginning is among the words; all without words."""
    for number, fault in enumerate(FAULTS):
        if not words or any(word == str(number) or fault.file.startswith(word) for word in words):
            yield number, fault


def copied(folder: Path) -> None:
    """A copy of what the tests need, and a `torch` that is not there."""
    for name in ("jaxvjp", "tests", "examples", "docs", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.so", ".*"))
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "hatch_build.py"):
        shutil.copy(ROOT / name, folder)
    (folder / "hidden").mkdir()
    (folder / "hidden" / "torch.py").write_text("raise ImportError('hidden from the tests')\n")


def first_failure(folder: Path, tests: str) -> str | None:
    """The first of the tests that fails in a copy, or why they ended otherwise; None if all pass."""
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb", "no", "-m", "not long", "-W", "ignore"]
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'hidden'}:{folder}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", *options, *tests.split()]
    try:
        ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} seconds"
    if ran.returncode == 0:
        return None
    lines = ran.stdout.splitlines()
    failed = [line.partition(" - ")[0].split(" ", 1)[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return failed[0] if failed else f"pytest ended with {ran.returncode}"


def main(words: Sequence[str]) -> int:
    """Runs the tests for each chosen fault and prints what found it; 1 if one is neither found nor equivalent."""
    planted = list(chosen(words))
    for _, fault in planted:
        fault.text()
    missed = same = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copied(folder)
        for number, fault in planted:
            file = folder / "jaxvjp" / fault.file
            whole = file.read_text()
            file.write_text(fault.text(folder))
            found = first_failure(folder, TESTS[fault.area])
            file.write_text(whole)
            missed += found is None and not fault.equivalent
            same += found is None and bool(fault.equivalent)
            without = f"equivalent: {fault.equivalent}" if fault.equivalent else "NOT FOUND"
            verdict = f"found by {found}" if found else without
            print(
                f"{number:3} {fault.file}: {fault.before.strip()!r} -> {fault.after.strip()!r}\n    {verdict}",
                flush=True,
            )
    print(f"{len(planted)} faults: {len(planted) - missed - same} found, {same} equivalent, {missed} not found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The report: which of torch's ops jaxvjp has, and which of them agree. `check` comes before this room.

`python -m jaxvjp ops` runs a few samples of each op, `python -m jaxvjp ops --full` all of them in every dtype, and
`python -m jaxvjp ops softmax linalg.norm` those ops alone.
"""

from __future__ import annotations

import argparse
import fnmatch
import textwrap
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from jaxvjp import creation, terminal
from jaxvjp.functions import overloads
from jaxvjp.opinfo.table import DIFFERS, NOT_DENSE, WHAT_IT_TAKES
from jaxvjp.publishing import PUBLISHED
from jaxvjp.tensor import Tensor

TITLES = {"function": "torch", "method": "Tensor"}
HEAD = """# torch's names in jaxvjp

Every function, method and in-place form that comes from the registry of ops or is written over it. This page is
written by `python -m jaxvjp.opinfo.report > docs/operators.md`, and a test holds it to the registry. How each fares
against torch's own samples: `python -m jaxvjp ops`."""
PASSED, FAILED, DIFFERENT, MISSING = "passed", "FAILED", "differs deliberately", "missing"


class Verdict(NamedTuple):
    """How one op of torch's database fared, and what was different."""

    op: Any
    status: str
    differences: list[Any]


def main(arguments: Sequence[str] = ()) -> int:
    """Runs the ops named (all by default) and prints the report; 1 where something failed."""
    parser = argparse.ArgumentParser(prog="jaxvjp ops", description="Compares every op with torch's.")
    parser.add_argument("names", nargs="*", metavar="op", help="torch's names of those to run; by default all")
    parser.add_argument("--full", action="store_true", help="every sample in every type")
    asked = parser.parse_args(arguments)
    names, full = asked.names, asked.full
    if find_spec("torch") is None or find_spec("expecttest") is None:
        print("Compared with nothing: torch's database of samples needs torch and expecttest.\n")
        covered()
        return 0
    from jaxvjp.opinfo.check import database, title

    ops = [op for op in database() if not names or op.name in names or title(op) in names]
    verdicts = [verdict(op, full) for op in terminal.progress(ops, "running torch's samples")]
    for each in verdicts:
        if each.status == FAILED:
            terminal.heading(title(each.op))
            for difference in each.differences[:8]:
                print(f"    {difference}")
    if not names:
        summary(verdicts)
    counts = Counter(each.status for each in verdicts)
    print(", ".join(f"{counts[status]} {status}" for status in (PASSED, FAILED, DIFFERENT, MISSING)))
    return 1 if counts[FAILED] else 0


def verdict(op: Any, full: bool) -> Verdict:
    """Runs one op of torch's database."""
    from jaxvjp.opinfo.check import EVERY, FLOATING, Missing, differences, title

    try:
        found = differences(op, EVERY if full else FLOATING, None if full else 3)
    except Missing:
        return Verdict(op, MISSING, [])
    if not found:
        return Verdict(op, PASSED, [])
    return Verdict(op, DIFFERENT if title(op) in DIFFERS else FAILED, found)


def summary(verdicts: Sequence[Verdict]) -> None:
    """How much of torch is covered, and what is missing, with what it would take."""
    missing = sorted({each.op.name for each in verdicts if each.status == MISSING})
    dense = {each.op.name for each in verdicts if each.op.supports_autograd and not _matches(each.op.name, NOT_DENSE)}
    lacking = {each.op.name for each in verdicts if each.status in (MISSING, FAILED)} & dense
    terminal.heading("missing")
    for name in missing:
        takes = next((text for pattern, text in WHAT_IT_TAKES.items() if fnmatch.fnmatch(name, pattern)), "")
        print(f"    {name}{': ' if takes else ''}{takes}")
    print(
        f"{len(dense) - len(lacking)} of {len(dense)} differentiable dense ops of torch's database "
        f"({100 * (1 - len(lacking) / len(dense)):.0f}%)"
    )


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatch(name, each) for each in patterns)


def covered() -> None:
    """What the registry has, by torch's places."""
    for place, found in places().items():
        terminal.heading(f"{place}: {len(found)}")
        print(textwrap.fill(" ".join(found), 110, initial_indent="    ", subsequent_indent="    "))


def places() -> dict[str, list[str]]:
    """By torch's place, how a reader would write it, the names that are there."""
    found: dict[str, set[str]] = {}
    for place, name in (*overloads(), *PUBLISHED):
        found.setdefault(TITLES.get(place, f"torch.{place}"), set()).add(name)
    for name in vars(Tensor):
        if name.endswith("_") and not name.startswith("_"):
            found.setdefault("Tensor, in place", set()).add(name)
    for name in creation.__all__:
        found["torch"].add(name)
    return {place: sorted(names) for place, names in sorted(found.items())}


def document() -> str:
    """The page of the documentation that lists every name: `docs/operators.md`."""
    parts = [HEAD]
    for place, found in places().items():
        parts.append(f"## {place} ({len(found)})\n\n" + textwrap.fill(", ".join(f"`{each}`" for each in found), 118))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    print(document(), end="")

"""Reports which of torch's ops jaxvjp has, and which of them agree.

`python -m tools.opinfo` runs a few samples of each op, `python -m tools.opinfo --full` all of them in every dtype, and
`python -m tools.opinfo softmax linalg.norm` only ops with these texts in their names. Several processes run the ops,
without XLA's costly optimisations; a failure is printed at once.
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import itertools
import math
import multiprocessing
import os
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import jax

from jaxvjp.explain import terminal
from jaxvjp.tensor.bindings import overloads
from jaxvjp.tensor.published import PUBLISHED
from jaxvjp.tensor.tensor import Tensor
from tools.opinfo.table import DIFFERS, EDGES, NOT_DENSE, WHAT_IT_TAKES

TITLES = {"function": "torch", "method": "Tensor"}
HEAD = """# torch's names in jaxvjp

Every function, method and in-place form that comes from the registry of ops or is written over it. This page is
written by `python -m tools.opinfo.report`, and a test holds it to the registry.
How each fares against torch's own samples: `python -m tools.opinfo`."""
SAMPLES = 3
"""The number of samples of each op and dtype that run by default."""
WORTH_A_PROCESS = 15
"""The number of ops that make the start of another process worth it."""
RUNS_BETWEEN_CLEARING = 50
"""Compiled programs are cleared after this many ops: each compiles dozens, and XLA crashes if a process maps too
many."""
PASSED, FAILED, DIFFERENT, MISSING = "passed", "FAILED", "differs deliberately", "missing"


class Verdict(NamedTuple):
    """The result for one op of torch's database.

    Attributes:
        title, name: torch's name with and without the variant.
        status: PASSED, FAILED, DIFFERENT or MISSING.
        dense: whether it counts among the differentiable ops on dense tensors.
        differences: the differences, as text.
    """

    title: str
    name: str
    status: str
    dense: bool
    differences: list[str]


def main(arguments: Sequence[str] = ()) -> int:
    """Runs the named ops (all by default) and prints the report; returns 1 if one failed, 2 if there is no such op."""
    parser = argparse.ArgumentParser(prog="python -m tools.opinfo", description="Compares every op with torch's.")
    parser.add_argument(
        "names", nargs="*", metavar="op", help="which to run: a part of torch's name, or a pattern; by default all"
    )
    parser.add_argument("--full", action="store_true", help="every sample in every type")
    parser.add_argument("--saved", action="store_true", help="only what each saves for its backward step")
    parser.add_argument("--numbers", action="store_true", help="only what elementwise ops make of a type's edges")
    parser.add_argument("--processes", type=int, metavar="N", help="how many share the work; by default one per core")
    asked = parser.parse_args(arguments)
    if find_spec("torch") is None or find_spec("expecttest") is None:
        print("Compared with nothing: torch's database of samples needs torch and expecttest.\n")
        covered()
        return 0
    from tools.opinfo.check import database, title

    titles = [title(op) for op in database()]
    chosen = [each for each in titles if not asked.names or any(_fits(each, name) for name in asked.names)]
    if not chosen:
        close = difflib.get_close_matches(asked.names[0], titles, n=3)
        print(f"torch has no op like {' '.join(asked.names)}." + (f" Like it: {', '.join(close)}." if close else ""))
        return 2
    if asked.saved:
        return _report_saved([op for op in database() if title(op) in chosen])
    if asked.numbers:
        return _report_numbers([op for op in database() if title(op) in chosen])
    verdicts: list[Verdict] = []
    for each in terminal.progress(_judged(chosen, asked.full, asked.processes), "torch's samples", len(chosen)):
        verdicts.append(each)
        if each.status == FAILED:
            terminal.heading(each.title)
            print("\n".join(f"    {difference}" for difference in each.differences[:8]), flush=True)
    verdicts.sort(key=lambda each: each.title)
    summary(verdicts, whole=not asked.names)
    return 1 if any(each.status == FAILED for each in verdicts) else 0


def _report_numbers(ops: Sequence[Any]) -> int:
    """Prints where elementwise ops differ at the edges of types (`numbers`), and by mpmath which is nearer.

    Returns 1 if torch is nearer in anything but digits.
    """
    from tools.opinfo import numbers
    from tools.opinfo.check import Missing, title

    ops = [op for op in ops if numbers.elementwise(op)]
    total: Counter[tuple[str, str]] = Counter()
    for op in terminal.progress(ops, "elementwise", len(ops)):
        for name in numbers.TYPES:
            try:
                cases = [*numbers.cases(op, name)]
            except (Missing, RuntimeError, TypeError, AssertionError):
                continue  # neither takes the type, or `python -m tools.opinfo` tells
            total.update((case.what, case.nearer) for case in cases)
            for what in dict.fromkeys(case.what for case in cases):
                some = [case for case in cases if case.what == what]
                if what != numbers.PAYLOAD:
                    sides = Counter(each.nearer for each in some)
                    told = ", ".join(f"{side} {count}" for side, count in sorted(sides.items()))
                    print(f"{title(op)} ({name}): {what}, {len(some)} (nearer: {told}); {some[0]}", flush=True)
    print(f"\n{len(ops)} elementwise ops in {len(numbers.TYPES)} types; what differs, and which is nearer:")
    for (what, side), count in sorted(total.items()):
        print(f"{what:14} {side:8} {count:6}")
    return 1 if any(side == numbers.THEIRS and what != numbers.DIGITS for what, side in total) else 0


def _report_saved(ops: Sequence[Any]) -> int:
    """Prints for which of the ops torch saves other tensors (`saved`); returns 1 if there are any."""
    from tools.opinfo import saved
    from tools.opinfo.check import Missing, title

    differing = 0
    for op in terminal.progress(ops, "torch's samples", len(ops)):
        try:
            found = saved.differences(op)
        except Missing:
            continue
        differing += bool(found)
        if found:
            terminal.heading(title(op))
            print("\n".join(f"    {each}" for each in found), flush=True)
    print(f"{len(ops)} ops, {differing} of which save other tensors than in torch")
    return 1 if differing else 0


def _fits(title: str, name: str) -> bool:
    return fnmatch.fnmatchcase(title, name) if set(name) & set("*?[") else name in title


def _judged(titles: Sequence[str], full: bool, processes: int | None) -> Iterator[Verdict]:
    """Yields the verdict on each op when it is found; several processes, which start slowly, run them if they are
    many."""
    count = min(processes or len(os.sched_getaffinity(0)), math.ceil(len(titles) / WORTH_A_PROCESS))
    if count < 2:
        yield from (verdict(each, full) for each in titles)
        return
    # Not by fork, which JAX's threads do not survive.
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _prepare) as pool:
        running = [pool.submit(verdict, each, full) for each in titles]
        try:
            for each in as_completed(running):
                found = each.result()
                # Results with strong cancellation may need the optimisations that the processes leave out.
                yield verdict(found.title, full) if found.status == FAILED else found
        finally:  # also if the caller stops iterating
            pool.shutdown(cancel_futures=True)


def _prepare() -> None:
    """Sets a worker process up to compile fast, as each program runs only once."""
    import torch

    _update("jax_disable_most_optimizations", True)
    torch.set_num_threads(1)


@cache
def _by_title() -> dict[str, Any]:
    from tools.opinfo.check import database, title

    return {title(op): op for op in database()}


def verdict(title: str, full: bool) -> Verdict:
    """Runs one op of torch's database."""
    from tools.opinfo.check import EVERY, FLOATING, Missing, differences

    op = _by_title()[title]
    found: list[str] = []
    try:
        found = [str(each) for each in differences(op, EVERY if full else FLOATING, None if full else SAMPLES)]
    except Missing:
        status = MISSING
    else:
        status = PASSED if not found else DIFFERENT if title in DIFFERS else FAILED
    if full or next(_runs) % RUNS_BETWEEN_CLEARING == 0:
        _forget()
    return Verdict(title, op.name, status, op.supports_autograd and not _matches(op.name, NOT_DENSE), found)


_runs = itertools.count(1)
_update: Any = jax.config.update
_forget: Any = jax.clear_caches


def summary(verdicts: Sequence[Verdict], whole: bool) -> None:
    """Prints how much of torch is covered, and what is missing, and why."""
    missing = sorted({each.name for each in verdicts if each.status == MISSING})
    if missing:
        terminal.heading("missing")
    for name in missing:
        takes = next((text for pattern, text in WHAT_IT_TAKES.items() if fnmatch.fnmatch(name, pattern)), "")
        print(f"    {name}{': ' if takes else ''}{takes}")
    if whole:
        dense = {each.name for each in verdicts if each.dense}
        lacking = {each.name for each in verdicts if each.status in (MISSING, FAILED)} & dense
        print(
            f"{len(dense) - len(lacking)} of {len(dense)} differentiable dense ops of torch's database "
            f"({100 * (1 - len(lacking) / len(dense)):.1f}%)"
        )
    counts = Counter(each.status for each in verdicts)
    print(", ".join(f"{counts[status]} {status}" for status in (PASSED, FAILED, DIFFERENT, MISSING)))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def covered() -> None:
    """Prints the registry's names by torch's namespaces."""
    for place, found in places().items():
        terminal.heading(f"{place}: {len(found)}")
        print(textwrap.fill(" ".join(found), 110, initial_indent="    ", subsequent_indent="    "))


def places() -> dict[str, list[str]]:
    """The covered names by torch's namespaces, spelled as in a program (`torch.linalg`)."""
    found: dict[str, set[str]] = {}
    for place, name in (*overloads(), *PUBLISHED):
        found.setdefault(TITLES.get(place, f"torch.{place}"), set()).add(name)
    for name in vars(Tensor):
        if name.endswith("_") and not name.startswith("_"):
            found.setdefault("Tensor, in place", set()).add(name)
    return {place: sorted(each for each in names if each[0] != "_") for place, names in sorted(found.items())}


def document() -> str:
    """The text of `docs/operators.md`, which lists every name, and the differences at the edges."""
    parts = [HEAD]
    for place, found in places().items():
        parts.append(f"## {place} ({len(found)})\n\n" + textwrap.fill(", ".join(f"`{each}`" for each in found), 118))
    parts.append(
        "## At the edges\n\n" + "\n".join(textwrap.fill(f"- {each}", 118, subsequent_indent="  ") for each in EDGES)
    )
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    Path("docs/operators.md").write_text(document(), encoding="utf-8")

"""`python -m tools.conformance FOLDER`: PyTorch's own test files with jaxvjp in torch's place, and a table of them."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from jaxvjp.explain import terminal
from tools.conformance.running import Outcome, Run, fits
from tools.conformance.worker import (
    CRASHED,
    ERROR,
    MISSING,
    NOT_APPLICABLE,
    PASSED,
    TIMEOUT,
    UNRAISED,
    WRONG,
)

COMMON = "float32,float64,int64,bool,complex64"
FILES = (
    *("test_autograd.py", "autograd/test_functional.py"),
    *("functorch/test_eager_transforms.py", "functorch/test_vmap.py"),
    *("test_indexing.py", "test_view_ops.py", "test_type_promotion.py", "test_shape_ops.py", "test_sort_and_select.py"),
    *("test_unary_ufuncs.py", "test_binary_ufuncs.py", "test_reductions.py", "test_tensor_creation_ops.py"),
    *("test_scatter_gather_ops.py", "test_linalg.py", "test_torch.py", "test_nn.py"),
    *("nn/test_convolution.py", "nn/test_dropout.py", "nn/test_embedding.py", "nn/test_init.py"),
    *("nn/test_lazy_modules.py", "nn/test_module_hooks.py", "nn/test_multihead_attention.py"),
    *("nn/test_packed_sequence.py", "nn/test_parametrization.py", "nn/test_pooling.py", "nn/test_pruning.py"),
    *("optim/test_lrscheduler.py", "optim/test_optim.py", "optim/test_swa_utils.py"),
)
"""The files that are run unless others are named."""
MEANT = "difference"
"""The status of a test that fails by a difference which is meant: one of `differences.txt`."""
STATUSES = (PASSED, WRONG, UNRAISED, ERROR, CRASHED, TIMEOUT, MISSING, MEANT, NOT_APPLICABLE)
BETWEEN_SAVING = 30.0
"""Seconds."""
HEAD = """# What PyTorch's own tests say

PyTorch's own test files, run with jaxvjp in torch's place by `python -m tools.conformance FOLDER`, where the folder
is a copy of PyTorch's `test`; `--write docs/conformance.md` writes this page. A test may take 20 seconds.

**Read the share with what it leaves out**: of {total} tests {passed} pass ({of_all:.0%}); {difference} fail by a
difference that is meant, and {left_out} are not applicable here. Both lists stand below, with a reason for each. The
share in the last column is of the others."""
Store = dict[str, dict[str, Outcome]]


def main(arguments: Sequence[str]) -> int:
    """Runs what is asked for and prints the table; 1 where a test failed, 2 for a wrong call."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.conformance", description="Runs PyTorch's own test files with jaxvjp in torch's place."
    )
    parser.add_argument("folder", type=Path, help="PyTorch's `test` folder")
    parser.add_argument("names", nargs="*", help="files of it, and parts or patterns of names of tests")
    parser.add_argument("--impl", choices=("jaxvjp", "torch"), default="jaxvjp", help="what stands in torch's place")
    parser.add_argument("--dtypes", default=COMMON, help=f"the types to run tests in, or `all`; by default {COMMON}")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds that a test may take; by default 20")
    parser.add_argument("--workers", type=int, default=1, help="how many processes share a file; by default one")
    parser.add_argument("--store", type=Path, help="the file with all outcomes; by default conformance-IMPL.json")
    parser.add_argument("--failed", action="store_true", help="run nothing; list the stored failures")
    parser.add_argument("--show", metavar="NAME", help="run nothing; print what is stored of the tests of this name")
    parser.add_argument("--write", type=Path, help="write the stored table to this page")
    parser.add_argument("--verbose", action="store_true", help="a line for each test as it ends")
    asked = parser.parse_intermixed_args(arguments)
    if not asked.folder.is_dir():
        parser.error(f"there is no folder {str(asked.folder)!r}")
    path = asked.store or Path(f"conformance-{asked.impl}.json")
    store: Store = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    chosen = [name for name in asked.names if name.endswith(".py")]
    names = [name for name in asked.names if not name.endswith(".py")]
    if asked.show or asked.failed:
        return listing(store, chosen, [asked.show] if asked.show else names, bool(asked.show))
    files = chosen or [file for file in FILES if (asked.folder / file).is_file()]
    run = Run(asked.folder, asked.impl, asked.dtypes, asked.limit, asked.workers)
    if not (asked.write and not asked.names):
        for file in files:
            outcomes = store[file] = store.get(file, {}) if names else {}
            saved = time.monotonic()
            for test, outcome in run.of_file(file, names, partial(reason, file)):
                outcomes[test] = outcome
                if asked.verbose:
                    print(line(file, test, outcome), file=sys.stderr, flush=True)
                if time.monotonic() > saved + BETWEEN_SAVING:
                    save(store, path)
                    saved = time.monotonic()
            save(store, path)
    shown = {file: store[file] for file in store if file in files or not asked.names}
    shown = {file: {test: judged(file, test, each) for test, each in tests.items()} for file, tests in shown.items()}
    columns, rows = ["file", *STATUSES, "share"], table(shown)
    terminal.table(columns, rows)
    if asked.write:
        asked.write.write_text(page(columns, rows), encoding="utf-8")
    failed = any(
        each["status"] not in (PASSED, MEANT, NOT_APPLICABLE) for file in shown.values() for each in file.values()
    )
    return 1 if failed else 0


def page(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The document: the table, and both lists with their reasons."""
    *_, whole = rows
    passed, difference, left_out = (int(whole[columns.index(each)]) for each in (PASSED, MEANT, NOT_APPLICABLE))
    total = sum(map(int, whole[1:-1]))
    head = HEAD.format(
        total=total, passed=passed, of_all=passed / max(total, 1), difference=difference, left_out=left_out
    )
    lines = [head, "", *[f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows)]]
    for title, name in (("Differences", "differences.txt"), ("Not applicable", "not_applicable.txt")):
        by_reason: dict[str, list[str]] = {}
        for pattern, why in listed(name):
            by_reason.setdefault(why, []).append(f"`{pattern}`")
        lines += ["", f"## {title}", "", *[f"* {why}: {', '.join(each)}" for why, each in by_reason.items()]]
    return "\n".join(lines).rstrip() + "\n"


def judged(file: str, test: str, outcome: Outcome) -> Outcome:
    """A stored outcome, in the light of both lists as they are now."""
    for name, status in (("not_applicable.txt", NOT_APPLICABLE), ("differences.txt", MEANT)):
        why = reason(file, test, name)
        if why and (status is NOT_APPLICABLE or outcome["status"] not in (PASSED, NOT_APPLICABLE)):
            return {"status": status, "told": why}
    return outcome


def save(store: Store, path: Path) -> None:
    """Writes all outcomes so far."""
    path.write_text(json.dumps(store, indent=0), encoding="utf-8")


def table(store: Store) -> list[list[str]]:
    """A row for each file and one for all: how many tests of each status, and the share that passed."""
    counts = {}
    for file, tests in store.items():
        found = Counter(each["status"] for each in tests.values())
        counts[file] = [found[status] for status in STATUSES]
    counts["all"] = [sum(column) for column in zip(*counts.values(), strict=True)] if counts else [0] * len(STATUSES)
    return [[file, *map(str, row), _share(row)] for file, row in counts.items()]


def _share(row: Sequence[int]) -> str:
    applicable = sum(row) - row[STATUSES.index(NOT_APPLICABLE)] - row[STATUSES.index(MEANT)]
    return f"{100 * row[0] / applicable:.1f} %" if applicable else ""


def line(file: str, test: str, outcome: Outcome) -> str:
    """How a test came out, in one line."""
    return f"{outcome['status']:<14} {file} {test}: {outcome.get('told', '')}".rstrip(": ")


def listing(store: Store, files: Sequence[str], names: Sequence[str], whole: bool) -> int:
    """Prints what is stored of tests: those that failed, or all about those of a name."""
    for file, tests in store.items():
        for test, outcome in tests.items():
            if (files and file not in files) or (names and not any(fits(test, name) for name in names)):
                continue
            if whole or judged(file, test, outcome)["status"] not in (PASSED, MEANT, NOT_APPLICABLE):
                print(line(file, test, outcome))
            if whole and "traceback" in outcome:
                print(outcome["traceback"])
    return 0


@cache
def listed(name: str) -> list[tuple[str, str]]:
    """A list beside this file: patterns of "file Class.test", and the reason for each."""
    found, why = [], ""
    for line in (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            found.append((line.strip(), why))
        elif line.strip() and not line.startswith("#"):
            why = line.strip()
    return found


def reason(file: str, test: str, name: str = "not_applicable.txt") -> str | None:
    """Why a test is in a list; None where it is not."""
    return next((why for pattern, why in listed(name) if fits(f"{file} {test}", pattern)), None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

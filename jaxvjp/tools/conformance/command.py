"""`python -m jaxvjp conformance FOLDER`: PyTorch's own test files with jaxvjp in torch's place, and a table of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jaxvjp.explain import terminal
from jaxvjp.tools.conformance.running import Outcome, Run, fits
from jaxvjp.tools.conformance.worker import (
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
    *("test_autograd.py", "autograd/test_functional.py", "functorch/test_eager_transforms.py", "functorch/test_vmap.py"),
    *("test_indexing.py", "test_view_ops.py", "test_type_promotion.py", "test_shape_ops.py", "test_sort_and_select.py"),
    *("test_unary_ufuncs.py", "test_binary_ufuncs.py", "test_reductions.py", "test_tensor_creation_ops.py"),
    *("test_scatter_gather_ops.py", "test_linalg.py", "test_torch.py"),
)
"""The files that are run unless others are named."""
STATUSES = (PASSED, WRONG, UNRAISED, ERROR, CRASHED, TIMEOUT, MISSING, NOT_APPLICABLE)
Store = dict[str, dict[str, Outcome]]


def main(arguments: Sequence[str]) -> int:
    """Runs what is asked for and prints the table; 1 where a test failed, 2 for a wrong call."""
    parser = argparse.ArgumentParser(
        prog="jaxvjp conformance", description="Runs PyTorch's own test files with jaxvjp in torch's place."
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
    asked = parser.parse_args(arguments)
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
            outcomes = {} if not names else store.get(file, {})
            for test, outcome in run.of_file(file, names, lambda test, file=file: reason(file, test)):  # type: ignore[misc]
                outcomes[test] = outcome
                if asked.verbose:
                    print(f"{outcome['status']:<14} {file} {test} {outcome.get('told', '')}", file=sys.stderr, flush=True)
            store[file] = outcomes
            path.write_text(json.dumps(store, indent=0), encoding="utf-8")
    terminal.table(["file", *STATUSES, "share"], table({file: store[file] for file in store if file in files or not names}))
    return 0


def table(store: Store) -> list[list[str]]:
    """A row for each file and one for all: how many tests of each status, and the share that passed."""
    counts = {file: [sum(each["status"] == status for each in tests.values()) for status in STATUSES] for file, tests in store.items()}
    counts["all"] = [sum(column) for column in zip(*counts.values(), strict=True)] if counts else [0] * len(STATUSES)
    return [[file, *map(str, row), _share(row)] for file, row in counts.items()]


def _share(row: Sequence[int]) -> str:
    applicable = sum(row) - row[STATUSES.index(NOT_APPLICABLE)]
    return f"{100 * row[0] / applicable:.1f} %" if applicable else ""


def listing(store: Store, files: Sequence[str], names: Sequence[str], whole: bool) -> int:
    """Prints what is stored of tests: those that failed, or all about those of a name."""
    for file, tests in store.items():
        for test, outcome in tests.items():
            if (files and file not in files) or (names and not any(fits(test, name) for name in names)):
                continue
            if whole or outcome["status"] not in (PASSED, NOT_APPLICABLE):
                print(f"{outcome['status']:<14} {file} {test}: {outcome.get('told', '')}")
            if whole and "traceback" in outcome:
                print(outcome["traceback"])
    return 0


@cache
def _not_applicable() -> list[tuple[str, str]]:
    """Patterns of "file Class.test" and the reason for each."""
    found, why = [], ""
    for line in (Path(__file__).parent / "not_applicable.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            found.append((line.strip(), why))
        elif line.strip() and not line.startswith("#"):
            why = line.strip()
    return found


def reason(file: str, test: str) -> str | None:
    """Why a test is not applicable; None where it is."""
    return next((why for pattern, why in _not_applicable() if fits(f"{file} {test}", pattern)), None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Counts how far a first program's calls lead: calls, functions, files, and crossings from file to file.

    python tools/count_crossings.py              # of `x * 2`, `y.backward(v)` and `x.grad`, first and warm
    python tools/count_crossings.py --calls      # the calls of the warm backward, in their order

A crossing is a call from a function of one file of the package to a function of another one: what a reader who follows
the way has to open. The package must not be compiled, as C's calls are not seen.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jaxvjp as torch

PACKAGE = str(Path(torch.__file__).parent)


class Way:
    """The calls of the package that one statement leads to."""

    def __init__(self, statement: Callable[[], Any]) -> None:
        self.calls: list[tuple[str, str]] = []
        self.crossings = 0
        self.stack: list[str] = []
        sys.setprofile(self._note)
        try:
            self.result = statement()
        finally:
            sys.setprofile(None)

    def _note(self, frame: Any, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event not in ("call", "return") or not file.startswith(PACKAGE):
            return
        if event == "return":
            if self.stack:
                self.stack.pop()
            return
        file = str(Path(file).relative_to(PACKAGE))
        self.crossings += bool(self.stack) and self.stack[-1] != file
        self.stack.append(file)
        self.calls.append((file, frame.f_code.co_qualname))

    def row(self) -> str:
        """Calls, functions, files and crossings."""
        files = {file for file, _ in self.calls}
        return f"{len(self.calls):7}{len(set(self.calls)):11}{len(files):7}{self.crossings:11}"


def round_of(x: Any, v: Any) -> list[tuple[str, Way]]:
    """The three statements, once."""
    times = Way(lambda: x * 2)
    walk = Way(lambda: times.result.backward(v))
    return [("y = x * 2", times), ("y.backward(v)", walk), ("x.grad", Way(lambda: x.grad))]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", action="store_true")
    listed = parser.parse_args().calls
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    v = torch.tensor([1.0, 10.0, 100.0])
    x.tolist(), v.tolist()
    rounds = {"first": round_of(x, v)}
    for _ in range(10):
        rounds["warm"] = round_of(x, v)
    print(f"{'':22}{'calls':>7}{'functions':>11}{'files':>7}{'crossings':>11}")
    for kind, ways in rounds.items():
        for name, way in ways:
            print(f"{kind:6}{name:16}{way.row()}")
    if listed:
        print(*[f"{file:40} {function}" for file, function in rounds["warm"][1][1].calls], sep="\n")


if __name__ == "__main__":
    main()

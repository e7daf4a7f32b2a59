"""Times the recording of an operation, beside torch's eager dispatch: `python -m tools.bench_operations`, run by hand.

jaxvjp only records; torch computes on tensors of a few elements. Rounds alternate between them; medians are compared.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jaxvjp
from jaxvjp.explain import terminal
from tools import command

ROUNDS = 40
CALLS = 200

OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x + y": lambda torch, x, y: x + y,
    "x * 0.5": lambda torch, x, y: x * 0.5,
    "x ** 2": lambda torch, x, y: x**2,
    "x + row (broadcast)": lambda torch, x, y: x + y[0],
    "torch.exp(x)": lambda torch, x, y: torch.exp(x),
    "x.sum(dim=0)": lambda torch, x, y: x.sum(dim=0),
    "x.clamp(min=0)": lambda torch, x, y: x.clamp(min=0),
    "torch.softmax(x, dim=-1)": lambda torch, x, y: torch.softmax(x, dim=-1),
    "x @ y": lambda torch, x, y: x @ y,
    "x[0, 1:]": lambda torch, x, y: x[0, 1:],
    "x.transpose(0, 1)": lambda torch, x, y: x.transpose(0, 1),
}


def main(arguments: Sequence[str] = ()) -> int:
    """Times recording, with and without gradients to track, and prints a table."""
    argparse.ArgumentParser(prog="python -m tools.bench_operations", description=main.__doc__).parse_args(arguments)
    modules: dict[str, Any] = {"jaxvjp": jaxvjp}
    if importlib.util.find_spec("torch") is not None:
        modules["torch"] = importlib.import_module("torch")
    rows = []
    for name, operation in OPERATIONS.items():
        times = measured(operation, modules)
        cells = [f"{times[module] * 1e6:.2f}" for module in modules]
        rows.append([name, *cells, *([f"{times['jaxvjp'] / times['torch']:.2f}"] if "torch" in times else [])])
    columns = ["operation", *[f"{module} (µs)" for module in modules], *(["ratio"] if "torch" in modules else [])]
    terminal.table(columns, rows)
    return 0


def measured(operation: Callable[[Any, Any, Any], Any], modules: dict[str, Any]) -> dict[str, float]:
    """The seconds that one call takes under each module: the median over rounds that alternate between them."""
    operands = {name: [torch.ones(4, 4, requires_grad=True) for _ in range(2)] for name, torch in modules.items()}
    seconds: dict[str, list[float]] = {name: [] for name in modules}
    for round in range(ROUNDS + 2):
        for name, torch in modules.items():
            x, y = operands[name]
            start = time.perf_counter()
            for _ in range(CALLS):
                operation(torch, x, y)
            if round >= 2:  # the first rounds learn the signatures
                seconds[name].append((time.perf_counter() - start) / CALLS)
    return {name: statistics.median(each) for name, each in seconds.items()}


if __name__ == "__main__":
    command(main)

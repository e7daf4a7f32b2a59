"""What the first gradient costs in a new process, imports included: `python -m jaxvjp bench --first-use`, by hand.

Each contender is a program of its own, run as a process again and again, in turns with the others; the medians are
compared.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import time

from jaxvjp.explain import terminal

ROUNDS = 10

BY_HAND = """
import jax
import jax.numpy as jnp

x = jnp.array([1.0, 2.0, 3.0])
print(jax.jit(jax.grad(lambda x: (x * x).sum()))(x))
"""
IMPERATIVE = """
import {module} as torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(x * x).sum().backward()
print(x.grad)
"""
PROGRAMS = {
    "torch": IMPERATIVE.format(module="torch"),
    "by hand": BY_HAND,
    "jaxvjp": IMPERATIVE.format(module="jaxvjp"),
}


def main() -> int:
    """Times the three processes and prints a table."""
    programs = dict(PROGRAMS)
    if importlib.util.find_spec("torch") is None:
        del programs["torch"]
    seconds = measured(programs)
    ours = seconds["jaxvjp"]
    rows = [[name, f"{each:.2f}", f"{ours / each:.2f}"] for name, each in seconds.items()]
    terminal.table(["import and a first gradient", "seconds", "jaxvjp / this"], rows)
    return 0


def measured(programs: dict[str, str]) -> dict[str, float]:
    """The seconds that each program takes as a process: the median over rounds that alternate between them."""
    # An installed package has its bytecode beside it; one that is run from its sources writes it in the first round.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for round in terminal.progress(range(ROUNDS + 1), "measuring", ROUNDS + 1):
        for name, program in programs.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], env=environment, check=True, stdout=subprocess.DEVNULL)
            if round:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in seconds.items()}

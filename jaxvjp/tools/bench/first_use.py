"""Times the first gradient in a new process, imports included: `python -m jaxvjp bench --first-use`, run by hand.

Each contender is a program that runs as a process again and again, in turns with the others; medians are compared.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

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


class Took(NamedTuple):
    """A finished process: its seconds on the clock, the user seconds of all its threads, and its standard error."""

    seconds: float
    user: float
    errors: str


def main(arguments: Sequence[str] = ()) -> int:
    """Times the three processes and prints a table."""
    argparse.ArgumentParser(prog="python -m jaxvjp bench --first-use", description=main.__doc__).parse_args(arguments)
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
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for round in terminal.progress(range(ROUNDS + 1), "measuring", ROUNDS + 1):
        for name, program in programs.items():
            took = process(["-c", program]).seconds
            if round:
                seconds[name].append(took)
    return {name: statistics.median(each) for name, each in seconds.items()}


def process(arguments: Sequence[str], **environment: str) -> Took:
    """Runs Python with these arguments and additional environment variables; its output is dropped.

    Raises:
        RuntimeError: it ended with another status than 0.
    """
    # Bytecode is written in the first round, if the package is not installed.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        env=kept | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"ended with status {done.returncode}\n{done.stderr}")
    return Took(seconds, os.times().children_user - before.children_user, done.stderr)

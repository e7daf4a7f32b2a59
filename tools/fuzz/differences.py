"""Another oracle of random programs, which needs no torch: `python -m tools.fuzz --oracle differences`.

Without `detach()`, `no_grad`, hooks and the like (`LEFT_OUT`), a program is a function of the leaves that it begins
with. The weighted sum of all that it computed is differentiated by `autograd.grad`, and this gradient compared with

* **central differences**: the program runs again with each element of each leaf moved a little, in float64,
* **jax.grad of the explained text** (`explain(..., style="grad")`): another program, which only JAX runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import jaxvjp
from tools.fuzz.kinds import KINDS
from tools.fuzz.programs import Program, program_of
from tools.fuzz.running import Run

USED = frozenset(
    [
        *("plain", "leaf", "arithmetic", "view", "write", "write of a part", "reshape in place", "custom Function"),
        *("checkpoint", "transform", "random numbers", "dropout", "control flow", "index", "function"),
        *("function in place", "empty", "del", "collect"),
    ]
)
"""The kinds of statements whose derivative is that of the numbers they compute."""
CUT = ("detach", "no_grad", "both(")
"""What ends a gradient on purpose inside of statements of other kinds."""
LEFT_OUT = frozenset(each.name for each in KINDS) - USED
STEP = 1e-5
TOLERANCE = 1e-4
"""Relative. A step of 1e-5 in float64 leaves about 1e-10."""
LARGEST = 1e6
"""Where a program's sum is larger than this, differences have too few digits left."""


class Difference(NamedTuple):
    """A gradient that another oracle disagrees with."""

    oracle: str
    told: str


class Sum(NamedTuple):
    """What a program computed, as one number, and the leaves that it began with."""

    total: Any
    leaves: dict[str, Any]


@contextmanager
def in_double_precision() -> Iterator[None]:
    """A block whose new tensors are float64."""
    before = jaxvjp.get_default_dtype()
    jaxvjp.set_default_dtype(jaxvjp.float64)
    try:
        yield
    finally:
        jaxvjp.set_default_dtype(before)


def summed(program: Program, moved: tuple[str, int, float] | None = None, ours: Any = jaxvjp) -> Sum:
    """Runs a program and sums what it computed. `moved` is the name of a leaf, the number of one of its elements, and
    how far that is moved first."""
    run = Run(ours)
    for each in program.before:
        run.execute(each, each.text)
    leaves = {name: x for name, x in run.variables().items() if x is not None and x.requires_grad and x.is_leaf}
    leaves = {name: x for name, x in leaves.items() if 0 not in x.stride()}  # elements of others share memory
    if moved is not None:
        name, at, by = moved
        shift = ours.zeros(leaves[name].numel())
        shift[at] = by
        with ours.no_grad():
            leaves[name] += shift.view(leaves[name].shape)
    for _ in range(program.rounds):
        for each in program.inside:
            if not any(word in each.text for word in CUT):
                run.execute(each, each.text)
    total = ours.zeros(())
    for number, x in enumerate(run.variables().values()):
        if x is not None and x.requires_grad and x.dtype is ours.float64:
            total = total + (x.reshape(-1) * (ours.arange(float(x.numel())) + number).cos()).sum()
    return Sum(total, leaves)


def differences(seed: int, without: frozenset[str] = frozenset(), ours: Any = jaxvjp) -> Iterator[Difference]:
    """Where one of the oracles disagrees with the gradient of the program of this seed. RuntimeError where the program
    itself has an error, such as a write to what a gradient needs."""
    program = program_of(seed, without | LEFT_OUT)
    with in_double_precision():
        now = summed(program, ours=ours)
        if not (now.total.requires_grad and now.leaves and abs(now.total.item()) < LARGEST):
            return
        try:
            found = ours.autograd.grad(now.total, [*now.leaves.values()], allow_unused=True, retain_graph=True)
        except RuntimeError:  # what is needed was written over: an error of the program's own
            return
        gradients = dict(
            zip(now.leaves, [None if each is None else each.reshape(-1).tolist() for each in found], strict=True)
        )
        for name, leaf in now.leaves.items():
            for at in range(0, leaf.numel(), EVERY):
                values = [summed(program, (name, at, by), ours).total.item() for by in (STEP, -STEP)]
                expected = slope(values[0], now.total.item(), values[1])
                given = 0.0 if (gradient := gradients[name]) is None else gradient[at]
                if expected is not None and not abs(given - expected) <= TOLERANCE * (1 + abs(expected)):
                    told = f"d/d{name}[{at}] is {given}, by central differences {expected}"
                    yield Difference(DIFFERENCES, f"{told}\n{program}")
                    return
        explained = ours.explain(now.total, style="grad")
        expectations = dict(explained._expected(explained.program))
        for name, given in explained.run().items():
            expected = expectations[name]
            if (given is None) != (expected is None) or (given is not None and not near(given, expected)):
                yield Difference(TEXT, f"{name} is {expected}, by jax.grad {given}\n{program}")
                return


def near(given: Any, expected: Any) -> bool:
    """Whether two arrays are the same but for rounding."""
    return np.allclose(np.asarray(given), np.asarray(expected), 1e-9, 1e-9, equal_nan=True)


EVERY = 2
"""Every second element of a leaf is moved: each takes two runs of the program."""
DIFFERENCES, TEXT = "central differences", "jax.grad of the explained text"


def slope(after: float, here: float, before: float) -> float | None:
    """The derivative by central differences; None at a bend or jump, where those to both sides differ."""
    if not all(map(math.isfinite, (after, here, before))):
        return None
    sides = (after - here) / STEP, (here - before) / STEP
    middle = (after - before) / (2 * STEP)
    return middle if abs(sides[0] - sides[1]) <= TOLERANCE * (1 + abs(middle)) else None


def report(seeds: range, without: frozenset[str]) -> int:
    """Compares the programs of these seeds and prints each that an oracle disagrees with; the exit status."""
    wrong = failed = 0
    for seed in seeds:
        try:
            for each in differences(seed, without):
                wrong += 1
                print(f"## seed {seed}, {each.oracle}\n{each.told}\n", flush=True)
        except RuntimeError:
            failed += 1
    print(f"{len(seeds)} programs: the gradients of {wrong} disagree, {failed} have an error of their own")
    return 1 if wrong else 0

"""How long a warm step takes: torch eager, hand-written `jax.jit`, and jaxvjp, as ratios. Run by hand.

`python -m jaxvjp bench` prints one line per workload. The three are timed in one process, in rounds that alternate
between them, and the medians are compared; seconds alone would tell about the machine. Every public name comes before
this room.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxvjp
from jaxvjp import terminal
from jaxvjp.core.compilation import counters

ROUNDS = 30
ROUND_SECONDS = 0.01
Step = Callable[[], Any]


class Workload(NamedTuple):
    """One thing to time: a step for a module that plays torch, and the same by hand, given NumPy's arrays."""

    name: str
    arrays: tuple[np.ndarray[Any, Any], ...]
    imperative: Callable[..., Step]
    by_hand: Callable[..., Any]


def _leaves(torch: Any, arrays: Any) -> Any:
    return [torch.tensor(each, requires_grad=True) for each in arrays]


def _doubling(torch: Any, x_data: Any, v_data: Any) -> Step:
    (x,), v = _leaves(torch, [x_data]), torch.tensor(v_data)

    def step() -> Any:
        x.grad = None
        y = x
        for _ in range(10):
            y = y * 2
        y.backward(v)
        return x.grad

    return step


def _doubling_by_hand(x: Any, v: Any) -> Any:
    def f(x: Any) -> Any:
        for _ in range(10):
            x = x * 2
        return x

    y, pullback = jax.vjp(f, x)
    return y, pullback(v)


def _weighted(torch: Any, *data: Any) -> Step:
    (a, b, c), v = _leaves(torch, data[:3]), torch.tensor(data[3])

    def step() -> Any:
        a.grad = b.grad = c.grad = None
        y = 3 * a + 2 * b * b + torch.log(c)
        y.backward(v)
        return c.grad

    return step


def _weighted_by_hand(a: Any, b: Any, c: Any, v: Any) -> Any:
    y, pullback = jax.vjp(lambda a, b, c: 3 * a + 2 * b * b + jnp.log(c), a, b, c)
    return y, pullback(v)


def _network(torch: Any, x_data: Any, y_data: Any, *weights_data: Any) -> Step:
    x, y = torch.tensor(x_data), torch.tensor(y_data)
    w1, w2 = _leaves(torch, weights_data)

    def step() -> Any:
        loss = ((torch.tanh(x @ w1) @ w2 - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for w in (w1, w2):
                w -= 0.01 * w.grad
                w.grad = None
        return loss

    return step


def _network_by_hand(x: Any, y: Any, w1: Any, w2: Any) -> Any:
    def f(w1: Any, w2: Any) -> Any:
        return ((jnp.tanh(x @ w1) @ w2 - y) ** 2).mean()

    loss, (g1, g2) = jax.value_and_grad(f, (0, 1))(w1, w2)
    return loss, w1 - 0.01 * g1, w2 - 0.01 * g2


def workloads() -> list[Workload]:
    """The workloads, with their data: the same NumPy arrays for all three."""
    draw = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return draw.standard_normal(shape, np.float32)

    v = np.array([0.1, 1.0, 0.0001], np.float32)
    positive = np.abs(normal(3)) + 1
    return [
        Workload("x * 2 ten times, 3 floats", (normal(3), v), _doubling, _doubling_by_hand),
        Workload("3a + 2b² + log c", (normal(3), normal(3), positive, v), _weighted, _weighted_by_hand),
        Workload(
            "MLP training step, 64×32×16",
            (normal(64, 32), normal(64, 16), 0.1 * normal(32, 64), 0.1 * normal(64, 16)),
            _network,
            _network_by_hand,
        ),
    ]


def measure(steps: dict[str, Step]) -> dict[str, float]:
    """Median seconds per call of each step, over rounds in which they take turns."""
    repeats = {}
    for name, step in steps.items():
        for _ in range(5):
            step()
        start = time.perf_counter()
        step()
        repeats[name] = max(1, int(ROUND_SECONDS / (time.perf_counter() - start)))
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(ROUNDS):
        for name, step in steps.items():
            start = time.perf_counter()
            for _ in range(repeats[name]):
                result = step()
            _finish(result)
            seconds[name].append((time.perf_counter() - start) / repeats[name])
    return {name: statistics.median(each) for name, each in seconds.items()}


def _finish(result: Any) -> None:
    """Waits for a step's result, whichever of the three it came from."""
    for each in jax.tree.leaves(getattr(result, "value", result)):
        if isinstance(each, jax.Array):
            each.block_until_ready()


def _by_hand(workload: Workload) -> Step:
    step = jax.jit(workload.by_hand)
    arrays = [jax.device_put(each) for each in workload.arrays]
    return lambda: step(*arrays)


def main(arguments: Sequence[str] = ()) -> int:
    """Prints the table."""
    argparse.ArgumentParser(prog="jaxvjp bench", description="Measures a warm step.").parse_args(arguments)
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    if torch is None:
        print("torch is not installed, so its column is empty: `pip install 'jaxvjp[compare]'`")
    rows = []
    for workload in terminal.progress(workloads(), "measuring"):
        steps = {"jax": _by_hand(workload), "jaxvjp": workload.imperative(jaxvjp, *workload.arrays)}
        if torch is not None:
            steps["torch"] = workload.imperative(torch, *workload.arrays)
        median = measure(steps)
        before = counters.compiles, counters.dispatches
        for _ in range(10):
            steps["jaxvjp"]()
        compiles, dispatches = counters.compiles - before[0], counters.dispatches - before[1]
        rows.append(
            [
                workload.name,
                *[f"{median[name] * 1e6:.1f}" if name in median else "-" for name in ("torch", "jax", "jaxvjp")],
                f"{median['jaxvjp'] / median['torch']:.2f}" if "torch" in median else "-",
                f"{median['jaxvjp'] / median['jax']:.2f}",
                str(compiles),
                f"{dispatches / 10:g}",
            ]
        )
    terminal.table(
        ["workload", "torch µs", "by hand µs", "jaxvjp µs", "/ torch", "/ by hand", "compiles", "dispatches"], rows
    )
    return 0

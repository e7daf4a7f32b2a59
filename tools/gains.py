"""Prints what each of the things that are only fast gains (`jaxvjp/types/accelerators.py`).

    python tools/gains.py                             # all of them
    python tools/gains.py "warm path" plans --rounds 9

Each workload runs as a process with all of them and as one without each, in turns. The table has how many times the
time with all the time without one is: of the whole process after its import, then of a warm step. 1.00 is no gain; what
gains less than a tenth everywhere has not earned its lines. The times are the processor's, of all threads, as other
programs on the machine change them less than those of the clock; the shortest of all rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from jaxvjp.types.accelerators import ACCELERATORS  # noqa: E402 - of this checkout

PREPARED = """
import time
begun = time.process_time()
import jaxvjp as torch
imported = time.process_time()
torch.manual_seed(0)
"""
MEASURED = """
import json
warm = []
for _ in range(STEPS):
    start = time.process_time()
    step()
    warm.append(time.process_time() - start)
warm = sorted(warm[-max(3, STEPS // 3):])
print(json.dumps([time.process_time() - imported, warm[len(warm) // 2]]))
"""
NETWORK = """
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs, classes = torch.randn(64, 32), torch.arange(64) % 10

def step():
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), classes)
    loss.backward()
    optimizer.step()
    return loss.detach()
"""
RECURRENCE = """
w = (torch.randn(16, 16) * 0.2).requires_grad_()
inputs = torch.randn(400, 8, 16)

def step(count=[0]):
    count[0] += 1
    h, w.grad = torch.zeros(8, 16), None
    for each in range(LENGTH):
        h = torch.tanh(inputs[each] + h @ w)
    h.mean().backward()
    w.grad.tolist()
"""
WORKLOADS = {
    "a network, 30 steps": (NETWORK, 30),
    "a network, 1,000 steps": (NETWORK, 1000),
    "a network under jit, 1,000 steps": (NETWORK + "step = torch.jit(step)\n", 1000),
    "a recurrence over 200, 30 steps": (RECURRENCE.replace("LENGTH", "200"), 30),
    "a recurrence over 1 to 40, 300 steps": (RECURRENCE.replace("LENGTH", "count[0] * 7 % 40 + 1"), 300),
    "a chain of wide rows, 300 steps": (
        """
x = torch.randn(20_000, requires_grad=True)

def step():
    z, x.grad = x, None
    for _ in range(12):
        z = torch.sin(z) * 1.1 + torch.exp(-z) * 0.1
    z.sum().backward()
""",
        300,
    ),
    "gradients of gradients, 200 steps": (
        """
x = torch.randn(100, requires_grad=True)

def step():
    y = (x.sin() * x.roll(1)).sum() ** 2
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    torch.autograd.grad((first * first).sum(), x)[0].tolist()
""",
        200,
    ),
}
"""For each name the Python that defines a step, and how many steps a process has."""


def measured(workload: str, without: str) -> tuple[float, float]:
    """The seconds of a whole process after its import, and those of a warm step."""
    source, steps = WORKLOADS[workload]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAXVJP_WITHOUT": without}
    program = PREPARED + source + MEASURED.replace("STEPS", str(steps))
    run = subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True)
    whole, warm = json.loads(run.stdout.splitlines()[-1])
    return whole, warm


def gains(workload: str, accelerators: Sequence[str], rounds: int) -> list[tuple[float, float]]:
    """For each accelerator how many times the time without it is that with it: of the process and of a warm step."""
    runs: dict[str, list[tuple[float, float]]] = {each: [] for each in ("", *accelerators)}
    for number in range(rounds):
        for without in [*runs][:: 1 if number % 2 else -1]:
            runs[without].append(measured(workload, without))
    fastest = {without: [min(times) for times in zip(*taken, strict=True)] for without, taken in runs.items()}
    return [(fastest[off][0] / fastest[""][0], fastest[off][1] / fastest[""][1]) for off in accelerators]


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("accelerators", nargs="*", metavar="accelerator", help=", ".join(ACCELERATORS))
    parser.add_argument("--workload", default="", help="a part of the name of the workloads to run")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args(given)
    unknown = {*chosen.accelerators} - {*ACCELERATORS}
    if unknown:
        parser.error(f"no accelerator is called {', '.join(sorted(unknown))}")
    accelerators = chosen.accelerators or [*ACCELERATORS]
    print(f"| without | {' | '.join(accelerators)} |\n|---|{'---|' * len(accelerators)}", flush=True)
    for workload in [each for each in WORKLOADS if chosen.workload in each]:
        told = [f"{whole:.2f}, {warm:.2f}" for whole, warm in gains(workload, accelerators, chosen.rounds)]
        print(f"| {workload} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    main()

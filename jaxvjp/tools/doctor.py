"""`python -m jaxvjp doctor`: what JAX finds on this machine, and whether the examples, operators and steps are right.

One call of a few minutes gives the whole table, and with `--json FILE` a file to send: versions, devices, settings; the
examples; operators in float32 on the default device beside float64 on the CPU, values and gradients; three steps of the
benchmark beside torch, on the same device where torch has one; and how much memory a step under `jit` takes.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxvjp
from jaxvjp.explain import terminal
from jaxvjp.tools import bench, kept_programs
from jaxvjp.tools.bench.workloads import workloads
from jaxvjp.tools.examples import examples as all_examples
from jaxvjp.types.compiled import CYTHONIZED

PACKAGES = ("jaxvjp", "jax", "jaxlib", "numpy", "torch")
VARIABLES = (
    *("JAX_PLATFORMS", "XLA_FLAGS", "CUDA_VISIBLE_DEVICES"),
    *[f"JAXVJP_{each}" for each in ("XLA", "CACHE", "CHOOSE", "LOG")],
)
WORKLOADS = ("61 tiny operations", "network's training step", "elementwise, 2,000,000")
TOLERANCE = 1e-4
"""How far float32 may be from float64, relative to the largest number. A product in TF32, which has 10 bits instead of
23, is about 1e-3 away: jaxvjp asks for it only after `set_float32_matmul_precision("high")`."""

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "x @ y": lambda x, y: x @ y,
    "einsum": lambda x, y: jaxvjp.einsum("ij,kj->ik", x, y),
    "conv2d": lambda x, y: jaxvjp.nn.functional.conv2d(x.view(1, 1, 64, 64), y[:3, :3].reshape(1, 1, 3, 3)),
    "max_pool2d": lambda x, y: jaxvjp.nn.functional.max_pool2d(x.view(1, 1, 64, 64), 2),
    "softmax": lambda x, y: (x * 3).softmax(-1) * y,
    "layer_norm": lambda x, y: jaxvjp.nn.functional.layer_norm(x, (64,)) * y,
    "gelu": lambda x, y: jaxvjp.nn.functional.gelu(x) * y,
    "attention": lambda x, y: jaxvjp.nn.functional.scaled_dot_product_attention(x[None], y[None], x[None]),
    "cross_entropy": lambda x, y: jaxvjp.nn.functional.cross_entropy(x, y.argmax(1)),
    "sum, mean, var": lambda x, y: x.sum(0) + y.mean(1) + x.var(0),
    "amax": lambda x, y: x.amax(1) * y.amax(0),
    "cumsum": lambda x, y: x.cumsum(0) * y,
    "logsumexp": lambda x, y: x.logsumexp(1) * y[0],
    "sort": lambda x, y: x.sort(1).values * y,
    "gather": lambda x, y: x.gather(1, y.argsort(1)) * y,
    "scatter_add": lambda x, y: x.scatter_add(0, y.argsort(0), y),
    "x[mask]": lambda x, y: (x[y.detach() > 0] ** 2).sum(),
    "x[0] = y": lambda x, y: _written(x, y),
    "solve": lambda x, y: jaxvjp.linalg.solve(x @ x.t() / 64 + jaxvjp.eye(64, dtype=x.dtype, device=x.device), y),
    "cholesky": lambda x, y: jaxvjp.linalg.cholesky(x @ x.t() / 64 + jaxvjp.eye(64, dtype=x.dtype, device=x.device)),
    "fft": lambda x, y: (jaxvjp.fft.rfft(x).abs() ** 2).sum() / 64,
    "exp, log, sin": lambda x, y: (x.exp() + 1).log().sin() * y,
    "erf, lgamma": lambda x, y: x.erf() * (y.abs() + 1).lgamma(),
    "where": lambda x, y: jaxvjp.where(x > y, x * y, y),
    "norm": lambda x, y: x.norm() * y.norm(),
}
"""By name, a function of two 64 × 64 matrices. Its value and both gradients are compared."""


def _written(x: Any, y: Any) -> Any:
    x = x.clone()
    x[0] = y[1] * 2
    return x * y


def main(arguments: Sequence[str] = ()) -> int:
    """Prints what was found; returns 1 if an example or an operator disagrees."""
    parser = argparse.ArgumentParser(prog="jaxvjp doctor", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything found to a file")
    given = parser.parse_args(arguments)
    start = time.monotonic()
    found: dict[str, Any] = {"machine": machine()}
    terminal.table(["machine", ""], [[name, str(value)] for name, value in found["machine"].items()])
    found["examples"] = examples()
    disagreeing = [name for name, agrees in found["examples"].items() if not agrees]
    print(
        f"{len(found['examples'])} examples, "
        + (f"disagreeing: {', '.join(disagreeing)}" if disagreeing else "all agree")
    )
    found["operators"] = operators()
    wrong = [name for name, distance in found["operators"].items() if not distance <= TOLERANCE]
    rows = [
        [name, f"{distance:.1e}", "NO" if name in wrong else "yes"] for name, distance in found["operators"].items()
    ]
    terminal.table(["operator", "from float64 on the CPU", f"within {TOLERANCE:g}"], rows)
    found["steps"] = steps()
    terminal.table(bench.COLUMNS + bench.COUNTS + bench.FIRST, [bench.row(each) for each in found["steps"]])
    found["memory"] = memory()
    print(told(found["memory"]))
    found["seconds"] = round(time.monotonic() - start, 1)
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=2) + "\n")
        print(f"written: {given.json}")
    return 1 if disagreeing or wrong else 0


def machine() -> dict[str, Any]:
    """Versions, devices, and the settings that change what runs where."""
    devices = jax.devices()
    first = devices[0]
    small = "in NumPy until compiling it pays" if first.platform == "cpu" else "compiled at its first call"
    return {
        "python": f"{platform.python_version()} on {platform.platform()}, {os.cpu_count()} cores",
        **{name: _version(name) for name in PACKAGES},
        "jaxvjp is": "compiled" if CYTHONIZED else "pure Python",
        "devices": ", ".join(f"{device.platform}:{device.id} {device.device_kind}" for device in devices),
        "tensors are on": f"{first.platform}:{first.id}, if no device is named",
        "a small program is": small,
        "float32 products": jaxvjp.get_float32_matmul_precision(),
        "compiled programs": str(kept_programs.folder() or "not kept"),
        **{name: os.environ[name] for name in VARIABLES if name in os.environ},
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def examples() -> dict[str, bool]:
    """For each example whether its four answers agree."""
    runs = [each.run() for each in terminal.progress(list(all_examples().values()), "running the examples")]
    return {run.example.name: run.agrees for run in runs}


def operators() -> dict[str, float]:
    """For each operator how far value and gradients are from those in float64 on the CPU, relative to the largest."""
    source = np.random.default_rng(0)
    x, y = source.normal(size=(2, 64, 64))
    found = {}
    for name in terminal.progress(list(OPERATORS), "operators"):
        exact, given = (value_and_gradients(name, x, y, **named) for named in (EXACT, {"dtype": jaxvjp.float32}))
        found[name] = max(map(distance_between, exact, given))
    return found


EXACT = {"dtype": jaxvjp.float64, "device": "cpu"}


def value_and_gradients(name: str, x: Any, y: Any, **named: Any) -> list[Any]:
    leaves = [jaxvjp.tensor(each, requires_grad=True, **named) for each in (x, y)]
    value = OPERATORS[name](*leaves)
    value.sum().backward()
    return [
        each.detach().cpu().double().numpy() for each in (value, *[leaf.grad for leaf in leaves]) if each is not None
    ]


def distance_between(exact: Any, given: Any) -> float:
    return float(np.abs(exact - given).max() / max(1.0, np.abs(exact).max()))


def steps() -> list[dict[str, Any]]:
    """Three workloads of the benchmark, warm; torch beside them."""
    chosen = [workload for workload in workloads() if workload.name.startswith(WORKLOADS)]
    with torch_beside() as torch:
        return bench.run(chosen, torch)


@contextmanager
def torch_beside() -> Iterator[Any]:
    """torch, where it is installed and has a device such as JAX's default one, to which its tensors then go."""
    torch: Any = None if _version("torch") == "not installed" else importlib.import_module("torch")
    on_gpu = jax.devices()[0].platform == "gpu"
    if torch is None or (on_gpu and not torch.cuda.is_available()):
        yield None
    else:
        with torch.device("cuda" if on_gpu else "cpu"):
            yield torch


def memory() -> dict[str, Any]:
    """Bytes in use at most while a step under `jit` writes 64 MB in place, and whether, once warm, it wrote where
    they were: the first steps are recorded and compiled, and may write elsewhere. (Where programs wait in NumPy, a
    step becomes warm only once that pays.)"""
    x = jaxvjp.zeros(1 << 24)

    @jaxvjp.jit
    def step() -> None:
        x.mul_(0.5).add_(1.0)

    places = []
    with bench.compiled_at_once():
        for _ in range(16):
            step()
            places.append(x.__value__.unsafe_buffer_pointer())
    stats = jax.devices()[0].memory_stats() or {}
    return {"bytes": x.nbytes, "places": len({*places[-4:]}), "peak": stats.get("peak_bytes_in_use")}


def told(memory: dict[str, Any]) -> str:
    """One line about it."""
    peak = memory["peak"]
    most = (
        "this device does not say how much memory was used" if peak is None else f"at most {peak:,} bytes in use so far"
    )
    return f"four warm steps under jit on {memory['bytes']:,} bytes wrote to {memory['places']} places; {most}"


if __name__ == "__main__":
    sys.exit(main())

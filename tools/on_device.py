"""Tries jaxvjp on the device that JAX finds, and writes what came of it as one page of Markdown.

    python tools/on_device.py OUT.md                                   # all of it, in 500 seconds at most
    python tools/on_device.py OUT.md --seconds 60 --parts precision memory

Each part has a process and a limit of its own: what fails, or takes too long, costs no other part. The page is written
after each part. A checkout and JAX suffice; torch, and flax with optax, are compared with where they are installed.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import gc
import importlib.util
import inspect
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "ops")]
THIS = str(Path(__file__).resolve())
Until = float
"""A time of `time.monotonic`, which processes of one machine share: until then a part may begin with something else."""


def line(*cells: Any) -> None:
    """Prints a line of a table."""
    told = [f"{each:{',.0f' if each >= 1000 else '.3g'}}" if isinstance(each, float) else str(each) for each in cells]
    print(f"| {' | '.join(told)} |", flush=True)


def head(*cells: str) -> None:
    line(*cells)
    line(*["---"] * len(cells))


def machine(until: Until) -> int:
    """What there is: the first part, whose lines follow the page's heading."""
    import jax

    from jaxvjp.tools import doctor

    head("machine", "")
    for name, value in doctor.machine().items():
        line(name, value)
    line("XLA's platform", jax.devices()[0].client.platform_version.replace("\n", ", "))
    asked = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    with contextlib.suppress(OSError):
        line("nvidia-smi", subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip())
    for name in ("flax", "optax"):
        line(name, doctor._version(name))
    return 0


def precision(until: Until) -> int:
    """float32 beside float64 on the CPU: the largest difference of values and gradients, relative to the largest."""
    import jax
    import numpy as np

    import jaxvjp
    from jaxvjp.tools import doctor

    jaxvjp.set_compiling("always")

    def convolved(x: Any, y: Any) -> Any:
        return jaxvjp.nn.functional.conv2d(x.view(16, 64, 32, 32), y.reshape(-1)[: 64 * 64 * 9].view(64, 64, 3, 3))

    doctor.OPERATORS["conv2d of 64 channels"] = convolved
    x, y = np.random.default_rng(0).normal(size=(2, 1024, 1024))
    head("", "precision", "from float64", "TF32, or less, is visible")
    for asked in ("highest", "default"):
        given = jax.numpy.matmul(*(jax.numpy.asarray(each, "float32") for each in (x, y)), precision=asked)
        found = doctor.distance_between(x @ y, np.asarray(given))
        line("jax.numpy.matmul", asked, found, "yes" if found > 5e-5 else "no")
    for name in ("x @ y", "conv2d of 64 channels", "attention"):
        jaxvjp.set_float32_matmul_precision("highest")
        exact = doctor.value_and_gradients(name, x, y, **doctor.EXACT)
        for asked in ("highest", "high", "medium"):
            jaxvjp.set_float32_matmul_precision(asked)
            arrays = doctor.value_and_gradients(name, x, y, dtype=jaxvjp.float32)
            found = max(map(doctor.distance_between, exact, arrays))
            line(name, asked, found, "yes" if found > 5e-5 else "no")
    return 0


def memory(until: Until) -> int:
    """Bytes in use after each few training steps (four layers of 2048, Adam): flat, and under `jit` what is written is
    donated, if it is large (of 64 MiB on a CPU)."""
    import jax

    import jaxvjp as torch
    from jaxvjp.tools import bench

    def in_use(what: str = "bytes_in_use") -> float:
        stats = jax.devices()[0].memory_stats()
        return (stats[what] if stats else sum(each.nbytes for each in jax.live_arrays())) / 2**20

    told = "as the device says" if jax.devices()[0].memory_stats() else "of arrays; the device does not say"
    head("step", f"MiB in use ({told}) after steps 12, 18, …", "flat", "peak so far", "donated arrays")
    grown = False
    for name in ("under jit", "recorded"):
        torch.manual_seed(0)
        model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(4)])
        optimizer, x = torch.optim.Adam(model.parameters(), lr=1e-4), torch.randn(64, 2048)

        def step(model: Any = model, optimizer: Any = optimizer, x: Any = x) -> Any:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), x)
            loss.backward()
            optimizer.step()
            return loss.detach()

        run, points, before = torch.jit(step) if name == "under jit" else step, [], torch.counters.donated
        with bench.compiled_at_once():
            for number in range(1, 43):
                run().item()
                if number >= 12 and number % 6 == 0:
                    points.append(in_use())
        flat = max(points) - points[0] < 2
        grown |= not flat
        donated = torch.counters.donated - before
        line(name, ", ".join(f"{each:.1f}" for each in points), flat, in_use("peak_bytes_in_use"), donated)
        del model, optimizer, x, step, run
        gc.collect()
    return grown


CONTENDERS = ("torch", "by hand", "jaxvjp", "jit")
NEEDS = {"torch": ("torch",), "by hand": ("flax", "optax")}


def contenders(workload: Any, torch: Any) -> dict[str, Callable[[], Callable[[], Any]]]:
    """For each contender that is here, what makes its step. By hand is flax with optax."""
    import jaxvjp
    from jaxvjp.tools import bench

    makes = {
        "torch": lambda: workload.imperative(torch, *workload.data),
        "by hand": lambda: workload.by_hand(*workload.data),
        "jaxvjp": lambda: bench._computing(workload.imperative(jaxvjp, *workload.data)),
        "jit": lambda: jaxvjp.jit(workload.imperative(jaxvjp, *workload.data)),
    }
    if torch is None:
        del makes["torch"]
    return {name: make for name, make in makes.items() if all(map(importlib.util.find_spec, NEEDS.get(name, ())))}


def warm(until: Until) -> int:
    """A steady step of five models, in µs, with all its results computed; every program is compiled by XLA at once."""
    from jaxvjp.tools import bench, doctor
    from tools.bench_models import workloads

    head("model", *[f"{name} µs" for name in CONTENDERS], "jaxvjp / torch", "jaxvjp / by hand", "jit / by hand")
    with doctor.torch_beside() as torch, bench.compiled_at_once():
        for workload in workloads():
            if time.monotonic() > until:
                print(f"\n{workload.name} and what follows: no time left", flush=True)
                return 1
            made = {name: make() for name, make in contenders(workload, torch).items()}
            took = bench.measure(made, workload.warm)["seconds"]
            pairs = [took.get(one, 0.0) / took.get(other, float("inf")) for one, other in RATIOS]
            cells = [*[took.get(name, 0.0) * 1e6 for name in CONTENDERS], *pairs]
            line(workload.name, *[each or "-" for each in cells])
    return 0


RATIOS = (("jaxvjp", "torch"), ("jaxvjp", "by hand"), ("jit", "by hand"))


def cold(until: Until) -> int:
    """A model's first step in a new process that finds nothing kept: seconds of the whole process, and of the step."""
    head("model", *[f"{name}: process, step (s)" for name in CONTENDERS])
    for number in itertools.count():
        cells: list[str] = []
        for name in CONTENDERS:
            begun = time.monotonic()
            if begun > until:
                print("\nThe others: no time left.", flush=True)
                return 1
            if not all(map(importlib.util.find_spec, NEEDS.get(name, ()))):
                cells.append("-")
                continue
            said = subprocess.run(
                [sys.executable, THIS, "--first", str(number), name], capture_output=True, text=True, check=False
            )
            seconds = time.monotonic() - begun
            if said.returncode == 3:  # there is no model of that number
                return 0
            if said.returncode:
                print(said.stderr, file=sys.stderr)
            model, step = json.loads(said.stdout.splitlines()[-1]) if not said.returncode else ("failed", None)
            cells.append("-" if step is None else f"{seconds:.2f}, {step:.2f}")
        line(model, *cells)
    return 0


def first(number: int, name: str) -> int:
    """The first step of one contender in this process, as JSON on the last line; null where it is not here."""
    from jaxvjp.tools import bench, doctor
    from tools.bench_models import workloads

    chosen, took = workloads()[number : number + 1], None
    if not chosen:
        return 3
    with doctor.torch_beside() if name == "torch" else contextlib.nullcontext() as torch:
        make = contenders(chosen[0], torch).get(name)
        if make is not None:
            begun = time.perf_counter()
            bench._finish(make()())
            took = time.perf_counter() - begun
    print(json.dumps([chosen[0].name, took]))
    return 0


def operators(until: Until) -> int:
    """Operators in float32 on the device, compiled, beside NumPy on the CPU: values, first and second derivatives.

    First those of the doctor, within 1e-4 of the largest number; then the calls of `tests/ops/op_cases.py`, the first
    of each op, the second of each and so on while there is time, within 1e-4 of each number, or 1e-5, errors included.
    """
    from op_calls import called, drawn, operands_of
    from op_cases import CASES

    import jaxvjp
    from jaxvjp.core.run.evaluation import evaluate
    from jaxvjp.tools import doctor
    from tools.fuzz.outcomes import Outcome

    grad, x_and_y = jaxvjp.autograd.grad, doctor.np.random.default_rng(0).normal(size=(2, 64, 64))

    def derived(value: Any, leaves: Any) -> Any:
        """A value with its derivatives, computed in one program."""
        if not value.requires_grad or not value.numel():
            return [value]
        cotangent = drawn(jaxvjp, value, 1, requires_grad=True)
        first = grad(value, leaves, cotangent, create_graph=True, allow_unused=True)
        again = [each for each in first if each is not None and each.requires_grad]
        weights = [drawn(jaxvjp, each, 2) for each in again]
        second = grad(again, [*leaves, cotangent], weights, allow_unused=True) if again else ()
        every = [each for each in (value, *first, *second) if each is not None]
        evaluate([each.__node__ for each in every])
        return every

    def of_doctor(torch: Any, name: str) -> Any:
        leaves = [torch.tensor(each, dtype=torch.float32, requires_grad=True) for each in x_and_y]
        return derived(doctor.OPERATORS[name](*leaves), leaves)

    def of_case(torch: Any, name: str, call: Any) -> Any:
        operands, static, leaves = operands_of(torch, call, "float32")
        return derived(called(torch, name, operands, static), leaves)

    every = [(name, partial(of_doctor, name=name)) for name in doctor.OPERATORS]
    for calls in itertools.zip_longest(*CASES.values()):
        pairs = [(name, call) for name, call in zip(CASES, calls, strict=True) if call is not None]
        every += [(f"{name}, {call}", partial(of_case, name=name, call=call)) for name, call in pairs]
    done = differing = 0
    for number, (name, program) in enumerate(every):
        if time.monotonic() > until:
            break
        jaxvjp.set_compiling("never")
        with jaxvjp.device("cpu"):
            expected = Outcome(program, jaxvjp)
        jaxvjp.set_compiling("always")
        given, done = Outcome(program, jaxvjp), done + 1
        told = expected.difference(given, 1e-4, 1e-5)
        if number < len(doctor.OPERATORS) and not given.raised:
            pairs = [[doctor.np.array(of[-1]) for of in both] for both in zip(expected.value, given.value, strict=True)]
            apart = max(doctor.distance_between(*pair) for pair in pairs)
            told = "" if apart <= doctor.TOLERANCE else f"{apart:.1e} apart"
        if told:
            differing += 1
            print(f"* `{name[:150]}`:\n\n      " + told[:800].replace("\n", "\n      ") + "\n", flush=True)
    print(f"{done} of {len(every)} calls compared: {differing} differ")
    return differing > 0


PARTS: dict[str, tuple[str, Callable[[Until], int] | list[str], float]] = {
    "machine": ("What there is", machine, 0.1),
    "examples": ("The examples: `python -m jaxvjp`", ["-m", "jaxvjp"], 0.16),
    "doctor": ("`python -m jaxvjp doctor`", ["-m", "jaxvjp", "doctor"], 0.25),
    "precision": ("Precision of float32", precision, 0.1),
    "memory": ("Memory over steps", memory, 0.1),
    "warm": ("Warm steps of five models", warm, 0.2),
    "cold": ("First steps of five models", cold, 0.25),
    "operators": ("Operators beside the CPU", operators, 0.2),
}
"""By name: the heading, what runs, and the share of all the time that it may take; in order, the last ones take what is
left."""


def run_part(name: str, seconds: float, kept: str) -> tuple[str, bool]:
    """What a part said, as Markdown, and whether all was well."""
    title, runs, _ = PARTS[name]
    begun = time.monotonic()
    # What a part does by turns ends on its own before it would be ended.
    command = runs if isinstance(runs, list) else [THIS, "--part", name, str(begun + 0.85 * seconds)]
    environment = {**os.environ, "JAXVJP_CACHE": kept, "PYTHONUNBUFFERED": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, *command], stdout=out, stderr=errors, env=environment, cwd=ROOT, start_new_session=True
        )
        try:
            status: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
            os.killpg(process.pid, signal.SIGKILL)  # with the processes that it started
            process.wait()
        said, told = [each.seek(0) or each.read().strip() for each in (out, errors)]
    ended = (
        f"ended at its limit of {seconds:.0f} s" if status is None else "well" if status == 0 else f"status {status}"
    )
    took = time.monotonic() - begun
    print(f"{name}: {ended}, {took:.1f} s", flush=True)
    said = f"```text\n{said}\n```" if isinstance(runs, list) else f"{inspect.cleandoc(runs.__doc__ or '')}\n\n{said}"
    failed = f"\n\nThe end of what it said on standard error:\n\n```text\n{told[-3000:]}\n```" if status != 0 else ""
    return f"## {title}\n\n{took:.1f} s, {ended}.\n\n{said}{failed}\n", status == 0


def main(arguments: Sequence[str]) -> int:
    """Runs the parts one after the other, and writes the page after each; 1 if one of them was not well."""
    if arguments[:1] == ["--part"]:
        return int(PARTS[arguments[1]][1](float(arguments[2])))  # type: ignore[operator]
    if arguments[:1] == ["--first"]:
        return first(int(arguments[1]), arguments[2])
    parser = argparse.ArgumentParser(prog="python tools/on_device.py", description=main.__doc__)
    parser.add_argument("page", type=Path, metavar="OUT.md", help="the page to write")
    parser.add_argument("--seconds", type=float, default=500, help="for all of it, at most (default: %(default)s)")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="only these")
    parser.add_argument("--limits", nargs="+", default=[], metavar="PART=SECONDS", help="other limits than its shares")
    given = parser.parse_args(arguments)
    limits = {name: float(seconds) for name, _, seconds in (each.partition("=") for each in given.limits)}
    whole = sum(PARTS[name][2] for name in given.parts)
    page = f"# jaxvjp on this device, {datetime.datetime.now():%Y-%m-%d %H:%M}\n"
    good, end = True, time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory() as kept:
        for name in given.parts:
            share = limits.get(name, PARTS[name][2] / min(whole, 1) * given.seconds)
            said, well = run_part(name, max(1.0, min(share, end - time.monotonic() - 1)), kept)
            page, good = f"{page}\n{said}", good and well
            given.page.write_text(page, encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

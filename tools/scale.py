"""`python -m tools.scale`: what XLA makes of a training step on many devices, as the table of `docs/scale.md`.

The step is compiled for devices that XLA makes of one CPU, each count in a process of its own, and not run. Figures are
of one device: XLA's cost analysis, its memory analysis, and the collectives in the compiled text.
"""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding

from jaxvjp import nn, optim
from jaxvjp.core.run.compilation import Executable, counters, told_of_compiles
from jaxvjp.distributed.device_mesh import init_device_mesh
from jaxvjp.distributed.tensor import Replicate, Shard, distribute_tensor
from jaxvjp.library.creation import ones
from jaxvjp.nn.functional import mse_loss
from jaxvjp.pure import as_function
from jaxvjp.staging import jit
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.meshes import SPEC

COUNTS = (1, 8, 64, 256)
WIDTH, LAYERS, ROWS = 256, 4, 64
"""The step: so many layers of this width, trained by SGD, with so many rows of a batch on each device."""
SENT = {"all-reduce": 2.0, "all-gather": 1.0, "reduce-scatter": 1.0, "all-to-all": 1.0}
"""For each collective how often a ring sends its whole array, but for a part 1 / devices of it."""


def staged_step(count: int, sharded: bool, width: int, layers: int, rows: int) -> tuple[Any, nn.Module, Tensor]:
    """A step on that many devices, its model and its batch; the parameters are sharded, or else replicated."""
    mesh = init_device_mesh("cpu", (count,))
    model = nn.Sequential(*[nn.Linear(width, width) for _ in range(layers)])
    placement = Shard(0) if sharded else Replicate()
    for layer in model:
        for name, each in layer.named_parameters():
            setattr(layer, name, nn.Parameter(distribute_tensor(each.detach(), mesh, [placement])))
    x = distribute_tensor(ones(rows, width), mesh, [Shard(0)])
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = mse_loss(model(x), x)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return jit(step), model, x


def program_of(count: int, sharded: bool) -> Executable:
    """The program of such a step."""
    step, _, x = staged_step(count, sharded, WIDTH, LAYERS, ROWS * count)
    programs: list[Executable] = []

    def note(where: Any, each: Executable) -> None:
        programs.append(each)

    told_of_compiles.append(note)
    try:
        step(x).item()
    finally:
        told_of_compiles.remove(note)
    return max(programs, key=lambda each: each.program.weight)


def compiled(own: Executable) -> Any:
    """XLA's executable of such a program."""
    struct: Any = jax.ShapeDtypeStruct
    avals = [own.program.arguments[array] for array in own.arrays]
    operands = [struct(aval.shape, aval.dtype.numpy, sharding=aval.device and aval.device.sharding) for aval in avals]
    operands += [struct((len(each),), dtype.numpy) for dtype, each in own.packs.items()]
    with jax.enable_x64(True):
        return jax.jit(own.replayed).lower(*operands).compile()


def collectives(text: str) -> dict[str, list[int]]:
    """The bytes of what each collective in a compiled text gives, by its kind."""
    found: dict[str, list[int]] = {kind: [] for kind in SENT}
    for shapes, kind in re.findall(rf"= (.+?) ({'|'.join(SENT)})(?:-start)?\(", text):
        sizes = re.findall(r"[a-z]+(\d+)\[([\d,]*)\]", shapes)
        found[kind].append(
            sum(int(bits) // 8 * math.prod(int(each) for each in dims.split(",") if each) for bits, dims in sizes)
        )
    return found


def figures(count: int, sharded: bool) -> dict[str, Any]:
    """One line of the table: of one of `count` devices."""
    own = program_of(count, sharded)
    made = compiled(own)
    cost = made.cost_analysis()
    found = collectives(made.as_text())
    sent = sum(SENT[kind] * sum(sizes) for kind, sizes in found.items()) * (count - 1) / count
    return {
        "devices": count,
        "parameters": "sharded" if sharded else "replicated",
        "operations": len(own.program.equations),
        "collectives": sum(map(len, found.values())),
        "sent": round(sent),
        "arguments": made.memory_analysis().argument_size_in_bytes,
        "flops": round(cost["flops"]),
    }


def row(each: dict[str, Any]) -> str:
    """A line of the table in the document."""
    sizes = [f"{each[name] / 1024:,.0f}" for name in ("arguments", "sent")]
    cells = [each["parameters"], each["devices"], *sizes, each["collectives"], f"{each['flops'] / 1e6:.1f}"]
    return f"| {' | '.join(map(str, cells))} |"


def beside_jax(sharded: bool, count: int = 8, rounds: int = 40) -> float:
    """How long a warm step of three layers of 512 with 1,024 rows takes, beside the same step written in JAX.

    Both take turns; it is the median of their ratios.
    """
    step, model, x = staged_step(count, sharded, 512, 3, 1024)
    given = [parameter.detach().clone().jax() for parameter in model.parameters()]
    batch = x.jax()

    def by_hand(weights: Any, x: Any) -> Any:
        def loss_of(weights: Any) -> Any:
            y = x
            for at in range(0, len(weights), 2):
                y = y @ weights[at].T + weights[at + 1]
            return ((y - x) ** 2).mean()

        loss, gradients = jax.value_and_grad(loss_of)(weights)
        return jax.tree.map(lambda each, gradient: each - 0.1 * gradient, weights, gradients), loss

    layout = [each.sharding for each in given]
    compiled_by_hand = jax.jit(by_hand, out_shardings=(layout, None), donate_argnums=0)
    ratios = []
    for _ in range(2 * rounds):
        begun = time.perf_counter()
        step(x).item()
        ours = time.perf_counter()
        given, loss = compiled_by_hand(given, batch)
        loss.block_until_ready()
        ratios.append((ours - begun) / (time.perf_counter() - ours))
    return median(ratios[rounds:])


def compiling(sharded: bool, counts: Sequence[int] = (8, 256), repeats: int = 3) -> list[list[float]]:
    """For each count of devices the seconds of the processor to lower the gradient of the step's loss for an abstract
    mesh, and to compile it for as many devices; the least of a few."""
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    x, parameters = ones(ROWS * max(counts), WIDTH), list(model.parameters())
    function = as_function(mse_loss(model(x), x), [*parameters, x])
    gradient = jax.jit(jax.grad(function, tuple(range(len(parameters)))))

    def operands(mesh: Any) -> list[Any]:
        split: Any = NamedSharding(mesh, SPEC("d"))
        places = [split if sharded else NamedSharding(mesh, SPEC())] * len(parameters) + [split]
        struct: Any = jax.ShapeDtypeStruct
        return [struct(each.shape, "float32", sharding=at) for each, at in zip([*parameters, x], places, strict=True)]

    found = []
    for count in counts:
        abstract = operands(AbstractMesh((count,), ("d",)))
        concrete = operands(Mesh(np.array(jax.devices()[:count]), ("d",)))
        times = []
        for _ in range(repeats):
            jax.clear_caches()  # type: ignore[no-untyped-call]
            begun = time.process_time()
            gradient.trace(*abstract).lower(lowering_platforms=("cpu",))
            lowered = time.process_time()
            made = gradient.lower(*concrete)
            before = time.process_time()
            made.compile()
            times.append((lowered - begun, time.process_time() - before))
        found.append([min(each) for each in zip(*times, strict=True)])
    return found


def host(count: int = 10_000, warm: int = 12) -> dict[str, float]:
    """What a loss of `count` operations on two numbers, no two stretches of which are alike, costs the host: to record
    it, and to go back, with all that is computed; and what JAX takes for as many, dispatched one after the other.

    Seconds of the processor, the median of a few warm steps; and how often a step calls a program.
    """
    source = random.Random(0)
    steps = [(source.random() < 0.5, 1 + source.random() / count) for _ in range(count - 1)]
    x = ones(2, requires_grad=True)

    def loss_of(y: Any, sin: Any) -> Any:
        for is_sine, factor in steps:
            y = sin(y) if is_sine else y * factor
        return y.sum()

    times: list[tuple[float, ...]] = []
    for _ in range(2 * warm):
        begun, before = time.process_time(), counters.dispatches
        y = loss_of(x, lambda y: y.sin())
        recorded = time.process_time()
        y.backward()
        x.grad.tolist()  # type: ignore[union-attr]
        ended = time.process_time()
        x.grad = None
        loss_of(jnp.ones(2), jnp.sin).block_until_ready()
        times.append((recorded - begun, ended - recorded, time.process_time() - ended, counters.dispatches - before))
    return dict(zip(("record", "back", "jax", "dispatches"), map(median, zip(*times[warm:], strict=True)), strict=True))


def main(arguments: Sequence[str]) -> int:
    """Prints the whole table; with a count and "sharded" or "replicated" the figures of one line, as JSON; with "host",
    "compiling" or "beside" the others that the page has."""
    if arguments == ["host"]:
        print(json.dumps(host()))
        return 0
    if arguments == ["beside"]:
        jax.config.update("jax_num_cpu_devices", 8)  # type: ignore[no-untyped-call]
        print(json.dumps({kind: beside_jax(kind == "sharded") for kind in ("replicated", "sharded")}))
        return 0
    if arguments == ["compiling"]:
        jax.config.update("jax_num_cpu_devices", 256)  # type: ignore[no-untyped-call]
        print(json.dumps({kind: compiling(kind == "sharded") for kind in ("replicated", "sharded")}))
        return 0
    if arguments:
        jax.config.update("jax_num_cpu_devices", int(arguments[0]))  # type: ignore[no-untyped-call]
        print(json.dumps(figures(int(arguments[0]), arguments[1] == "sharded")))
        return 0
    for kind in ("replicated", "sharded"):
        for count in COUNTS:
            command = [sys.executable, "-m", "tools.scale", str(count), kind]
            print(row(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

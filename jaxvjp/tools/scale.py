"""`python -m jaxvjp.tools.scale`: what XLA makes of a training step on many devices, as the table of `docs/scale.md`.

The step is compiled for devices that XLA makes of one CPU, each count in a process of its own, and not run. Figures are
of one device: XLA's cost analysis, its memory analysis, and the collectives in the compiled text.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import jax

from jaxvjp import nn, optim
from jaxvjp.core.run.compilation import Executable, told_of_compiles
from jaxvjp.distributed.device_mesh import init_device_mesh
from jaxvjp.distributed.tensor import Replicate, Shard, distribute_tensor
from jaxvjp.library.creation import ones
from jaxvjp.nn.functional import mse_loss
from jaxvjp.staging import jit

COUNTS = (1, 8, 64, 256)
WIDTH, LAYERS, ROWS = 256, 4, 64
"""The step: so many layers of this width, trained by SGD, with so many rows of a batch on each device."""
SENT = {"all-reduce": 2.0, "all-gather": 1.0, "reduce-scatter": 1.0, "all-to-all": 1.0}
"""For each collective how often a ring sends its whole array, but for a part 1 / devices of it."""


def program_of(count: int, sharded: bool) -> Executable:
    """The program of a staged step on that many devices; its parameters are sharded, or else replicated."""
    mesh = init_device_mesh("cpu", (count,))
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    placement = Shard(0) if sharded else Replicate()
    for layer in model:
        for name, each in layer.named_parameters():
            setattr(layer, name, nn.Parameter(distribute_tensor(each.detach(), mesh, [placement])))
    x = distribute_tensor(ones(ROWS * count, WIDTH), mesh, [Shard(0)])
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = mse_loss(model(x), x)
        loss.backward()
        optimizer.step()
        return loss.detach()

    programs: list[Executable] = []

    def note(where: Any, each: Executable) -> None:
        programs.append(each)

    told_of_compiles.append(note)
    try:
        jit(step)(x).item()
    finally:
        told_of_compiles.remove(note)
    return max(programs, key=lambda each: each.program.weight)


def compiled(own: Executable) -> Any:
    """XLA's executable of such a program."""
    struct: Any = jax.ShapeDtypeStruct
    avals = [own.program.arguments[each] for each in own.arrays]
    operands = [struct(each.shape, each.dtype.numpy, sharding=each.device and each.device.sharding) for each in avals]
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


def main(arguments: Sequence[str]) -> int:
    """Prints the whole table; with a count and "sharded" or "replicated" the figures of one line, as JSON."""
    if arguments:
        jax.config.update("jax_num_cpu_devices", int(arguments[0]))  # type: ignore[no-untyped-call]
        print(json.dumps(figures(int(arguments[0]), arguments[1] == "sharded")))
        return 0
    for kind in ("replicated", "sharded"):
        for count in COUNTS:
            command = [sys.executable, "-m", "jaxvjp.tools.scale", str(count), kind]
            print(row(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

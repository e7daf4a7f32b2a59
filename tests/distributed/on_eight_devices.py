"""A script for eight devices: what it prints, as JSON, `test_meshes.py` compares."""

import json
import re

import jax
import jax.numpy as jnp
import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    zeros,
)
from training import trained

from jaxvjp import counters, from_jax
from jaxvjp.core.run.compilation import told_of_compiles

told = {}


def shown(*tensors):
    return [(each.tolist(), str(each.placements)) for each in tensors]


def refused(function):
    try:
        function()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was refused"


line = init_device_mesh("cpu", (8,))
grid = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
told["meshes"] = [repr(line), repr(grid), repr(grid["tp"]), grid.mesh.tolist(), grid["tp"].mesh.tolist(), line == grid]

plain = torch.arange(32.0).reshape(8, 4)
x = distribute_tensor(plain, line, [Shard(0)])
w = distribute_tensor(torch.linspace(-1, 1, 64).reshape(4, 16).requires_grad_(), line, [Shard(1)])
home = torch.ones(8, 1, requires_grad=True)  # on no mesh: beside x a copy of it goes to each device
loss = ((x * home) @ w).relu().sum()
loss.backward()
whole, alone = w.full_tensor().detach().requires_grad_(), torch.ones(8, 1, requires_grad=True)
expected = ((plain * alone) @ whole).relu().sum()
expected.backward()
told["gradients"] = [
    loss.item() / expected.item() - 1,
    (w.grad.full_tensor() - whole.grad).abs().max().item(),
    (home.grad - alone.grad).abs().max().item(),
]
told["placements"] = [str(each.placements) for each in (x, w, w.grad, x + 1, torch.zeros_like(w), x.clone())]
told["which are"] = [isinstance(each, DTensor) for each in (x, w.grad, w.full_tensor(), home.grad, x @ w)]
told["device"] = [str(w.device), w.device == torch.device("cpu"), w.to("cpu").placements == w.placements]

y = distribute_tensor(plain, grid, [Shard(0), Shard(1)])
part = distribute_tensor(plain, grid["tp"], [Shard(1)])
(second,) = torch.autograd.grad((y.requires_grad_() ** 3).sum(), y, create_graph=True)
second.sum().backward()
told["grid"] = shown(y[:1, :2].redistribute(placements=[Replicate(), Replicate()]), part[:1], y.grad[:2])
told["redistributed"] = shown(y.detach().redistribute(placements=[Shard(1), Replicate()]))
written = y.detach().clone()
written[0] = 5
written.t().mul_(2)
into = torch.zeros(8, 4)
into.add_(written)
told["written"] = [*shown(written), isinstance(into, DTensor), into.tolist()]
told["batched"] = [torch.func.vmap(lambda row: row.sum())(y.detach()).tolist(), torch.func.grad(torch.sum)(x).tolist()]
told["made"] = shown(zeros(8, device_mesh=line, placements=[Shard(0)]), DTensor.from_local(plain[0], grid["tp"]))


def rows(name, module, mesh):
    if isinstance(module, nn.Linear):
        module.weight = nn.Parameter(distribute_tensor(module.weight.detach(), mesh, [Shard(0)]))


layers = distribute_module(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8)), line, rows)
told["module"] = [str(each.placements) for each in (*layers.parameters(), *layers.buffers())]

before = [w.tolist(), x.tolist()]
told["refused"] = {
    "too many": refused(lambda: init_device_mesh("cpu", (16,))),
    "twice": refused(lambda: DeviceMesh("cpu", [0, 0])),
    "uneven": refused(lambda: distribute_tensor(torch.ones(7, 16), line, [Shard(0)])),
    "uneven module": refused(lambda: distribute_module(nn.Linear(3, 9), line, rows)),
    "partial": refused(lambda: distribute_tensor(plain, line, [Partial()])),
    "dimension": refused(lambda: distribute_tensor(plain, line, [Shard(2)])),
    "count": refused(lambda: distribute_tensor(plain, grid, [Shard(0)])),
    "no leaf": refused(lambda: distribute_tensor(whole * 2, line, [Shard(0)])),
    "meshes": refused(lambda: x + y.detach()),
    "written": refused(lambda: x.add_(y.detach())),
    "again": refused(lambda: distribute_tensor(x, line, [Shard(1)])),
    "name": refused(lambda: grid["pp"]),
    "on none": refused(lambda: plain.placements),
}
told["unchanged"] = before == [w.tolist(), x.tolist()]


def collectives(compiled):
    """How many there are of each kind in the text of a program that XLA compiled."""
    text = compiled.as_text()
    kinds = "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute"
    return {kind: len(re.findall(rf" {kind}(?:-start)?\(", text)) for kind in kinds}


def step_by_hand(w, b, x):
    def loss_of(w, b):
        return ((jnp.tanh(x @ w[0].T + b) @ w[1].T) ** 2).mean()

    loss, gradients = jax.value_and_grad(loss_of, (0, 1))(w, b)
    return loss, gradients, jax.tree.map(lambda p, g: p - 0.1 * g, (w, b), gradients)


def steps_collectives(placement):
    """Those of a staged step, and those of the same step written in JAX, with parameters placed so."""
    w = [distribute_tensor(torch.ones(16, 16), line, [placement]).requires_grad_() for _ in range(2)]
    b = distribute_tensor(torch.ones(16), line, [placement]).requires_grad_()
    x = distribute_tensor(torch.ones(32, 16), line, [Shard(0)])

    @torch.compile
    def step(x):
        loss = ((x @ w[0].mT + b).tanh() @ w[1].mT).square().mean()
        loss.backward()
        with torch.no_grad():
            for each in (*w, b):
                each -= 0.1 * each.grad
                each.grad = None
        return loss.detach()

    programs = []
    told_of_compiles.append(lambda where, each: programs.append(each))
    loss = [step(x).item(), step(x).item()]
    told_of_compiles.clear()
    before = counters.dispatches
    loss.append(step(x).item())
    dispatches.append(counters.dispatches - before)
    own = max(programs, key=lambda each: each.program.weight)
    avals = [own.program.arguments[each] for each in own.arrays]
    operands = [
        jax.ShapeDtypeStruct(each.shape, each.dtype.numpy, sharding=each.device and each.device.sharding)
        for each in avals
    ]
    operands += [jax.ShapeDtypeStruct((len(each),), dtype.numpy) for dtype, each in own.packs.items()]
    with jax.enable_x64(True):
        ours = jax.jit(own.replayed).lower(*operands).compile()
    given = [each.detach().jax() for each in w], b.detach().jax(), x.jax()
    layout = jax.tree.map(lambda each: each.sharding, given[:2])
    hand = jax.jit(step_by_hand, out_shardings=(None, layout, layout)).lower(*given).compile()
    return collectives(ours), collectives(hand), loss


dispatches = []
told["collectives"] = [steps_collectives(Replicate()), steps_collectives(Shard(0))]
told["dispatches"] = dispatches
told["from JAX"] = shown(from_jax(jax.device_put(jnp.arange(8.0), jax.NamedSharding(line.jax(), jax.P("dim_0")))))
explicit = jax.make_mesh((8,), ("i",))
told["explicit"] = [each.name for each in explicit.axis_types]
placed = jax.device_put(jnp.arange(8.0), jax.NamedSharding(explicit, jax.P("i")))
told["from JAX"] += shown(
    from_jax(placed) * 2, torch.tensor(placed).double(), torch.tensor(placed, dtype=torch.float64)
)
pointers = [
    [each.data.unsafe_buffer_pointer() for each in x.addressable_shards] for x in (placed, from_jax(placed).jax())
]
told["same memory"] = pointers[0] == pointers[1]
told["trained"] = {how: trained(how) for how in ("alone", "replicated", "sharded")}
print(json.dumps(told))

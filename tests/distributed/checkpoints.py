"""A script that writes and reads checkpoints: what it prints, as JSON, `test_checkpoints.py` compares.

Its arguments are one or more of `write FOLDER PLACEMENT`, `read FOLDER PLACEMENT` and `misuse FOLDER -`, where
PLACEMENT is "none", "replicated" or "sharded". With RANK in the environment it is one of several processes.
"""

import hashlib
import json
import os
import sys
from collections import OrderedDict
from datetime import timedelta

import jax
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from orbax.checkpoint import v1 as orbax
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

DTYPES = "float64 float32 float16 bfloat16 complex64 complex128 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool"


def numbers(dtype, count):
    """Of every dtype some, with all of its bits in use."""
    found = [7919 * each + 3 for each in range(count)]
    if dtype.is_complex:
        return torch.tensor([complex(1 / each, -each / 3) for each in found], dtype=torch.complex128).to(dtype)
    if dtype.is_floating_point:
        return torch.tensor([1 / each for each in found], dtype=torch.float64).to(dtype)
    if dtype is torch.int64:
        return torch.tensor([each * 2**40 + 1 for each in found])
    return torch.tensor([each % 2 == 0 for each in found]) if dtype is torch.bool else torch.tensor(found).to(dtype)


def placed(tensor, how):
    if how == "none":
        return tensor
    count = 8
    grid = init_device_mesh("cpu", (2, 4) if os.environ.get("WORLD_SIZE") else (4, 2))
    splits = tensor.ndim and tensor.shape[0] % count == 0 and tensor.numel()
    placement = Shard(0) if how == "sharded" and splits else Replicate()
    return distribute_tensor(tensor, grid, [placement] * 2)


def state(how, fill):
    """Tensors of all dtypes and some shapes; with `fill` those to write, or else empty ones to read into."""
    tensors = {name: numbers(getattr(torch, name), 16) for name in DTYPES.split()}
    tensors |= {
        "matrix": numbers(torch.float32, 48).reshape(16, 3),
        "number": torch.tensor(1 / 3),
        "odd": torch.ones(7),
    }
    tensors |= {"empty": torch.zeros(0, 3), "across": numbers(torch.float32, 24).reshape(3, 8).t()}
    if not fill:
        tensors = {name: torch.zeros_like(each) for name, each in tensors.items()}
    return {name: placed(each, how) for name, each in tensors.items()}


def bits(tensor):
    """A digest of every value as it is, to the bit."""
    whole = tensor.detach()
    whole = whole.full_tensor() if isinstance(whole, DTensor) else whole
    whole = whole.float() if whole.dtype is torch.bfloat16 else whole
    return hashlib.sha256(whole.contiguous().numpy().tobytes()).hexdigest()[:16]


def model_of(how):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
    if how != "none":
        model = DistributedDataParallel(model) if how == "replicated" else fully_shard(model)
    return model, torch.optim.AdamW(model.parameters(), lr=0.01, betas=(0.8, 0.9))


def trained(model, optimizer, steps):
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(64, 16, generator=generator), torch.randint(0, 8, (64,), generator=generator)

    @torch.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return [step(x, y).item() for _ in range(steps)]


def every_bit(model, optimizer):
    """Of a model and of what its optimizer keeps."""
    weights, kept = get_state_dict(model, optimizer)
    return [bits(each) for part in (weights, *kept["state"].values()) for each in part.values()]


def write(folder, how):
    model, optimizer = model_of(how)
    trained(model, optimizer, 3)
    states = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer), strict=True))
    values = {"step": 5, "name": "five", "betas": (0.5, None, True), "nan": [float("inf")], "order": OrderedDict(a=1)}
    mixed = [torch.arange(3), {"deep": torch.ones(2)}, 4]
    dcp.save({**states, "tensors": state(how, True), "values": values, "mixed": mixed}, checkpoint_id=folder)
    shown = {name: bits(each) for name, each in state("none", True).items()}
    return {"bits": shown, "trained": every_bit(model, optimizer), "next": trained(model, optimizer, 3)}


def read(folder, how):
    model, optimizer = model_of(how)
    with torch.no_grad():
        for each in model.parameters():
            each.mul_(2)
    owns, keeps = get_state_dict(model, optimizer)
    tensors = state(how, False)
    before = {name: (id(each), str(getattr(each, "placements", None))) for name, each in tensors.items()}
    values = {"step": 0, "name": "", "betas": (), "nan": [], "order": OrderedDict(a=0)}
    mixed = [torch.zeros(3, dtype=torch.int64), {"deep": torch.zeros(2)}, 0]
    given = {"model": owns, "optimizer": keeps, "tensors": tensors, "values": values, "mixed": mixed}
    dcp.load(given, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=given["model"], optim_state_dict=given["optimizer"])
    parameters = [*model.parameters()]
    alike = [
        getattr(part, "placements", None) == getattr(each, "placements", None)
        for each in parameters
        for part in (optimizer.state[each]["exp_avg"], optimizer.state[each]["exp_avg_sq"])
    ]
    return {
        "bits": {name: bits(each) for name, each in tensors.items()},
        "trained": every_bit(model, optimizer),
        "same": before == {name: (id(each), str(getattr(each, "placements", None))) for name, each in tensors.items()},
        "alike": all(alike),
        "split": sorted({str(getattr(each, "placements", None)) for each in parameters}),
        "values": repr(values),
        "mixed": repr(mixed),
        "next": trained(model, optimizer, 3),
    }


def told_of(function):
    try:
        function()
    except BaseException as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}"
    return "nothing was refused"


class Counter:
    """What torch calls Stateful."""

    def __init__(self, count):
        self.count = count

    def state_dict(self):
        return {"count": self.count, "squares": torch.arange(self.count) ** 2}

    def load_state_dict(self, state):
        self.count = (state["count"], state["squares"].tolist())


def misuse(folder, _):
    there, other = os.path.join(folder, "there"), os.path.join(folder, "other")
    os.mkdir(other)
    with open(os.path.join(other, "mine.txt"), "w") as file:
        file.write("mine")
    dcp.save({"x": torch.ones(2), "model": nn.Linear(2, 1), "n": 1}, checkpoint_id=there)
    x = torch.zeros(2)
    kept = {"x": x, "n": 0}
    told = {
        "no id": told_of(lambda: dcp.save({})),
        "no id to read": told_of(lambda: dcp.load({})),
        "no checkpoint": told_of(lambda: dcp.load(kept, checkpoint_id=os.path.join(folder, "none"))),
        "no checkpoint there": told_of(lambda: dcp.load(kept, checkpoint_id=other)),
        "missing": told_of(lambda: dcp.load({**kept, "deep": {"er": x}}, checkpoint_id=there)),
        "shape": told_of(lambda: dcp.load({**kept, "model": {"weight": torch.ones(2, 2)}}, checkpoint_id=there)),
        "no tensor": told_of(lambda: dcp.load({"n": 0, "x": 4}, checkpoint_id=there)),
        "not its own": told_of(lambda: dcp.save(kept, checkpoint_id=other)),
        "twice": told_of(lambda: dcp.save({"a.b": x, "a": {"b": x}}, checkpoint_id=there)),
        "no value": told_of(lambda: dcp.save({"f": lambda: 1}, checkpoint_id=there)),
    }
    try:
        dcp.load({"y": x}, checkpoint_id=there)
    except dcp.CheckpointException as error:
        told["failures"] = [[rank, repr(each)] for rank, (each, _) in error.failures.items()]
    orbax.save(os.path.join(folder, "of orbax"), {"x": jax.numpy.ones(2)})
    told["of orbax"] = told_of(lambda: dcp.load({"x": x}, checkpoint_id=os.path.join(folder, "of orbax")))
    told["as arrays"] = str(orbax.load(there)["tensors"]["model.weight"].shape)
    told["unchanged"] = [kept["n"], x.tolist(), os.listdir(other)]
    model, wide = nn.Linear(2, 1), {"x": torch.zeros(2, dtype=torch.float64), "n": 0}
    dcp.load({"model": model, **wide}, checkpoint_id=there)
    dcp.load(wide, checkpoint_id=there)
    told["read"] = [str(wide["x"]), wide["n"]]
    dcp.save({"counter": Counter(3), "n": 2}, checkpoint_id=there)
    counter = Counter(3)
    dcp.load({"counter": counter}, checkpoint_id=there)
    told["stateful"] = counter.count
    told["written over"] = told_of(lambda: dcp.load({"x": x}, checkpoint_id=there))
    model = fully_shard(nn.Linear(8, 8))
    optimizer = torch.optim.Adam(model.parameters())
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    owns, keeps = get_state_dict(model, optimizer, options=options)
    whole = [*owns.values(), *(part for each in keeps["state"].values() for part in each.values())]
    told["full"] = [len(whole), any(isinstance(each, DTensor) for each in whole)]
    set_state_dict(model, optimizer, model_state_dict=owns, optim_state_dict=keeps)
    told["put back"] = str(optimizer.state[model.weight]["exp_avg"].placements)
    told["order"] = [list(keeps["state"]), keeps["param_groups"][0]["params"]]
    del keeps["state"]["bias"]
    told["lacking"] = told_of(lambda: set_state_dict(model, optimizer, model_state_dict=owns, optim_state_dict=keeps))
    return told


if __name__ == "__main__":
    if "RANK" in os.environ:
        dist.init_process_group("gloo", timeout=timedelta(seconds=200))
    rest = iter(sys.argv[1:])
    does = {"write": write, "read": read, "misuse": misuse}
    print(json.dumps([does[what](folder, how) for what, folder, how in zip(rest, rest, rest, strict=True)]))

"""A script for two processes of four devices each: what it prints, as JSON, `test_processes.py` compares.

With the argument "dies" the process of rank 1 ends in the middle.
"""

import json
import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from training import trained


def refused(function):
    try:
        function()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was refused"


told = {"before": [dist.is_available(), dist.is_initialized(), refused(dist.get_rank)]}
dist.init_process_group("gloo", timeout=timedelta(seconds=10))
rank, size = dist.get_rank(), dist.get_world_size()
told["group"] = [rank, size, dist.is_initialized(), dist.get_backend(), refused(dist.init_process_group)]

if sys.argv[1:] == ["dies"]:
    try:
        dist.barrier()
        if rank == 1:
            os._exit(7)
        for _ in range(1000):
            dist.all_reduce(torch.ones(2))
    except RuntimeError as error:
        print("RuntimeError of rank 0:", error, flush=True)
        raise

own = torch.tensor([1.0, 2.0]) * (rank + 1)
summed, mean, most, sent = own.clone(), own.clone(), own.clone(), own.clone()
dist.all_reduce(summed)
dist.all_reduce(mean, op=dist.ReduceOp.AVG)
dist.all_reduce(most, op=dist.ReduceOp.MAX)
dist.broadcast(sent, src=1)
gathered = [torch.zeros(2) for _ in range(size)]
dist.all_gather(gathered, own)
counted = torch.tensor(2**40 + rank)
dist.all_reduce(counted)
told["collectives"] = [each.tolist() for each in (summed, mean, most, sent, *gathered, counted)]
told["refused"] = [
    refused(lambda: dist.broadcast(own, src=2)),
    refused(lambda: dist.all_gather([own], own)),
]

mesh = init_device_mesh("cpu", (8,))
x = DTensor.from_local(torch.arange(8.0).reshape(4, 2) + 8 * rank, mesh, [Shard(0)])
told["parts"] = [list(x.shape), x.full_tensor().tolist(), x.to_local().tolist(), (x * 2).sum().item()]
w = distribute_tensor(torch.ones(8, 2), mesh, [Shard(0)]).requires_grad_()
((w * x) ** 2).sum().backward()
told["gradient"] = [w.grad.full_tensor().tolist(), str(w.grad.placements)]
told["refused"].append(refused(x.tolist))
told["refused"].append(refused((x * own).sum().item))
told["refused"].append(refused(lambda: dist.all_reduce(x)))
given = [torch.ones(2 + rank), torch.ones(2, dtype=(torch.float32, torch.float64)[rank])]
disagreeing = [
    lambda: dist.all_reduce(given[0]),
    lambda: dist.all_reduce(given[1]),
    lambda: dist.barrier() if rank else dist.all_reduce(torch.ones(2)),
    lambda: distribute_tensor(given[0], mesh, [Replicate()]),
    lambda: DTensor.from_local(given[0], mesh, [Replicate()]),
]
told["disagree"] = [refused(each).partition("different tensors: process 0 ")[2] for each in disagreeing]
told["of rank 0"] = distribute_tensor(own, mesh, [Replicate()]).tolist()
exact = torch.full((4,), 2**40 + 1)
told["64 bits"] = [
    distribute_tensor(exact, mesh, [Replicate()]).tolist(),
    DTensor.from_local(exact + rank, mesh, [Shard(0)]).full_tensor().tolist(),
]
dist.barrier()
told["trained"] = {how: trained(how) for how in ("replicated", "sharded")}
dist.destroy_process_group()
told["after"] = dist.is_initialized()
print(json.dumps(told))

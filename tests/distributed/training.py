"""A training script in torch's words: `python training.py HOW`, on one device or several, in one process or several.

HOW is "alone", "replicated" or "sharded". It prints losses and sums of what was trained, as JSON.
"""

import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel


def trained(how, steps=20):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
    model.append(nn.Linear(32, 8))
    x, y = torch.randn(64, 16), torch.randint(0, 8, (64,))
    if how == "replicated":
        model = DistributedDataParallel(model)
    if how == "sharded":
        model = fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @torch.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = [float(step(x, y)) for _ in range(steps)]
    gradients = [each.grad for each in model.parameters()]
    kept = [each for each in model.parameters() if isinstance(each, DTensor)]
    for each in kept:
        assert each.grad.placements == each.placements == optimizer.state[each]["momentum_buffer"].placements
    placed = {str(each.placements) for each in kept}
    return losses, [each.detach().double().sum().item() for each in (*model.parameters(), *gradients)], sorted(placed)


if __name__ == "__main__":
    if "RANK" in os.environ:
        dist.init_process_group()
    print(json.dumps(trained(sys.argv[1])))

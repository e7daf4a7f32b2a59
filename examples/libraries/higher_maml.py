# /// script
# dependencies = ["higher"]
# ///
"""MAML: a network that learns sines in a few unrolled steps, trained by the gradient through them."""

import higher
import torch
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
inner = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
outer = torch.optim.Adam(network.parameters(), lr=1e-2)
tasks = torch.rand(3, 2) + 0.5
inputs = torch.linspace(-2, 2, 10).unsqueeze(-1)


def step():
    outer.zero_grad()
    total = 0.0
    for scale, shift in tasks:
        with higher.innerloop_ctx(network, inner, copy_initial_weights=False) as (fast, optimizer):
            for _ in range(3):
                optimizer.step((fast(inputs) - scale * torch.sin(inputs + shift)).square().mean())
            loss = (fast(inputs + 0.1) - scale * torch.sin(inputs + 0.1 + shift)).square().mean()
            loss.backward()
            total += loss.item()
    outer.step()
    return total


print("losses", [step() for _ in range(6)])

rate = torch.tensor(0.1, requires_grad=True)
adam = torch.optim.Adam(network.parameters(), lr=1e-2)
with higher.innerloop_ctx(network, adam, override={"lr": [rate]}, track_higher_grads=True) as (fast, optimizer):
    for _ in range(2):
        optimizer.step((fast(inputs) - torch.sin(inputs)).square().mean())
    (fast(inputs) - torch.sin(inputs)).square().mean().backward()
print("gradient of the rate", rate.grad.item())
with higher.innerloop_ctx(network, adam, track_higher_grads=False) as (fast, optimizer):
    optimizer.step((fast(inputs) - torch.sin(inputs)).square().mean())
    print("after a step", fast(inputs).flatten().tolist())

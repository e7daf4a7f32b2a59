"""MAML: a step inside, through which the outer gradient flows, by `functional_call` on a dict of parameters."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(7)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
meta_optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def task():
    amplitude, phase = 0.5 + 2 * torch.rand(1), 3.14 * torch.rand(1)
    x = 10 * torch.rand(12, 1) - 5
    y = amplitude * torch.sin(x + phase)
    return x[:6], y[:6], x[6:], y[6:]


def adapted(params, x, y, create_graph):
    loss = F.mse_loss(functional_call(model, params, (x,)), y)
    grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=create_graph)
    return {name: p - 0.05 * g for (name, p), g in zip(params.items(), grads)}


for step in range(30):
    meta_optimizer.zero_grad()
    outer = 0.0
    for _ in range(3):
        x, y, x_query, y_query = task()
        params = adapted(dict(model.named_parameters()), x, y, create_graph=True)
        outer = outer + F.mse_loss(functional_call(model, params, (x_query,)), y_query) / 3
    outer.backward()
    meta_optimizer.step()
    if step % 6 == 5:
        print(f"step {step:2d}  outer loss {outer.item():.4f}  norm {model[0].weight.grad.norm().item():.4f}")

x, y, x_query, y_query = task()
params = adapted(dict(model.named_parameters()), x, y, create_graph=False)
print(F.mse_loss(functional_call(model, params, (x_query,)), y_query).item())

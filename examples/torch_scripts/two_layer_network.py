"""A network of two layers, its parameters updated by hand under `no_grad`."""

import torch
from torch import nn

torch.manual_seed(0)
batch, inputs, hidden, outputs = 16, 20, 12, 3
x = torch.randn(batch, inputs)
y = torch.randn(batch, outputs)
w1 = nn.Parameter(torch.randn(inputs, hidden) * 0.1)
b1 = nn.Parameter(torch.zeros(hidden))
w2 = nn.Parameter(torch.randn(hidden, outputs) * 0.1)
b2 = nn.Parameter(torch.zeros(outputs))
parameters = [w1, b1, w2, b2]
print(sum(each.numel() for each in parameters), "parameters", [tuple(each.shape) for each in parameters])


def network(x):
    h = (x @ w1 + b1).clamp(min=0)
    return h.mm(w2) + b2


for epoch in range(30):
    loss = (network(x) - y).pow(2).mean()
    for each in parameters:
        each.grad = None
    loss.backward()
    with torch.no_grad():
        for each in parameters:
            each -= 0.1 * each.grad
            each.mul_(1 - 1e-4)  # weight decay
    if epoch % 5 == 0:
        norm = torch.sqrt(sum((each.grad**2).sum() for each in parameters))
        print(f"epoch {epoch:2d}  loss {loss.item():.5f}  norm {norm:.5f}  b2.grad {b2.grad}")

print(b2)
print(w2)
with torch.no_grad():
    print(network(x[:2]))
print(type(w1), isinstance(w1, torch.Tensor), w1.requires_grad, (w1 * 2).requires_grad, w1.detach().requires_grad)
print("dead units:", (x @ w1 + b1 <= 0).all(dim=0).sum().item())

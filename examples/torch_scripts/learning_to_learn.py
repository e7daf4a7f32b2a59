"""Weights from which one step of descent fits a sine of any height and phase: the idea of MAML.

The inner step is taken with `create_graph=True`, so that the loss after it can be differentiated through it, back to
the weights that it started from.
"""

import torch

torch.manual_seed(5)
sizes = [1, 20, 1]
layers = [(torch.randn(a, b) / a**0.5, torch.zeros(b)) for a, b in zip(sizes, sizes[1:])]
weights = [each.requires_grad_() for layer in layers for each in layer]


def network(x, weights):
    w1, b1, w2, b2 = weights
    return torch.tanh(x @ w1 + b1) @ w2 + b2


def loss_of(weights, height, phase):
    x = torch.rand(20, 1) * 6 - 3
    return (network(x, weights) - height * torch.sin(x + phase)).pow(2).mean()


for step in range(40):
    before, after = 0.0, 0.0
    for _ in range(4):
        height, phase = torch.rand(2) + 0.5
        inner = loss_of(weights, height, phase)
        gradients = torch.autograd.grad(inner, weights, create_graph=True)
        adapted = [each - 0.05 * gradient for each, gradient in zip(weights, gradients)]
        outer = loss_of(adapted, height, phase) / 4
        outer.backward()
        before, after = before + inner.item() / 4, after + outer.item()
    with torch.no_grad():
        for each in weights:
            each -= 0.03 * each.grad
            each.grad = None
    if step % 8 == 0:
        print(f"step {step:2d}  loss before the inner step {before:.4f}, after {after:.4f}")

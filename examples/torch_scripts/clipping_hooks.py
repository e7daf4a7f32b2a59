"""Gradients clipped by hooks on the leaves, and Adam written out.

A hook is called with a leaf's gradient before it is added to `.grad`, and gives the one to add instead. Adam's two
running means are tensors that are changed in place.
"""

import torch
import torch.nn.functional as F

torch.manual_seed(3)
x = torch.linspace(-2, 2, 80).unsqueeze(1)
y = torch.sin(3 * x) * torch.exp(-x / 2)
sizes = [1, 24, 24, 1]
layers = [(torch.randn(a, b) / a**0.5, torch.zeros(b)) for a, b in zip(sizes, sizes[1:])]
parameters = [each.requires_grad_() for layer in layers for each in layer]
clipped = [0]


def clip(gradient, most=0.5):
    norm = gradient.norm()
    clipped[0] += int(norm > most)
    return gradient * (most / (norm + 1e-6)).clamp(max=1.0)


for each in parameters:
    each.register_hook(clip)
means = [torch.zeros_like(each) for each in parameters]
squares = [torch.zeros_like(each) for each in parameters]

for step in range(1, 151):
    z = x
    for number, (w, b) in enumerate(layers):
        z = z @ w + b
        if number + 1 < len(layers):
            z = torch.tanh(z)
    loss = F.smooth_l1_loss(z, y)
    loss.backward()
    with torch.no_grad():
        for each, mean, square in zip(parameters, means, squares):
            mean.mul_(0.9).add_(each.grad, alpha=0.1)
            square.mul_(0.99).addcmul_(each.grad, each.grad, value=0.01)
            denominator = (square / (1 - 0.99**step)).sqrt_().add_(1e-6)
            each.addcdiv_(mean / (1 - 0.9**step), denominator, value=-0.01)
            each.grad = None
    if step % 30 == 0:
        print(f"step {step:3d}  loss {loss.item():.4f}  clipped {clipped[0]}")

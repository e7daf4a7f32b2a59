"""A critic and a generator in turns, with a penalty on the critic's gradient, as in WGAN-GP.

The penalty holds the slope of the critic near 1 between real and made points. It is a loss made of a gradient, so
the gradient is taken with `create_graph=True` and differentiated again.
"""

import math

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)  # two networks at odds with each other make roundings grow
torch.manual_seed(8)


def perceptron(*sizes):
    return [
        ((torch.randn(a, b) / math.sqrt(a)).requires_grad_(), torch.zeros(b, requires_grad=True))
        for a, b in zip(sizes, sizes[1:])
    ]


def apply(layers, x):
    for w, b in layers[:-1]:
        x = F.softplus(x @ w + b)
    return x @ layers[-1][0] + layers[-1][1]


def descend(loss, layers, rate):
    parameters = [each for layer in layers for each in layer]
    for each, gradient in zip(parameters, torch.autograd.grad(loss, parameters)):
        each.data -= rate * gradient


critic, generator = perceptron(2, 16, 16, 1), perceptron(2, 16, 2)
for step in range(40):
    for _ in range(2):
        angle = torch.rand(32) * 2 * math.pi
        real = torch.stack([angle.cos(), angle.sin()], dim=1)
        made = apply(generator, torch.randn(32, 2)).detach()
        between = torch.lerp(made, real, torch.rand(32, 1)).requires_grad_()
        (slope,) = torch.autograd.grad(apply(critic, between).sum(), between, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).pow(2).mean()
        distance = apply(critic, real).mean() - apply(critic, made).mean()
        descend(5 * penalty - distance, critic, 0.05)
    descend(-apply(critic, apply(generator, torch.randn(32, 2))).mean(), generator, 0.1)
    if step % 8 == 7:
        print(f"step {step:2d}  distance {distance.item():.4f}  penalty {penalty.item():.4f}")

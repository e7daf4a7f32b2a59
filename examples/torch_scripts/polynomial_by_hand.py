"""A cubic fitted to a sine: torch's tensors, the derivative worked out by hand."""

import math

import torch

torch.manual_seed(1)
x = torch.linspace(-math.pi, math.pi, 200)
y = torch.sin(x)
a, b, c, d = (torch.randn(()) for _ in range(4))
print(f"start: {a.item():.4f} {b.item():.4f} {c.item():.4f} {d.item():.4f}")

rate = 1e-4
for step in range(200):
    prediction = a + b * x + c * x**2 + d * x**3
    error = prediction - y
    loss = error.pow(2).sum()
    if step % 40 == 0:
        print(f"{step:4d} {loss.item():10.4f}")
    slope = 2.0 * error
    gradients = slope.sum(), (slope * x).sum(), (slope * x**2).sum(), (slope * x**3).sum()
    a, b, c, d = (each - rate * 0.02 * gradient for each, gradient in zip((a, b, c, d), gradients, strict=True))

print("loss", loss)
print(f"y = {a.item():.4f} + {b.item():.4f} x + {c.item():.4f} x^2 + {d.item():.4f} x^3")
print(torch.stack([a, b, c, d]), x[:5], x.shape, x.dtype)

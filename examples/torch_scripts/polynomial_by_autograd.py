"""The same cubic, its coefficients leaves of the graph: `backward` works out the derivative."""

import math

import torch

dtype = torch.float
torch.manual_seed(1)
x = torch.linspace(-math.pi, math.pi, 200, dtype=dtype)
y = torch.sin(x)
a = torch.randn((), dtype=dtype, requires_grad=True)
b = torch.randn((), dtype=dtype, requires_grad=True)
c = torch.randn((), dtype=dtype, requires_grad=True)
d = torch.randn((), dtype=dtype, requires_grad=True)
print(a, b, c, d)

rate = 2e-6
for step in range(200):
    prediction = a + b * x + c * x**2 + d * x**3
    loss = (prediction - y).pow(2).sum()
    loss.backward()
    if step % 40 == 0:
        print(step, f"{loss.item():.4f}", a.grad, b.grad, c.grad, d.grad)
    with torch.no_grad():
        a -= rate * a.grad
        b -= rate * b.grad
        c -= rate * c.grad
        d -= rate * d.grad
        a.grad = None
        b.grad = None
        c.grad = None
        d.grad = None

print(loss, loss.grad_fn.name(), loss.requires_grad, prediction.grad_fn, a.is_leaf, loss.is_leaf)
print(f"y = {a.item():.4f} + {b.item():.4f} x + {c.item():.4f} x^2 + {d.item():.4f} x^3")
try:
    loss.backward()
except RuntimeError as error:
    print("RuntimeError:", str(error).split(".")[0])

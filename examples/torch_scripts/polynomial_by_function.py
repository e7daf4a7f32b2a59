"""A sine fitted by a Legendre polynomial whose derivative a Function of one's own gives."""

import math

import torch
from torch.autograd import Function, gradcheck


class LegendrePolynomial3(Function):
    """(5 x**3 - 3 x) / 2"""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * (5 * x**3 - 3 * x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 1.5 * (5 * x**2 - 1)


x = torch.linspace(-1, math.pi, 100)
y = torch.sin(x)
a = torch.full((), 0.0, requires_grad=True)
b = torch.full((), -1.0, requires_grad=True)
c = torch.full((), 0.0, requires_grad=True)
d = torch.full((), 0.3, requires_grad=True)

rate = 1e-4
for step in range(150):
    prediction = a + b * LegendrePolynomial3.apply(c + d * x)
    loss = (prediction - y).pow(2).sum()
    if step % 30 == 0:
        print(step, loss.item(), prediction.grad_fn.name())
    loss.backward()
    with torch.no_grad():
        for each in (a, b, c, d):
            each -= rate * each.grad
            each.grad.zero_()

print(a, b, c, d, sep="\n")
print(LegendrePolynomial3.apply(c + d * x[:3]))
exact = torch.linspace(-1, 1, 4, dtype=torch.double, requires_grad=True)
print("gradcheck:", gradcheck(LegendrePolynomial3.apply, exact))

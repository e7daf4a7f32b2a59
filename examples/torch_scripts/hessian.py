"""Second derivatives: the Hessian of a function, its products with a vector, Newton's method, a Laplacian."""

import torch
from torch.autograd.functional import hessian, hvp, jacobian, vhp

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)  # Newton's first steps here multiply every rounding error by a thousand


def rosenbrock(p):
    x, y = p[0], p[1]
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


p = torch.tensor([-1.2, 1.0])
print(rosenbrock(p), jacobian(rosenbrock, p))
print(hessian(rosenbrock, p))
print(torch.func.hessian(rosenbrock)(p))
print(hvp(rosenbrock, p, torch.tensor([1.0, 2.0])))
print(vhp(rosenbrock, p, torch.tensor([1.0, 2.0])))

for step in range(6):
    h = hessian(rosenbrock, p)
    g = jacobian(rosenbrock, p)
    determinant = h[0, 0] * h[1, 1] - h[0, 1] * h[1, 0]
    inverse = torch.stack([torch.stack([h[1, 1], -h[0, 1]]), torch.stack([-h[1, 0], h[0, 0]])]) / determinant
    p = p - inverse @ g
    print(step, p, f"{rosenbrock(p).item():.6f}")

x = torch.randn(3, requires_grad=True)
y = (x**3).sum() + x.prod()
(gradient,) = torch.autograd.grad(y, x, create_graph=True)
rows = [torch.autograd.grad(gradient[i], x, retain_graph=True)[0] for i in range(3)]
print(torch.stack(rows))
print("laplacian", sum(rows[i][i] for i in range(3)))

"""Derivatives forwards: dual numbers, `jvp`, Jacobians column by column, forward over reverse."""

import torch
import torch.autograd.forward_ad as fwAD
from torch.func import jacfwd, jacrev, jvp

torch.manual_seed(0)
primal = torch.randn(3)
tangent = torch.randn(3)


def f(x):
    return torch.sin(x) * x.sum()


with fwAD.dual_level():
    dual = fwAD.make_dual(primal, tangent)
    value, derivative = fwAD.unpack_dual(f(dual))
    print(value, derivative)
    print(fwAD.unpack_dual(primal).tangent)

value, derivative = jvp(f, (primal,), (tangent,))
print(value, derivative, sep="\n")
print(jacfwd(f)(primal))
print(torch.allclose(jacfwd(f)(primal), jacrev(f)(primal)), torch.allclose(jacrev(f)(primal) @ tangent, derivative))
print(torch.autograd.functional.jvp(f, primal, tangent))

x = primal.clone().requires_grad_()
with fwAD.dual_level():
    y = f(fwAD.make_dual(x, tangent))
    _, along = fwAD.unpack_dual(y)
    along.sum().backward()
print(x.grad)
print(jacfwd(lambda x: jacrev(lambda x: f(x).sum())(x))(primal))
try:
    fwAD.make_dual(primal, tangent)
except RuntimeError as error:
    print("RuntimeError:", str(error).split(".")[0])

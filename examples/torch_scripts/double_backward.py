"""A Function that can be differentiated twice, and a penalty on the gradient that needs it."""

import torch
from torch.autograd import Function, Variable, gradcheck, gradgradcheck


class Softplus(Function):
    @staticmethod
    def forward(ctx, x, sharpness):
        ctx.sharpness = sharpness
        ctx.save_for_backward(x)
        return torch.log(1 + torch.exp(sharpness * x)) / sharpness

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * torch.sigmoid(ctx.sharpness * x), None


torch.manual_seed(2)
x = Variable(torch.randn(6), requires_grad=True)
w = torch.randn(6, requires_grad=True)
y = Softplus.apply(x * w, 2.0).sum()
(gx,) = torch.autograd.grad(y, x, create_graph=True)
print(y, gx.requires_grad, gx.detach())

penalty = (gx.norm() - 1) ** 2
(y + 10 * penalty).backward()
print(f"penalty {penalty.item():.6f}")
print(x.grad)
print(w.grad)

double = torch.randn(4, dtype=torch.float64, requires_grad=True)
print(gradcheck(Softplus.apply, (double, 3.0)), gradgradcheck(Softplus.apply, (double, 3.0)))
third = double.detach().requires_grad_()
g1 = torch.autograd.grad(Softplus.apply(third, 1.0).sum(), third, create_graph=True)[0]
g2 = torch.autograd.grad(g1.sum(), third, create_graph=True)[0]
print(torch.autograd.grad(g2.sum(), third)[0])

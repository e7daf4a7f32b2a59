"""One gradient for each sample of a batch: in a loop, with `vmap` over `grad`, and from a result already there."""

import torch
from torch.func import grad, vmap

torch.manual_seed(0)
x = torch.randn(5, 4)
y = torch.rand(5) + 2
w = torch.randn(4, requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)


def loss(w, b, x, y):
    return (torch.tanh(x @ w) + b - y) ** 2


looped = [torch.autograd.grad(loss(w, b, x[i], y[i]), (w, b)) for i in range(len(x))]
print(torch.stack([each for each, _ in looped]))

weights, bias = vmap(grad(loss, argnums=(0, 1)), in_dims=(None, None, 0, 0))(w.detach(), b.detach(), x, y)
print(weights, bias, weights.shape)
print("as the loop:", torch.allclose(weights, torch.stack([each for each, _ in looped])))

losses = loss(w, b, x, y)
(batched,) = torch.autograd.grad(losses, w, torch.eye(5), is_grads_batched=True)
print("as one batched backward:", torch.allclose(weights, batched))
print("norms:", batched.norm(dim=1))
clipped = batched / batched.norm(dim=1, keepdim=True).clamp(min=1.0)
print("clipped mean:", clipped.mean(0))

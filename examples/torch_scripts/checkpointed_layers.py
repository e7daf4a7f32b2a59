"""Twenty-four layers with shortcuts, of which backward computes each group of six a second time: `checkpoint`.

What a group computes on its way is not kept for backward, only what goes into it. The first gradient is compared with
that of the plain network.
"""

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(9)
width, depth, group = 16, 24, 6
layers = [(torch.randn(width, width) / width**0.5 * 0.5).requires_grad_() for _ in range(depth)]
head = (torch.randn(width, 1) * 0.3).requires_grad_()
x = torch.randn(48, width)
y = torch.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3]


def run(z, *weights):
    for w in weights:
        z = z + torch.tanh(F.layer_norm(z, (width,)) @ w) / depth**0.5
    return z


def loss_of(grouped):
    z = x
    for start in range(0, depth, group):
        weights = layers[start : start + group]
        z = checkpoint(run, z, *weights, use_reentrant=False) if grouped else run(z, *weights)
    return F.mse_loss(z @ head, y)


plain = torch.autograd.grad(loss_of(grouped=False), layers)
for step in range(40):
    loss = loss_of(grouped=True)
    loss.backward()
    if step == 0:
        print("as without checkpoint:", all(torch.allclose(w.grad, g, atol=1e-6) for w, g in zip(layers, plain)))
    with torch.no_grad():
        for each in [*layers, head]:
            each -= 0.1 * each.grad
            each.grad = None
    if step % 8 == 0:
        print(f"step {step:2d}  loss {loss.item():.4f}")

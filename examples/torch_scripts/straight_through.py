"""A network whose weights are only signs, trained through a Function that lets gradients straight through.

The sign has no derivative that one could follow, so backward takes it for the identity where the weight is between -1
and 1. The weights below it stay real numbers.
"""

import torch
import torch.nn.functional as F


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight):
        ctx.save_for_backward(weight)
        return torch.where(weight >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, gradient):
        (weight,) = ctx.saved_tensors
        return gradient * (weight.abs() <= 1)


torch.manual_seed(2)
x = torch.randn(64, 10)
wanted = torch.tanh(x @ torch.randn(10, 3).sign() / 10**0.5)
w1 = (torch.randn(10, 24) * 0.3).requires_grad_()
w2 = (torch.randn(24, 3) * 0.3).requires_grad_()
scale = torch.tensor([0.3, 0.1], requires_grad=True)

for step in range(100):
    hidden = torch.tanh(x @ Sign.apply(w1) * scale[0])
    loss = F.mse_loss(hidden @ Sign.apply(w2) * scale[1], wanted)
    loss.backward()
    with torch.no_grad():
        for each in (w1, w2, scale):
            each -= 0.05 * each.grad
            each.grad.zero_()
        w1.clamp_(-1, 1)
        w2.clamp_(-1, 1)
    if step % 20 == 0:
        print(f"step {step:2d}  loss {loss.item():.4f}")
print(f"last loss {loss.item():.4f}, {int((w1 >= 0).sum())} of {w1.numel()} signs are positive")

"""A variational autoencoder: its code is drawn at random, and gradients pass through the draw.

The encoder gives a mean and the logarithm of a variance; `mean + exp(log_variance / 2) * randn_like(mean)` is the draw,
whose derivative by both is plain. The loss is the likelihood's and the divergence from a standard normal.
"""

import torch
import torch.nn.functional as F

torch.manual_seed(6)
inputs, hidden, code = 12, 16, 2
angles = torch.rand(96, 1) * 6.2832
data = (torch.sin(angles + torch.arange(inputs) * 0.5) > 0).float()


def linear(a, b):
    return [(torch.randn(b, a) / a**0.5).requires_grad_(), torch.zeros(b, requires_grad=True)]


encoder, to_mean, to_variance = linear(inputs, hidden), linear(hidden, code), linear(hidden, code)
decoder, to_data = linear(code, hidden), linear(hidden, inputs)
parameters = encoder + to_mean + to_variance + decoder + to_data

for step in range(100):
    x = data[torch.randperm(len(data))[:32]]
    h = F.elu(F.linear(x, *encoder))
    mean, log_variance = F.linear(h, *to_mean), F.linear(h, *to_variance)
    z = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
    logits = F.linear(F.elu(F.linear(z, *decoder)), *to_data)
    likelihood = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
    divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(dim=1).mean()
    loss = likelihood + divergence
    loss.backward()
    with torch.no_grad():
        for each in parameters:
            each -= 0.05 * each.grad
            each.grad.zero_()
    if step % 20 == 0:
        print(f"step {step:2d}  likelihood {likelihood.item():.4f}  divergence {divergence.item():.4f}")
print(f"last loss {loss.item():.4f}")

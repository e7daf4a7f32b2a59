"""Three convolutions, each with batch norm and max pooling, on blobs that lie left or right, above or below.

`F.batch_norm` changes the running mean and variance in place while it trains, and uses them once `training=False`.
"""

import torch
import torch.nn.functional as F

torch.manual_seed(7)
channels = [1, 4, 8, 12]
blocks = []
for a, b in zip(channels, channels[1:]):
    kernel = (torch.randn(b, a, 3, 3) / (3 * a**0.5)).requires_grad_()
    scale, shift = torch.ones(b, requires_grad=True), torch.zeros(b, requires_grad=True)
    blocks.append((kernel, scale, shift, torch.zeros(b), torch.ones(b)))
head = (torch.randn(channels[-1] * 4, 4) * 0.1).requires_grad_()
parameters = [each for block in blocks for each in block[:3]] + [head]


def blobs(count):
    centres = torch.randn(count, 2).sign() * (2 + 3 * torch.rand(count, 2))
    line = torch.arange(16) - 7.5
    rows, columns = (line - centres[:, :1]) ** 2, (line - centres[:, 1:]) ** 2
    images = torch.exp(-(rows.unsqueeze(2) + columns.unsqueeze(1)) / 8)
    labels = (centres[:, 0] > 0) * 2 + (centres[:, 1] > 0) * 1
    return (images + 0.3 * torch.randn(count, 16, 16)).unsqueeze(1), labels


def network(x, training):
    for kernel, scale, shift, mean, variance in blocks:
        x = F.conv2d(x, kernel, padding=1)
        x = F.batch_norm(x, mean, variance, scale, shift, training=training)
        x = F.max_pool2d(F.relu(x), 2)
    return x.flatten(1) @ head


for step in range(30):
    loss = F.cross_entropy(network((batch := blobs(24))[0], training=True), batch[1])
    loss.backward()
    with torch.no_grad():
        for each in parameters:
            each -= 0.05 * each.grad
            each.grad = None
    if step % 6 == 0:
        print(f"step {step:2d}  loss {loss.item():.4f}  running variance {blocks[0][4].mean():.4f}")
with torch.no_grad():
    images, labels = blobs(40)
    print(f"evaluated: {F.cross_entropy(network(images, training=False), labels):.4f}")

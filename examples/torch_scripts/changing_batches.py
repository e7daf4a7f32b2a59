"""Batches of changing shapes: the last one of each epoch is short, and the images grow from epoch to epoch.

A network of convolutions takes images of any size, since it ends in a mean over the places. It learns how fine the
stripes of an image are.
"""

import torch
import torch.nn.functional as F

torch.manual_seed(4)
w1 = (torch.randn(6, 1, 3, 3) * 0.4).requires_grad_()
w2 = (torch.randn(8, 6, 3, 3) * 0.2).requires_grad_()
head = (torch.randn(8, 2) * 0.3).requires_grad_()
bias = torch.zeros(2, requires_grad=True)
parameters = [w1, w2, head, bias]


def stripes(count, size):
    labels = torch.randint(2, (count,))
    waves = torch.sin(torch.arange(size) * (0.8 + 1.2 * labels.unsqueeze(1)) + 6 * torch.rand(count, 1))
    return waves.view(count, 1, 1, size) + 0.5 * torch.randn(count, 1, size, size), labels


for epoch, size in enumerate([8, 8, 10, 12, 12, 14]):
    images, labels = stripes(44, size)
    losses = []
    for batch, wanted in zip(images.split(16), labels.split(16)):
        z = F.relu(F.conv2d(batch, w1, padding=1))
        z = F.relu(F.conv2d(z, w2, stride=2)).mean(dim=(2, 3))
        loss = F.cross_entropy(z @ head + bias, wanted)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for each, gradient in zip(parameters, gradients):
                each.sub_(gradient, alpha=0.3)
        losses.append(loss.item())
    print(f"epoch {epoch}  {tuple(batch.shape)}  losses", " ".join(f"{each:.4f}" for each in losses))

"""A small convolutional classifier out of `nn.functional`, on images of bars that are drawn here."""

import torch
import torch.nn.functional as F

torch.manual_seed(0)


def images(count):
    """Noise with a bright bar: horizontal (class 0), vertical (class 1), or both (class 2)."""
    labels = torch.arange(count) % 3
    x = 0.3 * torch.randn(count, 1, 12, 12)
    for i in range(count):
        place = 2 + (i * 5) % 8
        if labels[i] != 1:
            x[i, 0, place, :] += 1.0
        if labels[i] != 0:
            x[i, 0, :, place] += 1.0
    return x, labels


class Classifier:
    """Two convolutions, two poolings and two linear layers."""

    def __init__(self):
        self.c1 = torch.randn(6, 1, 3, 3).mul(0.3).requires_grad_()
        self.c1_bias = torch.zeros(6, requires_grad=True)
        self.c2 = torch.randn(8, 6, 3, 3).mul(0.2).requires_grad_()
        self.c2_bias = torch.zeros(8, requires_grad=True)
        self.l1 = torch.randn(16, 8).mul(0.3).requires_grad_()
        self.l1_bias = torch.zeros(16, requires_grad=True)
        self.l2 = torch.randn(3, 16).mul(0.3).requires_grad_()
        self.l2_bias = torch.zeros(3, requires_grad=True)

    def parameters(self):
        return list(vars(self).values())

    def __call__(self, x):
        x = F.max_pool2d(F.relu(F.conv2d(x, self.c1, self.c1_bias)), 2)
        x = F.max_pool2d(F.relu(F.conv2d(x, self.c2, self.c2_bias)), 2)
        x = torch.flatten(x, 1)
        x = F.relu(F.linear(x, self.l1, self.l1_bias))
        return F.linear(x, self.l2, self.l2_bias)


x, labels = images(48)
print(x.shape, labels[:9], x.mean(), x.std())
model = Classifier()
rate = 0.1
for epoch in range(12):
    order = torch.randperm(len(x))
    total = 0.0
    for start in range(0, len(x), 16):
        chosen = order[start : start + 16]
        loss = F.cross_entropy(model(x[chosen]), labels[chosen])
        for each in model.parameters():
            each.grad = None
        loss.backward()
        with torch.no_grad():
            for each in model.parameters():
                each -= rate * each.grad
        total += loss.item() * len(chosen)
    with torch.no_grad():
        accuracy = (model(x).argmax(dim=1) == labels).float().mean()
    if epoch % 3 == 2:
        print(f"epoch {epoch:2d}  loss {total / len(x):.4f}  accuracy {accuracy:.3f}")

print(F.softmax(model(x[:3]), dim=1))
print(loss.grad_fn, model.c1.grad[0])

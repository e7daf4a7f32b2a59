# /// script
# dependencies = ["opacus"]
# ///
"""Private training: a gradient for each sample, clipped and with noise, and the privacy that was spent."""

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.validators import ModuleValidator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
images, classes = torch.randn(48, 1, 8, 8), torch.randint(3, (48,))


def made():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.GroupNorm(2, 4),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 3),
    )


print("problems", len(ModuleValidator.validate(made())), len(ModuleValidator.validate(nn.BatchNorm1d(3))))
loss_of = nn.CrossEntropyLoss()
wrapped = GradSampleModule(made())
loss_of(wrapped(images[:5]), classes[:5]).backward()
for name, parameter in wrapped.named_parameters():
    print(name, parameter.grad_sample.flatten(1).norm(dim=1).tolist())

torch.manual_seed(2)
network = made()
engine = PrivacyEngine()
optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
loader = DataLoader(TensorDataset(images, classes), batch_size=12)
network, optimizer, loader = engine.make_private(
    module=network, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0
)
for _ in range(2):
    losses = []
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = loss_of(network(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("losses", losses)
print("privacy", engine.get_epsilon(1e-5))

hooked = GradSampleModule(made(), batch_first=True)
without_noise = torch.optim.SGD(hooked.parameters(), lr=0.05)


def step():
    without_noise.zero_grad()
    loss = loss_of(hooked(images), classes)
    loss.backward()
    for parameter in hooked.parameters():
        norms = parameter.grad_sample.flatten(1).norm(dim=1)
        factors = (1.0 / (norms + 1e-6)).clamp(max=1.0)
        parameter.grad = torch.einsum("n,n...->...", factors, parameter.grad_sample) / len(images)
        parameter.grad_sample = None
    without_noise.step()
    return loss.item()


print("clipped", [step() for _ in range(4)])

"""A variational autoencoder of modules, trained by Adam; the Kullback-Leibler term from `distributions`."""

import torch
from torch import nn, optim
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F

torch.manual_seed(1)


class VAE(nn.Module):
    def __init__(self, inputs=16, hidden=24, latent=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh())
        self.mean = nn.Linear(hidden, latent)
        self.log_variance = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.Tanh(), nn.Linear(hidden, inputs))

    def forward(self, x):
        hidden = self.encoder(x)
        posterior = Normal(self.mean(hidden), (0.5 * self.log_variance(hidden)).exp())
        return self.decoder(posterior.rsample()), posterior


angles = torch.rand(64) * 6.2832
data = torch.sigmoid(4 * torch.cos(angles[:, None] - torch.linspace(0, 6.2832, 16)))

model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    logits, posterior = model(data)
    reconstruction = F.binary_cross_entropy_with_logits(logits, data, reduction="none").sum(1).mean()
    divergence = kl_divergence(posterior, Normal(0.0, 1.0)).sum(1).mean()
    loss = reconstruction + divergence
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step:3d}  loss {loss.item():.4f}  kl {divergence.item():.4f}")

print(posterior)
print(model.state_dict()["mean.bias"])

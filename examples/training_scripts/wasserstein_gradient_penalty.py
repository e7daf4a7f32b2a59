"""WGAN-GP: a critic whose gradient is to have norm one, by a second backward through it."""

import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(1)
LAMBDA, CRITIC_ITERS, BATCH = 0.1, 3, 16


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, 16), nn.ReLU(True), nn.Linear(16, 16), nn.ReLU(True), nn.Linear(16, 2))

    def forward(self, noise):
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)
        )

    def forward(self, inputs):
        return self.main(inputs).view(-1)


def calc_gradient_penalty(netD, real, fake):
    alpha = torch.rand(BATCH, 1).expand(real.size())
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    scores = netD(interpolates)
    gradients = autograd.grad(
        outputs=scores,
        inputs=interpolates,
        grad_outputs=torch.ones(scores.size()),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


netG, netD = Generator(), Discriminator()
optimizerD = optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
optimizerG = optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))
centers = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])

for iteration in range(12):
    for p in netD.parameters():
        p.requires_grad = True
    for _ in range(CRITIC_ITERS):
        real = centers[torch.randint(4, (BATCH,))] + 0.05 * torch.randn(BATCH, 2)
        netD.zero_grad()
        D_real = netD(real).mean()
        with torch.no_grad():
            fake = netG(torch.randn(BATCH, 2))
        D_fake = netD(fake).mean()
        penalty = calc_gradient_penalty(netD, real, fake)
        D_cost = D_fake - D_real + penalty
        D_cost.backward()
        optimizerD.step()
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    G = -netD(netG(torch.randn(BATCH, 2))).mean()
    G.backward()
    optimizerG.step()
    if iteration % 3 == 2:
        distance = (D_real - D_fake).item()
        print(f"iter {iteration:2d}  D {D_cost.item():.4f}  W {distance:.4f}  penalty {penalty.item():.4f}")

# /// script
# dependencies = ["nflows"]
# ///
"""A normalizing flow: masked autoregressive and spline layers, fitted to two moons, and samples of it."""

import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import (
    MaskedAffineAutoregressiveTransform,
    MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
)
from nflows.transforms.base import CompositeTransform
from nflows.transforms.normalization import ActNorm
from nflows.transforms.permutations import ReversePermutation

torch.manual_seed(0)
angles = torch.rand(128) * torch.pi
moons = torch.stack([angles.cos(), angles.sin()], 1)
moons[64:] = torch.tensor([1.0, 0.5]) - moons[64:]
moons = moons + 0.05 * torch.randn_like(moons)


def flow_of(layer):
    layers = []
    for _ in range(2):
        layers += [ActNorm(2), ReversePermutation(features=2), layer()]
    return Flow(CompositeTransform(layers), StandardNormal([2]))


def trained(layer):
    flow = flow_of(layer)
    optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)

    def step():
        optimizer.zero_grad()
        loss = -flow.log_prob(inputs=moons).mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return flow, step


splines, spline_step = trained(
    lambda: MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
        features=2, hidden_features=8, tails="linear", tail_bound=3.0, num_bins=4
    )
)
print("splines", [spline_step() for _ in range(4)])
flow, step = trained(lambda: MaskedAffineAutoregressiveTransform(features=2, hidden_features=8))
print("affine", [step() for _ in range(8)])
with torch.no_grad():
    samples, densities = flow.sample_and_log_prob(3)
    print("samples", samples.tolist(), densities.tolist(), splines.sample(2).tolist())
    noise = flow.transform_to_noise(moons[:3])
    print("noise", noise.tolist())

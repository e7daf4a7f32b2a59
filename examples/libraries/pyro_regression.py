# /// script
# dependencies = ["pyro-ppl"]
# ///
"""Bayesian regression: a guide made for the model and fitted by SVI, and a few samples of NUTS."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from pyro.infer.autoguide import AutoDiagonalNormal
from pyro.optim import Adam

torch.set_default_dtype(torch.float64)
pyro.set_rng_seed(0)
inputs = torch.randn(50, 3)
targets = inputs @ torch.tensor([1.0, -2.0, 0.5]) + 0.3 + 0.1 * torch.randn(50)


def model(inputs, targets=None):
    weights = pyro.sample("weights", dist.Normal(torch.zeros(3), torch.ones(3)).to_event(1))
    bias = pyro.sample("bias", dist.Normal(0.0, 1.0))
    scale = pyro.sample("scale", dist.HalfNormal(1.0))
    with pyro.plate("data", len(inputs)):
        return pyro.sample("seen", dist.Normal(inputs @ weights + bias, scale), obs=targets)


guide = AutoDiagonalNormal(model)
inference = SVI(model, guide, Adam({"lr": 0.05}), Trace_ELBO())


def step():
    return inference.step(inputs, targets)


print("losses", [step() for _ in range(100)][::10])
print("middle", {name: value.tolist() for name, value in guide.median().items()})
predicted = Predictive(model, guide=guide, num_samples=20)(inputs[:4])
print("predicted", predicted["seen"].mean(0).tolist())

pyro.set_rng_seed(1)
kernel = NUTS(model, max_tree_depth=3)
sampled = MCMC(kernel, num_samples=8, warmup_steps=8, disable_progbar=True)
sampled.run(inputs, targets)
print("samples", sampled.get_samples()["weights"][::3].tolist())

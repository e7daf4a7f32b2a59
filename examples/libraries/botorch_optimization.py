# /// script
# dependencies = ["botorch"]
# ///
"""Bayesian optimization: a Gaussian process fitted by L-BFGS, and where an acquisition function says to look next."""

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound, qLogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.manual_seed(0)
inputs = torch.rand(12, 2, dtype=torch.float64)


def objective(inputs):
    return 1 - (inputs - 0.4).norm(dim=-1, keepdim=True) + 0.1 * torch.sin(5 * inputs[..., :1])


def fitted(inputs):
    model = SingleTaskGP(inputs, objective(inputs), input_transform=Normalize(d=2), outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
for _ in range(2):
    model = fitted(inputs)
    improvement = LogExpectedImprovement(model, best_f=objective(inputs).max())
    candidate, value = optimize_acqf(improvement, bounds, q=1, num_restarts=4, raw_samples=32)
    print("candidate", [round(each, 2) for each in candidate[0].tolist()])
    inputs = torch.cat([inputs, candidate])
print("best", round(objective(inputs).max().item(), 2))

model = fitted(inputs)
posterior = model.posterior(torch.tensor([[0.2, 0.3], [0.8, 0.9]], dtype=torch.float64))
print("mean", [round(each, 2) for each in posterior.mean.flatten().tolist()])
bound = UpperConfidenceBound(model, beta=0.2)
print("bound", [round(each, 2) for each in bound(torch.rand(3, 1, 2, dtype=torch.float64)).tolist()])
sampler = SobolQMCNormalSampler(torch.Size([16]), seed=1)
several = qLogExpectedImprovement(model, best_f=0.5, sampler=sampler)
places = torch.rand(2, 2, 2, dtype=torch.float64, requires_grad=True)


def step():
    value = several(places).sum()
    [gradient] = torch.autograd.grad(value, places)
    return gradient.norm().item()


print("of several", round(several(places).sum().item(), 2), round(step(), 1))

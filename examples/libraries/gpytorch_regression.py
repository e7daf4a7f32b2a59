# /// script
# dependencies = ["gpytorch"]
# ///
"""Gaussian process regression: a kernel with a length for each input, fitted by Adam, and what it predicts."""

import gpytorch
import torch

torch.manual_seed(0)
inputs = torch.rand(60, 2)
targets = torch.sin(6 * inputs[:, 0]) + inputs[:, 1] ** 2 + 0.1 * torch.randn(60)


class Regression(gpytorch.models.ExactGP):
    def __init__(self, inputs, targets, likelihood):
        super().__init__(inputs, targets, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=2))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Regression(inputs, targets, likelihood)
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)


def step():
    optimizer.zero_grad()
    loss = -objective(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


model.train()
likelihood.train()
print("losses", [step() for _ in range(30)])
print("lengths", model.covar_module.base_kernel.lengthscale.tolist())

model.eval()
likelihood.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    prediction = likelihood(model(torch.linspace(0, 1, 5).unsqueeze(-1).expand(5, 2)))
print("means", prediction.mean.tolist())
print("variances", prediction.variance.tolist())

model.train()
likelihood.train()

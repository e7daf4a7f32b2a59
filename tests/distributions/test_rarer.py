"""The distributions that few programs ask for."""

from __future__ import annotations

import pytest
from oracle import agree

MADE = {
    "continuous Bernoulli": lambda torch: torch.distributions.ContinuousBernoulli(torch.tensor([0.1, 0.5, 0.8])),
    "continuous Bernoulli of logits": lambda torch: torch.distributions.ContinuousBernoulli(
        logits=torch.tensor([0.1, 0.0, -0.8])
    ),
    "relaxed Bernoulli": lambda torch: torch.distributions.RelaxedBernoulli(
        torch.tensor([0.7]), probs=torch.tensor([0.1, 0.5])
    ),
    "relaxed categories": lambda torch: torch.distributions.RelaxedOneHotCategorical(
        torch.tensor([0.7]), logits=torch.tensor([[0.1, 0.5], [1.0, 2.0]])
    ),
    "generalized Pareto": lambda torch: torch.distributions.GeneralizedPareto(
        torch.tensor([0.0, 1.0, 0.0, 0.0]), 2.0, torch.tensor([0.1, 0.0, -0.5, 2.0])
    ),
    "LKJ": lambda torch: torch.distributions.LKJCholesky(3, torch.tensor([0.5, 2.0])),
    "Wishart": lambda torch: torch.distributions.Wishart(
        torch.tensor([4.0, 5.0]), covariance_matrix=torch.eye(3) * 2 + 0.1
    ),
}
SHOWN = ["mean", "variance", "stddev", "batch_shape", "event_shape"]


@pytest.mark.filterwarnings("ignore:Singular sample detected")
@pytest.mark.parametrize("name", MADE)
def test_samples_and_densities(name):
    def program(torch):
        torch.manual_seed(0)
        made = MADE[name](torch)
        x = made.sample((2,))
        wide = made.expand((3, *made.batch_shape))
        return x, made.log_prob(x), wide.log_prob(x[0]), wide.batch_shape, made.has_rsample

    agree(program, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("what", [*SHOWN, "mode", "entropy", "cdf", "icdf"])
def test_what_is_known_of_them(name, what):
    def program(torch):
        made = MADE[name](torch)
        try:
            if what in ("cdf", "icdf"):
                return getattr(made, what)(torch.full((*made.batch_shape, *made.event_shape), 0.4))
            found = getattr(made, what)
            return found() if what == "entropy" else found
        except NotImplementedError:
            return "not implemented"

    agree(program, rtol=1e-4, atol=1e-5)


def test_gradients_reach_the_parameters():
    def program(torch):
        torch.manual_seed(0)
        kinds, found = torch.distributions, []
        for kind in (
            lambda p: kinds.ContinuousBernoulli(p),
            lambda p: kinds.RelaxedBernoulli(torch.tensor(0.5), p),
            lambda p: kinds.GeneralizedPareto(0.0, 1.0, p),
        ):
            p = torch.tensor([0.2, 0.7], requires_grad=True)
            made = kind(p)
            x = made.rsample()
            (x.sum() + made.log_prob(x.detach()).sum()).backward()
            found.append(p.grad)
        return found

    agree(program, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t: t.distributions.LKJCholesky(1),
        lambda t: t.distributions.Wishart(t.tensor(1.0), t.eye(3)),
        lambda t: t.distributions.Wishart(t.tensor(4.0)),
        lambda t: t.distributions.ContinuousBernoulli(),
        lambda t: t.distributions.RelaxedBernoulli(t.tensor(1.0), t.tensor(0.5), t.tensor(0.5)),
    ],
)
def test_what_makes_none(wrong):
    agree(lambda torch: wrong(torch))


@pytest.mark.parametrize("kind", ["cat", "stack"])
def test_constraints_of_parts(kind):
    def program(torch):
        c = torch.distributions.constraints
        parts = [c.positive, c.unit_interval]
        made = c.cat(parts, 0, [2, 1]) if kind == "cat" else c.stack(parts, 0)
        value = torch.tensor([1.0, -1.0, 0.5]) if kind == "cat" else torch.tensor([[1.0, -1.0], [0.5, 1.5]])
        return made.check(value), made.is_discrete, made.event_dim

    agree(program)

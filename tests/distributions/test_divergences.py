"""`kl_divergence` against torch: pairs of distributions, and what users register."""

from __future__ import annotations

import pytest
from oracle import agree
from test_distributions import attempt, derived, made

SAME = [
    *("Normal(p, s), Normal(u, t)", "Laplace(p, s), Laplace(u, t)", "Cauchy(p, s), Cauchy(u, t)"),
    *("Gumbel(p, s), Gumbel(u, t)", "LogNormal(p, s), LogNormal(u, t)", "HalfNormal(s), HalfNormal(t)"),
    *("Exponential(s), Exponential(t)", "Gamma(s, t), Gamma(t, s)", "Chi2(s), Chi2(t)", "Beta(s, t), Beta(t, s)"),
    *("Dirichlet(s), Dirichlet(t)", "Pareto(s, t), Pareto(t * 0.5, s)", "Pareto(s, t), Pareto(t, s)"),
    *("Uniform(p, p + s), Uniform(p - 1, 4.0)", "Uniform(p, p + s), Uniform(0.0, 2.0)"),
    *("Bernoulli(u), Bernoulli(logits=p)", "Bernoulli(u), Bernoulli(torch.tensor([0.0, 1.0, 0.5]))"),
    *("Bernoulli(torch.tensor([0.0, 1.0, 0.5])), Bernoulli(u)", "Geometric(u), Geometric(logits=p)"),
    *("Categorical(P), Categorical(logits=p)", "Categorical(P), Categorical(torch.tensor([0.0, 0.5, 0.5]))"),
    *("OneHotCategorical(P), OneHotCategorical(logits=p)", "Binomial(4, u), Binomial(3, logits=p)"),
    *("Poisson(s), Poisson(t)", "Independent(Normal(p, s), 1), Independent(Normal(u, t), 1)"),
    "MultivariateNormal(P, M), MultivariateNormal(p, scale_tril=L)",
    "TransformedDistribution(Normal(p, s), TanhTransform()), TransformedDistribution(Normal(u, t), TanhTransform())",
]
OTHERS = [
    *("Normal(p, s), Laplace(u, t)", "Laplace(p, s), Normal(u, t)", "Gumbel(p, s), Normal(u, t)"),
    *("Exponential(s), Normal(p, t)", "Gamma(s, t), Normal(p, t)", "Beta(s, t), Normal(p, t)"),
    *("Pareto(s, t + 2), Normal(p, t)", "Uniform(p, p + s), Normal(u, t)", "Exponential(s), Gamma(t, u)"),
    *("Beta(s, t), Gamma(t, u)", "Pareto(s, t + 1), Gamma(t, u)", "Uniform(u, u + s), Gamma(t, u)"),
    *("Uniform(p, p + s), Exponential(u)", "Gamma(s, t), Exponential(u)", "Beta(s, t), Exponential(u)"),
    *("Pareto(s, t + 1), Exponential(u)", "Beta(s, t), Uniform(u - 1, 1.5)", "Bernoulli(u), Poisson(s)"),
    *("Normal(p, s), Gamma(s, t)", "Gamma(s, t), Uniform(u, 2.0)", "Poisson(s), Bernoulli(u)"),
    *("Laplace(p, s), Beta(s, t)", "Beta(s, t), Pareto(s, t)", "Pareto(s, t), Uniform(0.0, s)"),
    *("Normal(p, s), Gumbel(u, t)", "Exponential(s), Gumbel(p, t)", "Gamma(s, t), Gumbel(p, u)"),
    *("Uniform(p, p + s), Gumbel(u, t)", "Uniform(u * 0.1, u * 0.9), Beta(s, t)", "Uniform(p, p + s), Beta(s, t)"),
    *("Uniform(u + 0.5, u + s + 0.5), Pareto(u * 0.1, t)", "Uniform(p, p + s), Pareto(u, t)"),
    *(
        "ContinuousBernoulli(u), Normal(p, s)",
        "ContinuousBernoulli(u), Exponential(s)",
        "Gumbel(p, s), ContinuousBernoulli(u)",
    ),
    *(
        "ContinuousBernoulli(u), Uniform(u - 2, 3.0)",
        "ContinuousBernoulli(u), Pareto(s, t)",
        "Beta(s, t), ContinuousBernoulli(u)",
    ),
    *("Uniform(u * 0.1, u * 0.9), ContinuousBernoulli(u)", "Uniform(p, p + s), ContinuousBernoulli(u)"),
]
REFUSED = [
    *("Normal(p, s), Cauchy(p, s)", "Exponential(s), Poisson(s)", "Binomial(2, u), Binomial(3, u)"),
    *("Independent(Normal(p, s), 1), Normal(p, s)", "Independent(Normal(p, s), 1), Independent(Normal(p, s), 0)"),
    "LogNormal(p, s), TransformedDistribution(Normal(p, s), TanhTransform())",
    "MultivariateNormal(p, M), MultivariateNormal(p[:2], M[:2, :2])",
]


@pytest.mark.parametrize("text", [*SAME, *OTHERS])
def test_divergence(text):
    def program(torch):
        found, leaves = made(torch, f"kl_divergence({text})")
        return derived(found, leaves)

    agree(program, rtol=2e-5, atol=2e-5)


def test_refused_pairs():
    agree(lambda torch: {text: attempt(lambda text=text: made(torch, f"kl_divergence({text})")[0]) for text in REFUSED})


def test_the_nearest_pair_is_taken():
    def program(torch):
        D = torch.distributions  # noqa: N806

        class Own(D.Normal):
            pass

        def said(p, q):
            return D.kl_divergence(p(0.0, 1.0), q(0.0, 1.0))

        before = said(Own, D.Normal)
        D.register_kl(Own, D.Normal)(lambda p, q: 1)
        one = said(Own, Own)
        D.register_kl(D.Normal, Own)(lambda p, q: 2)
        with pytest.warns(RuntimeWarning, match="Ambiguous"):
            unclear = said(Own, Own)
        D.register_kl(Own, Own)(lambda p, q: 3)
        told = [before, one, unclear, said(Own, Own), said(D.Normal, Own), said(D.Normal, D.Normal)]
        return [*told, repr(D.Normal(0.0, 1.0))]

    agree(program)

"""Every distribution against torch: printed text, shapes, moments, samples for a seed, densities and gradients."""

from __future__ import annotations

import re

import pytest
from oracle import agree

import jaxvjp

ROWS = [
    "Normal(p, s)",
    "Normal(0.0, 1.0)",
    "Normal(p.double(), 2)",
    "Uniform(p, p + s)",
    "Uniform(-1, 2)",
    "Exponential(s)",
    "Laplace(p, s)",
    "Cauchy(p, s)",
    "Gamma(s, t)",
    "Gamma(0.5, 1.0)",
    "Gamma(s.double(), t.double())",
    "Chi2(s)",
    "StudentT(t + 1.2, p, s)",
    "StudentT(2.0)",
    "FisherSnedecor(s + 2, t + 3)",
    "VonMises(p, s)",
    "LogNormal(p, s)",
    "LogisticNormal(p, s)",
    "LogisticNormal(0.0, 1.0)",
    "HalfNormal(s)",
    "HalfCauchy(s)",
    "Gumbel(p, s)",
    "Gumbel(0.0, 2.0)",
    "Weibull(s, t)",
    "Pareto(s, t)",
    "InverseGamma(t + 1.5, s)",
    "Kumaraswamy(s, t)",
    "Dirichlet(P * 4)",
    "Dirichlet(u.double())",
    "Beta(s, t)",
    "Beta(0.5, 2.0)",
    "MultivariateNormal(p, M)",
    "MultivariateNormal(P, precision_matrix=M)",
    "MultivariateNormal(p, scale_tril=L)",
    "LowRankMultivariateNormal(P, P.T, s)",
    "Bernoulli(u)",
    "Bernoulli(logits=p)",
    "Bernoulli(0.5)",
    "Categorical(P)",
    "Categorical(logits=P)",
    "Categorical(u)",
    "OneHotCategorical(P)",
    "OneHotCategorical(logits=u)",
    "OneHotCategoricalStraightThrough(P)",
    "Binomial(5, u)",
    "Binomial(60, u.double())",
    "Binomial(torch.tensor([3.0, 4.0, 40.0]), logits=p)",
    "Multinomial(6, P)",
    "Multinomial(4, logits=u)",
    "Poisson(s * 4)",
    "Geometric(u)",
    "Geometric(logits=p)",
    "NegativeBinomial(s, u)",
    "NegativeBinomial(3, logits=p)",
    "Independent(Normal(p, s), 1)",
    "Independent(Bernoulli(u), 0)",
    "Independent(Normal(P, 1.0), 1)",
    "TransformedDistribution(Normal(p, s), [AffineTransform(0.5, -2.0), SigmoidTransform()])",
    "TransformedDistribution(Normal(P, 1.0), [ExpTransform(), ReshapeTransform((3,), (1, 3))])",
    "TransformedDistribution(Uniform(u * 0, 1), PowerTransform(t))",
    "MixtureSameFamily(Categorical(P), Normal(P * 3, 1.0))",
    "MixtureSameFamily(Categorical(u), Independent(Normal(P.T, 0.5), 1))",
]
APPROXIMATE = {"Gamma": 1e-3, "Chi2": 1e-3, "StudentT": 1e-3, "FisherSnedecor": 1e-3, "InverseGamma": 1e-3}
"""torch approximates the slope of a gamma number in its shape to about three digits; `jax.lax` computes it."""


def attempt(function):
    """What a function gives, or its error's class and first sentence."""
    try:
        return function()
    except Exception as error:
        said = re.sub(r"(torch|jaxvjp)\.distributions\.\w+\.", "", str(error))
        return [type(error).__name__, said.partition("\n")[0]]


def made(torch, text):
    """A distribution, and the leaves that it is made of."""
    leaves = {
        "p": torch.tensor([-0.5, 0.3, 1.2], requires_grad=True),
        "s": torch.tensor([0.5, 1.0, 2.5], requires_grad=True),
        "t": torch.tensor([1.5, 0.7, 3.0], requires_grad=True),
        "u": torch.tensor([0.2, 0.5, 0.7], requires_grad=True),
        "P": torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.7, 0.2]], requires_grad=True),
    }
    leaves["M"] = torch.tensor([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.7]], requires_grad=True)
    leaves["L"] = torch.tensor([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.1, 0.3, 0.7]], requires_grad=True)
    return eval(text, vars(torch.distributions) | {"torch": torch} | leaves), [*leaves.values()]


def derived(result, leaves):
    """A result, and the gradients of its weighted sum."""
    for each in leaves:
        each.grad = None
    if result.requires_grad:
        weights = 1 + result.detach().new_ones(result.shape).cumsum(-1) if result.dim() else 1
        (result * weights).sum().backward(retain_graph=True)
    return [result.detach(), [each.grad for each in leaves]]


@pytest.mark.parametrize("text", ROWS)
def test_what_it_says_of_itself(text):
    def program(torch):
        d, leaves = made(torch, text)
        told = [repr(d), d.batch_shape, d.event_shape, d.has_rsample, d.has_enumerate_support, repr(d.support)]
        told += [repr({name: type(each).__name__ for name, each in d.arg_constraints.items()}), d.support.is_discrete]
        for name in ("mean", "mode", "variance", "stddev"):
            told.append(attempt(lambda name=name: derived(getattr(d, name) + 0, leaves)))
        for name in ("entropy", "perplexity"):
            told.append(attempt(lambda name=name: derived(getattr(d, name)() + 0, leaves)))
        told.append(attempt(lambda: d.enumerate_support()))
        told.append(attempt(lambda: d.enumerate_support(expand=False)))
        return [*told, repr(d)]

    assert agree(program, rtol=2e-5, atol=2e-5).raised is None


@pytest.mark.parametrize("text", ROWS)
def test_samples_and_densities(text):
    def program(torch):
        torch.manual_seed(3)
        d, leaves = made(torch, text)
        told = []
        for shape in ((), (2,), (3, 2)):
            drawn = d.sample(shape)
            told += [drawn, derived(d.log_prob(drawn), leaves), attempt(lambda drawn=drawn: d.cdf(drawn).detach())]
        wide = d.expand((4, *d.batch_shape))
        told += [
            repr(wide),
            wide.batch_shape,
            wide.event_shape,
            wide.sample(),
            derived(wide.log_prob(drawn[:1, :1]), leaves),
        ]
        quantile = torch.tensor(0.3, dtype=drawn.dtype if drawn.dtype.is_floating_point else torch.float32)
        told.append(attempt(lambda: derived(d.icdf(quantile), leaves)))
        return [*told, torch.rand(2)]

    assert agree(program, rtol=2e-5, atol=2e-5).raised is None


@pytest.mark.parametrize("text", [each for each in ROWS if not each.startswith(("Dirichlet", "Beta"))])
def test_gradients_through_samples(text):
    def program(torch):
        torch.manual_seed(5)
        d, leaves = made(torch, text)
        return [attempt(lambda shape=shape: derived(d.rsample(shape), leaves)) for shape in ((), (7,))]

    near = APPROXIMATE.get(text.partition("(")[0], 2e-5)
    assert agree(program, rtol=near, atol=near).raised is None


def test_samples_without_parameters_require_no_gradient():
    def program(torch):
        torch.manual_seed(0)
        d, _ = made(torch, "Normal(p, s)")
        with pytest.warns(FutureWarning, match="sample_n"):
            several = d.sample_n(2)
        return d.sample(), several, d.rsample(torch.Size([2])).requires_grad, d.sample([2]).shape

    agree(program)


def test_gradients_of_points_of_a_simplex():
    """For each sample they are not torch's; on average they are the derivatives of what samples are on average."""
    jaxvjp.manual_seed(0)
    a = jaxvjp.tensor([0.7, 2.0], dtype=jaxvjp.float64, requires_grad=True)
    drawn = jaxvjp.distributions.Dirichlet(a).rsample((4000,))
    (total,) = jaxvjp.autograd.grad(drawn.sum(), a, retain_graph=True)
    assert total.abs().max() < 1e-9  # each sample's sum stays 1
    (found,) = jaxvjp.autograd.grad((drawn[:, 0]).mean(), a)
    (mean,) = jaxvjp.autograd.grad((a / a.sum())[0], a)
    assert jaxvjp.allclose(found, mean, rtol=0.05)


def drawn_in_steps(jit):
    """What steps that draw and follow a divergence give, and how many programs the later ones dispatch."""
    jaxvjp.manual_seed(0)
    mean = jaxvjp.tensor([0.5, 1.0], requires_grad=True)
    scale = jaxvjp.tensor([2.0, 1.0], requires_grad=True)
    optimizer = jaxvjp.optim.SGD([mean, scale], lr=0.01)

    @jit
    def step():
        optimizer.zero_grad()
        own = jaxvjp.distributions.Normal(mean, scale)
        drawn = own.rsample()
        divergence = jaxvjp.distributions.kl_divergence(own, jaxvjp.distributions.Normal(0.0, 1.0))
        (divergence.sum() + (drawn**2).sum() - own.log_prob(drawn).sum()).backward()
        optimizer.step()
        return drawn.detach()

    found, dispatched = [], []
    for _ in range(6):
        before = jaxvjp.counters.dispatches
        found.append(step().tolist())
        dispatched.append(jaxvjp.counters.dispatches - before)
    return found, dispatched[2:]


def test_a_staged_step_draws_anew_and_is_one_dispatch(counted):
    expected, _ = drawn_in_steps(lambda step: step)
    given, dispatched = drawn_in_steps(jaxvjp.jit)
    jaxvjp.testing.assert_close(jaxvjp.tensor(given), jaxvjp.tensor(expected))
    assert dispatched == [1] * 4


WRONG = [
    "Normal(torch.tensor([1.0, float('nan')]), 1.0)",
    "Normal(0.0, -1.0)",
    "Normal('a', 1.0)",
    "Normal(torch.zeros(2), torch.ones(3))",
    "Normal(0.0, -1.0, validate_args=False)",
    "Uniform(2.0, 1.0)",
    "Bernoulli()",
    "Bernoulli(0.5, 0.5)",
    "Bernoulli(1.5)",
    "Categorical()",
    "Categorical(torch.tensor(0.5))",
    "Categorical(torch.tensor([0.5, -0.5]))",
    "Categorical(logits=torch.tensor([float('nan'), 1.0]))",
    "Geometric(0.0)",
    "Binomial(-1, u)",
    "Multinomial(torch.tensor(3), u)",
    "Dirichlet(torch.tensor(1.0))",
    "Beta(0.5, -2.0)",
    "MultivariateNormal(p, torch.zeros(3, 3))",
    "MultivariateNormal(p, M[0])",
    "MultivariateNormal(p, scale_tril=p)",
    "MultivariateNormal(p)",
    "MultivariateNormal(p, torch.eye(2))",
    "MultivariateNormal(torch.tensor(1.0), M)",
    "LowRankMultivariateNormal(p, u, s)",
    "LowRankMultivariateNormal(p, M[:2], s)",
    "LowRankMultivariateNormal(p, M, s[:2])",
    "HalfNormal(-1.0)",
    "Gumbel(0.0, -1.0)",
    "Pareto(1.0, 2.0).log_prob(torch.tensor(0.5))",
    "Independent(Normal(p, s), 2)",
    "TransformedDistribution(Normal(0.0, 1.0), 3)",
    "TransformedDistribution(Normal(0.0, 1.0), [3])",
    "TransformedDistribution(Normal(0.0, 1.0), StickBreakingTransform())",
    "MixtureSameFamily(Normal(p, s), Normal(p, s))",
    "MixtureSameFamily(Categorical(P), Normal(0.0, 1.0).expand((2, 4)))",
    "Normal(p, s).log_prob(3.0)",
    "Normal(p, s).log_prob(torch.zeros(2))",
    "Uniform(0.0, 1.0).log_prob(torch.tensor(2.0))",
    "Uniform(0.0, 1.0, validate_args=False).log_prob(torch.tensor(2.0))",
    "Categorical(P).log_prob(torch.tensor([3, 0]))",
    "Bernoulli(u).log_prob(torch.tensor(0.5))",
    "OneHotCategorical(P).log_prob(torch.ones(2, 2))",
    "Normal(p, s).enumerate_support()",
    "Binomial(torch.tensor([2.0, 3.0, 3.0]), u).enumerate_support()",
    "Binomial(torch.tensor([2.0, 3.0, 3.0]), u).entropy()",
    "Cauchy(p, s).expand((2,))",
    "Normal.set_default_validate_args(3)",
    "Distribution(validate_args=False).expand((2,))",
    "Distribution(validate_args=False).mode",
    "Distribution(validate_args=False).sample()",
    "constraints.dependent.check(p)",
    "constraints.dependent.event_dim",
]


def test_errors():
    def program(torch):
        def said(text):
            found = made(torch, text)[0]
            return repr(found)

        return {text: attempt(lambda text=text: said(text)) for text in WRONG}

    agree(program)


def test_subclasses():
    def program(torch):
        D = torch.distributions  # noqa: N806

        class Renamed(D.Normal):
            pass

        class Standard(D.Normal):
            def __init__(self):
                super().__init__(0.0, 1.0)

        class Coin(D.Distribution):
            arg_constraints = {"chance": D.constraints.unit_interval}  # noqa: RUF012
            support = D.constraints.boolean

            def __init__(self, chance):
                self.chance = chance
                super().__init__(chance.shape)

            def sample(self, sample_shape=()):
                return (torch.rand(self._extended_shape(sample_shape)) < self.chance).float()

            def log_prob(self, value):
                if self._validate_args:
                    self._validate_sample(value)
                return (value * self.chance + (1 - value) * (1 - self.chance)).log()

        torch.manual_seed(1)
        coin = Coin(torch.tensor([0.2, 0.7]))
        joint = D.Independent(coin, 1)
        return [
            repr(Renamed(0.0, 2.0).expand((2,))),
            attempt(lambda: Standard().expand((2,))),
            repr(coin),
            joint.sample((2,)),
            joint.log_prob(torch.tensor([1.0, 0.0])),
            attempt(lambda: coin.log_prob(torch.tensor([0.5, 1.0]))),
            attempt(lambda: Coin(torch.tensor([2.0]))),
            attempt(lambda: coin.expand((3, 2))),
        ]

    agree(program)


def test_parameters_are_checked_in_one_program(counted):
    loc, scale = jaxvjp.ones(3), jaxvjp.ones(3)
    for _ in range(2):
        jaxvjp.distributions.Normal(loc * 2, scale * 2)
    counted()
    jaxvjp.distributions.Normal(loc * 2, scale * 2)
    assert counted() == (0, 1)

"""`kl_divergence(p, q)`, by a registry of functions for pairs of classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any, TypeVar

import jaxvjp as torch
from jaxvjp.distributions.composite import Independent, TransformedDistribution
from jaxvjp.distributions.continuous import Cauchy, Exponential, Gamma, Laplace, Normal, Uniform
from jaxvjp.distributions.discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from jaxvjp.distributions.distribution import Distribution, ExponentialFamily, sum_rightmost
from jaxvjp.distributions.multivariate import Beta, Dirichlet, MultivariateNormal
from jaxvjp.distributions.rarer import ContinuousBernoulli, log_norm
from jaxvjp.distributions.transformed import EULER, Gumbel, Pareto
from jaxvjp.nn import functional as F
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.user_code import warn_user

Divergence = Callable[[Any, Any], Tensor]
D = TypeVar("D", bound=Divergence)
_KL_REGISTRY: dict[tuple[type, type], Divergence] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[D], D]:
    """Declares the divergence of two classes of distributions: `@register_kl(Normal, Normal)`."""

    def declare(function: D) -> D:
        _KL_REGISTRY[type_p, type_q] = function
        return function

    return declare


def _found(type_p: type, type_q: type) -> Divergence | None:
    """The function of the nearest classes; those of p count first."""
    orders = type_p.__mro__, type_q.__mro__
    left = next((pair for pair in product(*orders) if pair in _KL_REGISTRY), None)
    right = next((pair for q, p in product(*reversed(orders)) if (pair := (p, q)) in _KL_REGISTRY), None)
    if left is None or right is None:
        return None
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warn_user(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left[0].__name__}, "
            f"{right[1].__name__})",
            RuntimeWarning,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of q from p: the mean of `p.log_prob(x) - q.log_prob(x)` over x from p.

    Counterpart of `torch.distributions.kl_divergence`.
    """
    function = _found(type(p), type(q))
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return function(p, q)


def outside(beyond: Tensor, result: Tensor) -> Tensor:
    """`result`, but infinity where p has values that q has not."""
    return torch.where(beyond, math.inf, result)


WHOLE_LINE, HALF_LINE = (Gumbel, Laplace, Normal), (Exponential, Gamma)
for _p, _q in [
    *product(WHOLE_LINE, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    *product(HALF_LINE, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    *product((Pareto,), (Beta, ContinuousBernoulli, Uniform)),
    *product((Beta, ContinuousBernoulli), (Pareto,)),
    *product((Poisson,), (Bernoulli, Binomial)),
]:
    register_kl(_p, _q)(lambda p, _: torch.full_like(p.mean.detach(), math.inf))


def _to_normal(p: Distribution, q: Normal) -> Tensor:
    variance = q.scale**2
    return 0.5 * (2 * math.pi * variance).log() - p.entropy() + 0.5 * (p.variance + (p.mean - q.loc) ** 2) / variance


def _to_exponential(p: Distribution, q: Exponential) -> Tensor:
    found = q.rate * p.mean - q.rate.log() - p.entropy()
    return outside(p.low < 0, found) if isinstance(p, Uniform) else found


def _uniform_mean_log(low: Tensor, high: Tensor) -> Tensor:
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


def _to_gamma(mean_log: Callable[[Any], Tensor]) -> Divergence:
    """The divergence of a distribution with that mean of `log(x)` to a gamma distribution."""

    def divergence(p: Distribution, q: Gamma) -> Tensor:
        a = q.concentration
        found = a.lgamma() - a * q.rate.log() - (a - 1) * mean_log(p) + q.rate * p.mean - p.entropy()
        return outside(p.low < 0, found) if isinstance(p, Uniform) else found

    return divergence


def _to_gumbel(mean_exp: Divergence) -> Divergence:
    """The divergence of a distribution with that mean of `exp((q.loc - x) / q.scale)` to a Gumbel distribution."""
    return lambda p, q: q.scale.log() + (p.mean - q.loc) / q.scale + mean_exp(p, q) - p.entropy()


def _to_continuous_bernoulli(p: Distribution, q: ContinuousBernoulli) -> Tensor:
    found = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - log_norm(q.probs)
    return outside((p.low <= 0) | (p.high >= 1), found) if isinstance(p, Uniform) else found


for _p in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto):
    register_kl(_p, Normal)(_to_normal)
for _p in (Beta, Uniform):
    register_kl(_p, ContinuousBernoulli)(_to_continuous_bernoulli)
for _p, _mean_exp in (
    (Exponential, lambda p, q: (q.loc / q.scale).exp() * p.rate * q.scale / (p.rate * q.scale + 1)),
    (Gamma, lambda p, q: (q.loc / q.scale).exp() * (1 + (p.rate * q.scale).reciprocal()) ** -p.concentration),
    (Normal, lambda p, q: ((q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale) ** 2).exp()),
    (
        Uniform,
        lambda p, q: (
            q.scale / (p.high - p.low) * (((q.loc - p.low) / q.scale).exp() - ((q.loc - p.high) / q.scale).exp())
        ),
    ),
):
    register_kl(_p, Gumbel)(_to_gumbel(_mean_exp))
for _p in (Beta, ContinuousBernoulli, Gamma, Pareto, Uniform):
    register_kl(_p, Exponential)(_to_exponential)
for _p, _mean_log in (
    (Beta, lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()),
    (Exponential, lambda p: -EULER - p.rate.log()),
    (Pareto, lambda p: p.scale.log() + p.alpha.reciprocal()),
    (Uniform, lambda p: _uniform_mean_log(p.low, p.high)),
):
    register_kl(_p, Gamma)(_to_gamma(_mean_log))

register_kl(Beta, Uniform)(lambda p, q: outside((q.low > 0) | (q.high < 1), (q.high - q.low).log() - p.entropy()))
register_kl(Cauchy, Cauchy)(
    lambda p, q: ((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2).log() - (4 * p.scale * q.scale).log()
)
register_kl(Uniform, Uniform)(
    lambda p, q: outside((q.low > p.low) | (q.high < p.high), ((q.high - q.low) / (p.high - p.low)).log())
)
register_kl(ContinuousBernoulli, Uniform)(
    lambda p, q: outside((q.low >= 0) | (q.high <= 1), (q.high - q.low).log() - p.entropy())
)
register_kl(Poisson, Poisson)(lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate))
register_kl(Bernoulli, Poisson)(lambda p, q: -p.entropy() - (p.probs * q.rate.log() - q.rate))
register_kl(Geometric, Geometric)(lambda p, q: -p.entropy() - (-q.probs).log1p() / p.probs - q.logits)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    distance = p.loc - q.loc
    units = distance / p.scale
    mean = math.sqrt(2 / math.pi) * p.scale * (-0.5 * units**2).exp() + distance * (math.sqrt(0.5) * units).erf()
    return mean / q.scale - (p.scale / q.scale).log() - 0.5 * (1 + math.log(0.5 * math.pi))


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width, distance = p.high - p.low, (p.high + p.low - 2 * q.loc) / 2
    return (math.sqrt(math.pi * 2) * q.scale / width).log() + 0.5 * (width**2 / 12 + distance**2) / q.scale**2


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    means = (a - 1) * _uniform_mean_log(p.low, p.high) + (b - 1) * _uniform_mean_log(1 - p.high, 1 - p.low)
    found = a.lgamma() + b.lgamma() - (a + b).lgamma() - means - p.entropy()
    return outside((p.low < 0) | (p.high > 1), found)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    found = (q.alpha + 1) * _uniform_mean_log(p.low, p.high) - (q.alpha * q.scale**q.alpha).log() - p.entropy()
    return outside(p.low < q.scale, found)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    rest = (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)
    return b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + rest


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    def part(weight: Tensor, other: Tensor, sign: int) -> Tensor:
        found = outside(other == 0, weight * (F.softplus(sign * q.logits) - F.softplus(sign * p.logits)))
        return torch.where(weight == 0, 0, found)

    return part(p.probs, q.probs, -1) + part(1 - p.probs, 1 - q.probs, 1)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return outside(p.total_count > q.total_count, p.total_count * each)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = outside(q.probs == 0, p.probs * (p.logits - q.logits))
    return torch.where(p.probs == 0, 0, terms).sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    means = a.digamma() - total.digamma().unsqueeze(-1)
    rest = (a.lgamma() - b.lgamma()).sum(-1)
    return total.lgamma() - b.sum(-1).lgamma() - rest + ((a - b) * means).sum(-1)


register_kl(Beta, Beta)(lambda p, q: _dirichlet(p._dirichlet, q._dirichlet))
register_kl(OneHotCategorical, OneHotCategorical)(lambda p, q: _categorical(p._categorical, q._categorical))


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, distance = p.scale / q.scale, (q.loc - p.loc) / q.scale
    return -ratio.log() - distance + ratio * EULER + (distance + (1 + ratio).lgamma()).exp() - (1 + EULER)


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    return outside(p.scale < q.scale, q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with                          "
            "different event shapes cannot be computed"
        )
    trace = (
        torch.linalg.solve_triangular(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril, upper=False)
        .square()
        .sum((-2, -1))
    )
    rest = trace + q.__mahalanobis__(q.loc - p.loc) - p.event_shape[0]
    return q.__half_log_det__() - p.__half_log_det__() + 0.5 * rest


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot "
            "                            be computed using Bregman divergences"
        )
    own = [each.detach().requires_grad_() for each in p._natural_params]
    normalizer = p._log_normalizer(*own)
    gradients = torch.autograd.grad(normalizer.sum(), own, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for a, b, gradient in zip(own, q._natural_params, gradients, strict=True):
        result = result - sum_rightmost((b - a) * gradient, len(q.event_shape))
    return result


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)

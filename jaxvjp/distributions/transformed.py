"""Distributions that are others, transformed."""

from __future__ import annotations

import math
from typing import Any

import jaxvjp as torch
from jaxvjp.distributions import constraints
from jaxvjp.distributions.composite import TransformedDistribution
from jaxvjp.distributions.continuous import POSITIVE_SCALE, Cauchy, Exponential, Gamma, Normal, Uniform, filled
from jaxvjp.distributions.distribution import Value, broadcast_all, checked, formulas, parts_of
from jaxvjp.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    StickBreakingTransform,
)
from jaxvjp.tensor.tensor import Tensor

EULER = 0.57721566490153286060


class LogNormal(TransformedDistribution):
    """`exp` of normal numbers. Counterpart of `torch.distributions.LogNormal`."""

    arg_constraints = POSITIVE_SCALE
    support = constraints.positive
    has_rsample = True
    loc, scale = parts_of("base_dist", "loc", "scale")

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    __formulas__ = formulas(
        mean=lambda loc, scale: (loc + scale**2 / 2).exp(),
        mode=lambda loc, scale: (loc - scale**2).exp(),
        variance=lambda scale, loc: (scale**2).expm1() * (2 * loc + scale**2).exp(),
        entropy=lambda base_dist, loc: base_dist.entropy() + loc,
    )


class LogisticNormal(TransformedDistribution):
    """Points of a simplex, from normal numbers. Counterpart of `torch.distributions.LogisticNormal`."""

    arg_constraints = POSITIVE_SCALE
    support = constraints.simplex
    has_rsample = True
    loc, scale = parts_of("base_dist.base_dist", "loc", "scale")

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args)


class _Half(TransformedDistribution):
    """The magnitudes of numbers around 0."""

    arg_constraints: Any = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    (scale,) = parts_of("base_dist", "scale")
    __formulas__ = formulas(
        mode=lambda scale: torch.zeros_like(scale),
        log_prob=lambda value, base_dist: torch.where(value >= 0, base_dist.log_prob(value) + math.log(2), -math.inf),
        cdf=lambda value, base_dist: 2 * base_dist.cdf(value) - 1,
        entropy=lambda base_dist: base_dist.entropy() - math.log(2),
    )

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)


class HalfNormal(_Half):
    """The magnitudes of normal numbers. Counterpart of `torch.distributions.HalfNormal`."""

    def __init__(self, scale: Value, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale**2 * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """The magnitudes of Cauchy's numbers. Counterpart of `torch.distributions.HalfCauchy`."""

    def __init__(self, scale: Value, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args)

    mean = property(lambda self: filled(self, math.inf, self.scale))
    variance = property(lambda self: self.base_dist.variance)


class Gumbel(TransformedDistribution):
    """The Gumbel distribution, of largest values. Counterpart of `torch.distributions.Gumbel`."""

    arg_constraints = POSITIVE_SCALE
    support = constraints.real
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = torch.finfo(self.loc.dtype)
        low, high = [torch.full_like(self.loc.detach(), each) for each in (limits.tiny, 1 - limits.eps)]
        log, turned = ExpTransform().inv, AffineTransform(0, -torch.ones_like(self.scale))
        steps = [log, turned, log, AffineTransform(self.loc, -self.scale)]
        super().__init__(Uniform(low, high, validate_args), steps, validate_args)

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    __formulas__ = formulas(
        mean=lambda loc, scale: loc + scale * EULER,
        mode=lambda loc: loc,
        stddev=lambda scale: math.pi / math.sqrt(6) * scale,
        variance=lambda stddev: stddev**2,
        entropy=lambda scale: scale.log() + (1 + EULER),
    )


class Weibull(TransformedDistribution):
    """The Weibull distribution. Counterpart of `torch.distributions.Weibull`."""

    arg_constraints: Any = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    scale: Tensor
    concentration: Tensor

    def __init__(self, scale: Value, concentration: Value, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        steps = [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)]
        super().__init__(Exponential(torch.ones_like(self.scale), validate_args), steps, validate_args)

    def __moment__(self, n: int) -> Tensor:
        """The mean of the n-th powers, for a scale of 1."""
        return (1 + n / self.concentration).lgamma().exp()

    __formulas__ = formulas(
        mean=lambda self, scale: scale * self.__moment__(1),
        variance=lambda self, scale: scale**2 * (self.__moment__(2) - self.__moment__(1) ** 2),
        mode=lambda scale, concentration: scale * ((concentration - 1) / concentration) ** concentration.reciprocal(),
        entropy=lambda concentration, scale: (
            EULER * (1 - concentration.reciprocal()) + (scale / concentration).log() + 1
        ),
    )


class Pareto(TransformedDistribution):
    """The Pareto distribution. Counterpart of `torch.distributions.Pareto`."""

    arg_constraints: Any = {"alpha": constraints.positive, "scale": constraints.positive}
    scale: Tensor
    alpha: Tensor

    def __init__(self, scale: Value, alpha: Value, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        steps = [ExpTransform(), AffineTransform(0, self.scale)]
        super().__init__(Exponential(self.alpha, validate_args), steps, validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    mode = property(lambda self: self.scale)

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class InverseGamma(TransformedDistribution):
    """The reciprocals of gamma numbers. Counterpart of `torch.distributions.InverseGamma`."""

    arg_constraints: Any = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    concentration, rate = parts_of("base_dist", "concentration", "rate")

    def __init__(self, concentration: Value, rate: Value, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args)
        super().__init__(base, PowerTransform(-torch.ones((), dtype=base.rate.dtype)), validate_args)

    __formulas__ = formulas(
        mean=lambda concentration, rate: torch.where(concentration > 1, rate / (concentration - 1), math.inf),
        mode=lambda concentration, rate: rate / (concentration + 1),
        variance=lambda concentration, rate: torch.where(
            concentration > 2, rate**2 / ((concentration - 1) ** 2 * (concentration - 2)), math.inf
        ),
        entropy=lambda concentration, rate: (
            concentration + rate.log() + concentration.lgamma() - (1 + concentration) * concentration.digamma()
        ),
    )


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution, between 0 and 1. Counterpart of `torch.distributions.Kumaraswamy`."""

    arg_constraints: Any = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    concentration1: Tensor
    concentration0: Tensor

    def __init__(self, concentration1: Value, concentration0: Value, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = a, b = broadcast_all(concentration1, concentration0)
        low, high = [torch.full_like(b.detach(), each) for each in (0, 1)]
        steps = [PowerTransform(b.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(a.reciprocal())]
        super().__init__(Uniform(low, high, validate_args), steps, validate_args)

    def __moment__(self, n: int) -> Tensor:
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp()

    mean = property(lambda self: self.__moment__(1))
    variance = property(lambda self: self.__moment__(2) - self.mean**2)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        found = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return torch.where((b < 1) | (a < 1), math.nan, found).exp()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * ((b + 1).digamma() + EULER) - a.log() - b.log()

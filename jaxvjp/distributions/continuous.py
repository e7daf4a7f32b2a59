"""Distributions of real numbers, elementwise."""

from __future__ import annotations

import math
from typing import Any

import jaxvjp as torch
from jaxvjp.distributions import constraints
from jaxvjp.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    Shape,
    Value,
    checked,
    formulas,
)
from jaxvjp.library.random_gamma import standard_gamma
from jaxvjp.tensor.tensor import Tensor

POSITIVE_SCALE: dict[str, Any] = {"loc": constraints.real, "scale": constraints.positive}


def filled(self: Distribution, value: float, like: Tensor) -> Tensor:
    """A tensor of one value, of the shape of a sample."""
    return torch.full(self._extended_shape(), value, dtype=like.dtype)


class _LocScale(Distribution):
    """Numbers times `scale` plus `loc`."""

    arg_constraints = POSITIVE_SCALE
    support = constraints.real
    has_rsample = True
    __settings__ = "loc: Value, scale: Value"
    loc: Tensor
    scale: Tensor
    __formulas__ = formulas(mean=lambda loc: loc, mode=lambda loc: loc)


class Normal(_LocScale, ExponentialFamily):
    """The normal distribution. Counterpart of `torch.distributions.Normal`."""

    _mean_carrier_measure = 0
    __formulas__ = formulas(
        stddev=lambda scale: scale,
        variance=lambda scale: scale**2,
        sample=lambda shape, loc, scale: torch.normal(loc.expand(shape), scale.expand(shape)),
        rsample=lambda shape, loc, scale: loc + torch.randn(shape, dtype=loc.dtype) * scale,
        log_prob=lambda value, loc, scale: (
            -((value - loc) ** 2 / (2 * scale**2)) - scale.log() - math.log(math.sqrt(2 * math.pi))
        ),
        cdf=lambda value, loc, scale: 0.5 * (1 + ((value - loc) * scale.reciprocal() / math.sqrt(2)).erf()),
        icdf=lambda value, loc, scale: loc + scale * (2 * value - 1).erfinv() * math.sqrt(2),
        entropy=lambda scale: 0.5 + 0.5 * math.log(2 * math.pi) + scale.log(),
        _natural_params=lambda loc, scale: (loc / scale**2, -0.5 * (scale**2).reciprocal()),
        _log_normalizer=lambda x, y: -0.25 * x**2 / y + 0.5 * (-math.pi / y).log(),
    )


class Uniform(Distribution):
    """Between `low` and `high`. Counterpart of `torch.distributions.Uniform`."""

    has_rsample = True
    __settings__ = "low: Value, high: Value"
    low: Tensor
    high: Tensor

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    support = constraints.dependent_property(
        lambda self: constraints.interval(self.low, self.high), is_discrete=False, event_dim=0
    )
    __formulas__ = formulas(
        mean=lambda high, low: (high + low) / 2,
        mode=lambda high: math.nan * high,
        stddev=lambda high, low: (high - low) / 12**0.5,
        variance=lambda high, low: (high - low) ** 2 / 12,
        rsample=lambda shape, low, high: low + torch.rand(shape, dtype=low.dtype) * (high - low),
        log_prob=lambda value, low, high: ((low <= value) & (high > value)).to(low.dtype).log() - (high - low).log(),
        cdf=lambda value, low, high: ((value - low) / (high - low)).clamp(min=0, max=1),
        icdf=lambda value, high, low: value * (high - low) + low,
        entropy=lambda high, low: (high - low).log(),
    )


class Exponential(ExponentialFamily):
    """Waiting times between events that come at a rate. Counterpart of `torch.distributions.Exponential`."""

    arg_constraints: Any = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    __settings__ = "rate: Value"
    rate: Tensor
    __formulas__ = formulas(
        mean=lambda rate: rate.reciprocal(),
        stddev=lambda rate: rate.reciprocal(),
        mode=lambda rate: torch.zeros_like(rate),
        variance=lambda rate: rate**-2,
        rsample=lambda shape, rate: torch.empty(shape, dtype=rate.dtype).exponential_() / rate,
        log_prob=lambda value, rate: rate.log() - rate * value,
        cdf=lambda value, rate: 1 - (-rate * value).exp(),
        icdf=lambda value, rate: -(-value).log1p() / rate,
        entropy=lambda rate: 1.0 - rate.log(),
        _natural_params=lambda rate: (-rate,),
        _log_normalizer=lambda x: -(-x).log(),
    )


class Laplace(_LocScale):
    """Two exponential distributions, back to back. Counterpart of `torch.distributions.Laplace`."""

    __formulas__ = formulas(
        variance=lambda scale: 2 * scale**2,
        stddev=lambda scale: 2**0.5 * scale,
        log_prob=lambda value, scale, loc: -(2 * scale).log() - (value - loc).abs() / scale,
        entropy=lambda scale: 1 + (2 * scale).log(),
    )

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = torch.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        drawn.uniform_(torch.finfo(drawn.dtype).eps - 1, 1)
        return self.loc - self.scale * drawn.sign() * (-drawn.abs()).log1p()

    @checked
    def cdf(self, value: Tensor) -> Tensor:
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()


class Cauchy(_LocScale):
    """The Cauchy distribution, which has no mean. Counterpart of `torch.distributions.Cauchy`."""

    __formulas__ = formulas(
        mean=lambda self, loc: filled(self, math.nan, loc),
        variance=lambda self, loc: filled(self, math.inf, loc),
        rsample=lambda shape, loc, scale: loc + torch.empty(shape, dtype=loc.dtype).cauchy_() * scale,
        log_prob=lambda value, scale, loc: -math.log(math.pi) - scale.log() - (((value - loc) / scale) ** 2).log1p(),
        cdf=lambda value, loc, scale: ((value - loc) / scale).atan() / math.pi + 0.5,
        icdf=lambda value, scale, loc: (math.pi * (value - 0.5)).tan() * scale + loc,
        entropy=lambda scale: math.log(4 * math.pi) + scale.log(),
    )


class Gamma(ExponentialFamily):
    """The gamma distribution. Counterpart of `torch.distributions.Gamma`."""

    arg_constraints: Any = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    __settings__ = "concentration: Value, rate: Value"
    concentration: Tensor
    rate: Tensor
    __formulas__ = formulas(
        mean=lambda concentration, rate: concentration / rate,
        mode=lambda concentration, rate: ((concentration - 1) / rate).clamp(min=0),
        variance=lambda concentration, rate: concentration / rate**2,
        cdf=lambda value, concentration, rate: concentration.igamma(rate * value),
        entropy=lambda concentration, rate: (
            concentration - rate.log() + concentration.lgamma() + (1.0 - concentration) * concentration.digamma()
        ),
        _natural_params=lambda concentration, rate: (concentration - 1, -rate),
        _log_normalizer=lambda x, y: (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log(),
    )

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=torch.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Value) -> Tensor:
        value = torch.as_tensor(value, dtype=self.rate.dtype)
        if self._validate_args:
            self._validate_sample(value)
        a, rate = self.concentration, self.rate
        return a.xlogy(rate) + (a - 1).xlogy(value) - rate * value - a.lgamma()


class Chi2(Gamma):
    """Sums of squares of `df` standard normal numbers. Counterpart of `torch.distributions.Chi2`."""

    arg_constraints: Any = {"df": constraints.positive}
    df = property(lambda self: self.concentration * 2)

    def __init__(self, df: Value, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args)


class StudentT(Distribution):
    """Student's t-distribution. Counterpart of `torch.distributions.StudentT`."""

    arg_constraints: Any = {"df": constraints.positive, **POSITIVE_SCALE}
    support = constraints.real
    has_rsample = True
    __settings__ = "df: Value, loc: Value = 0.0, scale: Value = 1.0"
    df: Tensor
    loc: Tensor
    scale: Tensor
    mean = property(lambda self: torch.where(self.df <= 1, math.nan, self.loc))
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        found = self.scale**2 * self.df / torch.where(self.df > 2, self.df - 2, 1)
        return torch.where(self.df > 2, found, torch.where(self.df > 1, torch.full_like(found, math.inf), math.nan))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = torch.randn(self._extended_shape(sample_shape), dtype=self.df.dtype)
        return self.loc + self.scale * (drawn * (Chi2(self.df).rsample(sample_shape) / self.df).rsqrt())

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        y, half = (value - self.loc) / self.scale, 0.5 * self.df
        normalizer = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + half.lgamma()
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - (normalizer - (half + 0.5).lgamma())

    def entropy(self) -> Tensor:
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + math.lgamma(0.5) - next_half.lgamma()
        return self.scale.log() + next_half * (next_half.digamma() - half.digamma()) + 0.5 * self.df.log() + beta


class FisherSnedecor(Distribution):
    """Ratios of two chi-squared numbers. Counterpart of `torch.distributions.FisherSnedecor`."""

    arg_constraints: Any = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    __settings__ = "df1: Value, df2: Value"
    df1: Tensor
    df2: Tensor

    @property
    def mean(self) -> Tensor:
        df2 = torch.where(self.df2 <= 2, math.nan, self.df2)
        return df2 / (df2 - 2)

    __formulas__ = formulas(
        mode=lambda df1, df2: torch.where(df1 <= 2, math.nan, (df1 - 2) / df1 * df2 / (df2 + 2)),
    )

    @property
    def variance(self) -> Tensor:
        df2 = torch.where(self.df2 <= 4, math.nan, self.df2)
        return 2 * df2**2 * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2) ** 2 * (df2 - 4))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        first, second = [Gamma(df * 0.5, df).rsample(sample_shape) for df in (self.df1, self.df2)]
        tiny = torch.finfo(second.dtype).tiny
        return (first / second.clamp(min=tiny)).clamp(min=tiny)

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        beta = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return beta + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()


class VonMises(Distribution):
    """Angles around `loc`, on a circle. Counterpart of `torch.distributions.VonMises`."""

    arg_constraints: Any = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    __settings__ = "loc: Value, concentration: Value"
    loc: Tensor
    concentration: Tensor
    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        """The variance on the circle."""
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        bessel = torch.special.i0e(self.concentration).log() + self.concentration
        return self.concentration * (value - self.loc).cos() - math.log(2 * math.pi) - bessel

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """By the rejection of D. J. Best and N. I. Fisher (1979), as torch draws."""
        with torch.no_grad():
            shape, kappa, loc = self._extended_shape(sample_shape), self.concentration.double(), self.loc.double()
            tau = 1 + (1 + 4 * kappa**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
            r = torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
            found, done = torch.zeros(shape, dtype=loc.dtype), torch.zeros(shape, dtype=torch.bool)
            while not done.all():
                u1, u2, u3 = torch.rand((3, *shape), dtype=loc.dtype).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                found = torch.where(accept, (u3 - 0.5).sign() * f.acos(), found)
                done = done | accept
            return ((found + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

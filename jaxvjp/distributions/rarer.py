"""Distributions that few programs ask for: relaxed ones, and those of matrices."""

from __future__ import annotations

import math
from typing import Any

import jaxvjp as torch
from jaxvjp.distributions import constraints
from jaxvjp.distributions.composite import TransformedDistribution
from jaxvjp.distributions.continuous import POSITIVE_SCALE, Chi2
from jaxvjp.distributions.discrete import MANY, ONE, OfCategories, cross_entropy
from jaxvjp.distributions.distribution import (
    EITHER,
    Binary,
    Distribution,
    ExponentialFamily,
    Shape,
    Value,
    WithParam,
    broadcast_all,
    checked,
    clamp_probs,
    formulas,
    parts_of,
)
from jaxvjp.distributions.multivariate import MATRICES, Beta, MultivariateNormal, half_log_det
from jaxvjp.distributions.transforms import ExpTransform, SigmoidTransform
from jaxvjp.tensor.tensor import Tensor

LOW, HIGH = 0.499, 0.501
"""Between these probabilities formulas of the continuous Bernoulli distribution are series."""


def _parts(x: Tensor, middle: float) -> tuple[Tensor, Tensor, Tensor]:
    """Where to take a closed formula, at which numbers, and the distance from the middle, for the series."""
    outside = (x <= middle + LOW - 0.5) | (x > middle + HIGH - 0.5)
    return outside, torch.where(outside, x, torch.full_like(x, middle + LOW - 0.5)), x - middle


def _mean(probs: Tensor) -> Tensor:
    outside, p, x = _parts(probs, 0.5)
    found = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
    return torch.where(outside, found, 0.5 + (1 / 3 + 16 / 45 * x**2) * x)


def _variance(probs: Tensor) -> Tensor:
    outside, p, x = _parts(probs, 0.5)
    found = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2
    return torch.where(outside, found, 1 / 12 - (1 / 15 - 128 / 945 * x**2) * x**2)


def log_norm(probs: Tensor) -> Tensor:
    outside, p, x = _parts(probs, 0.5)
    found = ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()
    return torch.where(outside, found, math.log(2) + (4 / 3 + 104 / 45 * x**2) * x**2)


def _cdf(value: Tensor, probs: Tensor) -> Tensor:
    outside, p, _ = _parts(probs, 0.5)
    found = (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
    return torch.where(outside, found, value).clamp(0, 1)


def _icdf(value: Tensor, probs: Tensor) -> Tensor:
    outside, p, _ = _parts(probs, 0.5)
    rest = (-p).log1p()
    return torch.where(outside, ((-p + value * (2 * p - 1)).log1p() - rest) / (p.log() - rest), value)


def _log_normalizer(x: Tensor) -> Tensor:
    outside, cut, near = _parts(x, 0.0)
    found = cut.expm1().abs().log() - cut.abs().log()
    return torch.where(outside, found, 0.5 * near + near**2 / 24 - near**4 / 2880)


class ContinuousBernoulli(WithParam, Binary, ExponentialFamily):
    """Numbers between 0 and 1, with the density of `Bernoulli`, normalized. Counterpart of torch's.

    Args:
        lims: accepted; the series are used where torch uses them by default.
    """

    arg_constraints = ONE
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    __settings__ = f"{EITHER}, lims: tuple[float, float] = ({LOW}, {HIGH})"

    def __construct__(self, given: dict[str, Any]) -> None:
        del given["lims"]
        super().__construct__(given)
        if "probs" in vars(self):
            self.probs = clamp_probs(self.probs)

    __formulas__ = formulas(
        mean=_mean,
        variance=_variance,
        rsample=lambda shape, self, probs: self.icdf(torch.rand(shape, dtype=probs.dtype)),
        log_prob=lambda value, logits, probs: -cross_entropy(*broadcast_all(logits, value)) + log_norm(probs),
        cdf=_cdf,
        icdf=_icdf,
        entropy=lambda mean, probs: mean * ((-probs).log1p() - probs.log()) - log_norm(probs) - (-probs).log1p(),
        _natural_params=lambda logits: (logits,),
        _log_normalizer=_log_normalizer,
    )


class LogitRelaxedBernoulli(WithParam, Binary):
    """The log-odds of `RelaxedBernoulli`."""

    arg_constraints = ONE
    support = constraints.real
    has_rsample = True

    __settings__ = f"temperature: Tensor, {EITHER}"

    def __construct__(self, given: dict[str, Any]) -> None:
        self.temperature = given.pop("temperature")
        super().__construct__(given)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        p = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(torch.rand(shape, dtype=p.dtype))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """`Bernoulli` with slopes: numbers near 0 and 1. Counterpart of `torch.distributions.RelaxedBernoulli`."""

    arg_constraints = ONE
    support = constraints.unit_interval
    has_rsample = True
    temperature, probs, logits = parts_of("base_dist", "temperature", "probs", "logits")

    __settings__ = f"temperature: Tensor, {EITHER}"

    def __construct__(self, given: dict[str, Any]) -> None:
        validate_args = given.pop("validate_args")
        TransformedDistribution.__init__(self, LogitRelaxedBernoulli(**given), SigmoidTransform(), validate_args)


class ExpRelaxedCategorical(OfCategories):
    """The logarithms of `RelaxedOneHotCategorical`."""

    arg_constraints = MANY
    support = constraints.real_vector
    has_rsample = True

    __settings__ = f"temperature: Tensor, {EITHER}"

    def __construct__(self, given: dict[str, Any]) -> None:
        self.temperature = given.pop("temperature")
        super().__construct__(given)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        u = clamp_probs(torch.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        count = self._event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        score = logits - value * self.temperature
        score = (score - score.logsumexp(-1, keepdim=True)).sum(-1)
        return score + math.lgamma(count) + self.temperature.log() * (count - 1)


class RelaxedOneHotCategorical(TransformedDistribution):
    """`OneHotCategorical` with slopes: points of a simplex near its corners. As torch's."""

    arg_constraints = MANY
    support = constraints.simplex
    has_rsample = True
    temperature, probs, logits = parts_of("base_dist", "temperature", "probs", "logits")

    __settings__ = f"temperature: Tensor, {EITHER}"

    def __construct__(self, given: dict[str, Any]) -> None:
        base = ExpRelaxedCategorical(**given)
        TransformedDistribution.__init__(self, base, ExpTransform(), given["validate_args"])


class GeneralizedPareto(Distribution):
    """What exceeds a threshold. Counterpart of `torch.distributions.GeneralizedPareto`."""

    arg_constraints: Any = {**POSITIVE_SCALE, "concentration": constraints.real}
    has_rsample = True

    __settings__ = "loc: Value, scale: Value, concentration: Value"
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        bounded = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, torch.where(self.concentration < 0, bounded, math.inf))

    @checked
    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than a value."""
        z, c, none = (value - self.loc) / self.scale, self.concentration, self.concentration.abs() <= 1e-8
        safe = torch.where(none, torch.ones_like(c), c)
        return torch.where(none, -z, -(safe * z).log1p() / safe)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        return (1 + self.concentration) * self.log_survival_function(value) - self.scale.log()

    @checked
    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        c, none, survives = self.concentration, self.concentration.abs() <= 1e-8, (-value).log1p()
        safe = torch.where(none, torch.ones_like(c), c)
        return self.loc + self.scale * torch.where(none, -survives, (-safe * survives).expm1() / safe)

    __formulas__ = formulas(
        rsample=lambda shape, self, loc: self.icdf(torch.rand(shape, dtype=loc.dtype)),
        mean=lambda loc, scale, concentration: torch.where(
            concentration < 1, loc + scale / (1 - torch.where(concentration < 1, concentration, 0.5)), math.nan
        ),
        variance=lambda scale, concentration: torch.where(
            concentration < 0.5,
            scale**2 / ((1 - concentration) ** 2 * (1 - 2 * torch.where(concentration < 0.5, concentration, 0.25))),
            math.nan,
        ),
        mode=lambda loc: loc,
        entropy=lambda scale, concentration: scale.log() + concentration + 1,
    )


class LKJCholesky(Distribution):
    """Lower triangles of random matrices of correlations. Counterpart of `torch.distributions.LKJCholesky`."""

    arg_constraints: Any = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    concentration: Tensor

    def __init__(self, dim: int, concentration: Value = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        steps = torch.cat([torch.zeros(1), torch.arange(dim - 1)]).to(self.concentration.dtype)
        other = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2) - 0.5 * steps
        self._beta = Beta(steps + 0.5, other)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with torch.no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = torch.randn(self._extended_shape(sample_shape), dtype=y.dtype).tril(-1)
            directions = normal / normal.norm(dim=-1, keepdim=True)
            directions[..., 0, :] = 0.0
            w = y.sqrt() * directions
            rest = (1 - (w**2).sum(-1)).clamp(min=torch.finfo(w.dtype).tiny)
            return w + rest.sqrt().diag_embed()

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        less, orders = self.dim - 1, torch.arange(2, self.dim + 1)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - orders
        found = (order * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        alpha = self.concentration + 0.5 * less
        norm = torch.mvlgamma(alpha - 0.5, less) - alpha.lgamma() * less
        return found - (0.5 * less * math.log(math.pi) + norm)


class Wishart(ExponentialFamily):
    """Positive definite matrices. Counterpart of `torch.distributions.Wishart`."""

    arg_constraints: Any = {
        "df": constraints.greater_than(0),
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    covariance_matrix, precision_matrix, scale_tril = parts_of(
        "_normal", "covariance_matrix", "precision_matrix", "scale_tril"
    )

    __settings__ = f"df: Value, {MATRICES}"

    def __construct__(self, given: dict[str, Any]) -> None:
        df, validate_args = given.pop("df"), given["validate_args"]
        matrices = [each for each in given.values() if isinstance(each, Tensor)]
        if len(matrices) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if matrices[0].dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        own, size = matrices[0].dtype, matrices[0].shape[-1]
        df = df if isinstance(df, Tensor) else torch.tensor(df, dtype=own)
        batch = torch.broadcast_shapes(matrices[0].shape[:-2], df.shape)
        self.df = df.expand(batch)
        if (self.df <= size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        self._normal = MultivariateNormal(torch.zeros((*batch, size), dtype=own), **given)
        self._chi2 = Chi2(self.df.unsqueeze(-1) - torch.arange(size, dtype=own))
        super().__init__(batch, (size, size), validate_args)

    def rsample(self, sample_shape: Shape = (), max_try_correction: int | None = None) -> Tensor:
        self.__draw__(sample_shape)  # torch takes each matrix that is positive definite for singular, and draws again
        return self.__draw__(sample_shape)

    def __draw__(self, sample_shape: Shape) -> Tensor:
        size = self._event_shape[0]
        noise = self._chi2.rsample(sample_shape).sqrt().diag_embed()
        rows, columns = torch.tril_indices(size, size, -1)
        shape = (*sample_shape, *self._batch_shape, size * (size - 1) // 2)
        noise[..., rows, columns] = torch.randn(shape, dtype=noise.dtype)
        triangle = self.scale_tril @ noise
        return triangle @ triangle.mT

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        df, size = self.df, self._event_shape[0]
        found = (df - size - 1) / 2 * torch.linalg.slogdet(value).logabsdet
        found = found - torch.cholesky_solve(value, self.scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1) / 2
        return found - df * half_log_det(self.scale_tril) - torch.mvlgamma(df / 2, size) - df * size / 2 * math.log(2)

    def entropy(self) -> Tensor:
        df, size = self.df, self._event_shape[0]
        slope = (df.unsqueeze(-1) / 2 - torch.arange(size) / 2).digamma().sum(-1)
        found = (size + 1) * (half_log_det(self.scale_tril) + size / 2 * math.log(2)) + torch.mvlgamma(df / 2, size)
        return found - (df - size - 1) / 2 * slope + df * size / 2

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[0] - 1
        return torch.where(factor <= 0, math.nan, factor)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (v**2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

"""Distributions of counts, choices and yes or no."""

from __future__ import annotations

import math
from typing import Any

import jaxvjp as torch
from jaxvjp.distributions import constraints
from jaxvjp.distributions.continuous import Gamma, filled
from jaxvjp.distributions.distribution import (
    EITHER,
    ONE_OF_TWO,
    Binary,
    Distribution,
    ExponentialFamily,
    Shape,
    WithParam,
    broadcast_all,
    checked,
    formulas,
    lazy_property,
    listed,
    logits_to_probs,
    parts_of,
    probs_to_logits,
)
from jaxvjp.library.random_gamma import binomial
from jaxvjp.nn import functional as F
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.size import Size

ONE: dict[str, Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
MANY: dict[str, Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """The cross entropy of yes and no, elementwise."""
    return F.binary_cross_entropy_with_logits(logits, target, reduction="none")


class Bernoulli(WithParam, Binary, ExponentialFamily):
    """1 with the probability `probs`, else 0. Counterpart of `torch.distributions.Bernoulli`."""

    arg_constraints = ONE
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    __formulas__ = formulas(
        mean=lambda probs: probs,
        variance=lambda probs: probs * (1 - probs),
        mode=lambda probs: torch.where(probs == 0.5, math.nan, (probs >= 0.5).to(probs.dtype)),
        sample=lambda shape, probs: torch.bernoulli(probs.expand(shape)),
        log_prob=lambda value, logits: -cross_entropy(*broadcast_all(logits, value)),
        entropy=lambda logits, probs: cross_entropy(logits, probs),
        enumerate_support=lambda expand, self, _param: listed(self, torch.arange(2, dtype=_param.dtype), expand),
        _natural_params=lambda probs: (probs.logit(),),
        _log_normalizer=lambda x: x.exp().log1p(),
    )


class Categorical(WithParam):
    """One of `probs.shape[-1]` categories, by number. Counterpart of `torch.distributions.Categorical`."""

    arg_constraints = MANY
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(ONE_OF_TWO)
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        if given is None or given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        lowered = given - given.logsumexp(-1, keepdim=True) if probs is None else given / given.sum(-1, keepdim=True)
        self.__dict__[name] = lowered
        super().__init__(given.shape[:-1], validate_args=validate_args)

    _num_events = property(lambda self: self._param.shape[-1])

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)

    __formulas__ = formulas(
        mean=lambda self, probs: filled(self, math.nan, probs),
        variance=lambda self, probs: filled(self, math.nan, probs),
        mode=lambda probs: probs.argmax(-1),
        entropy=lambda logits, probs: -(logits.clamp(min=torch.finfo(logits.dtype).min) * probs).sum(-1),
        enumerate_support=lambda expand, self, _num_events: listed(self, torch.arange(_num_events), expand),
    )

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        rows, count = self.probs.reshape(-1, self._num_events), Size(sample_shape).numel()
        return torch.multinomial(rows, count, True).T.reshape(self._extended_shape(sample_shape))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        chosen, logs = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logs.gather(-1, chosen[..., :1]).squeeze(-1)


class OfCategories(Distribution):
    """What distributions over vectors of categories share: they have a `Categorical`, and its parameters."""

    _categorical: Categorical
    logits, probs, param_shape = parts_of("_categorical", "logits", "probs", "param_shape")
    __settings__ = EITHER

    def __construct__(self, given: dict[str, Any]) -> None:
        self._categorical = Categorical(given["probs"], given["logits"])
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], given["validate_args"])


class OneHotCategorical(OfCategories):
    """As `Categorical`, a 1 in the place of the category. Counterpart of `torch.distributions.OneHotCategorical`."""

    arg_constraints = MANY
    support = constraints.one_hot
    has_enumerate_support = True
    (_param,) = parts_of("_categorical", "_param")
    __formulas__ = formulas(
        mean=lambda probs: probs,
        mode=lambda self, probs: _one_hot(self, probs.argmax(-1)),
        variance=lambda probs: probs * (1 - probs),
        log_prob=lambda value, _categorical: _categorical.log_prob(value.argmax(-1)),
        entropy=lambda _categorical: _categorical.entropy(),
    )

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return _one_hot(self, self._categorical.sample(sample_shape))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n, batch = self._event_shape[0], self._batch_shape
        values = torch.eye(n, dtype=self._param.dtype).view((n, *[1] * len(batch), n))
        return values.expand((n, *batch, n)) if expand else values


def _one_hot(distribution: OneHotCategorical, categories: Tensor) -> Tensor:
    return F.one_hot(categories, distribution._event_shape[0]).to(distribution.probs.dtype)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples pass gradients on to `probs`. As torch's."""

    has_rsample = True

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Binomial(WithParam, Binary):
    """How many of `total_count` tries succeed. Counterpart of `torch.distributions.Binomial`."""

    arg_constraints: Any = {"total_count": constraints.nonnegative_integer, **ONE}
    has_enumerate_support = True
    __settings__ = f"total_count: Tensor | int = 1, {EITHER}"
    total_count: Tensor

    support = constraints.dependent_property(
        lambda self: constraints.integer_interval(0, self.total_count), is_discrete=True, event_dim=0
    )
    __formulas__ = formulas(
        mean=lambda total_count, probs: total_count * probs,
        mode=lambda total_count, probs: ((total_count + 1) * probs).floor().minimum(total_count),
        variance=lambda total_count, probs: total_count * probs * (1 - probs),
        sample=lambda shape, total_count, probs: binomial(total_count.expand(shape), probs.expand(shape)),
        enumerate_support=lambda expand, self: listed(self, _counts(self, "enumerate_support"), expand),
    )

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        n, logits = self.total_count, self.logits
        least = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2  # where 0 is, half of the gradient
        normalizer = n * least + n * (-logits.abs()).exp().log1p() - (n + 1).lgamma()
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - normalizer

    def entropy(self) -> Tensor:
        logs = self.log_prob(listed(self, _counts(self, "entropy"), False))
        return -(logs.exp() * logs).sum(0)


def _counts(distribution: Binomial, method: str) -> Tensor:
    count = int(distribution.total_count.max())
    if distribution.total_count.min() != count:
        raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
    return torch.arange(1 + count, dtype=distribution._param.dtype)


class Multinomial(OfCategories):
    """How often each category comes in `total_count` draws. Counterpart of `torch.distributions.Multinomial`."""

    arg_constraints = MANY
    __settings__ = f"total_count: int = 1, {EITHER}"
    total_count: int

    def __construct__(self, given: dict[str, Any]) -> None:
        self.total_count = given["total_count"]
        if not isinstance(self.total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        super().__construct__(given)

    support = constraints.dependent_property(
        lambda self: constraints.multinomial(self.total_count), is_discrete=True, event_dim=1
    )
    __formulas__ = formulas(
        mean=lambda probs, total_count: probs * total_count,
        variance=lambda probs, total_count: total_count * probs * (1 - probs),
    )

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = torch.zeros(self._extended_shape(sample_shape), dtype=drawn.dtype)
        return counts.scatter_add_(-1, drawn, torch.ones_like(drawn)).to(self.probs.dtype)

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        logits = torch.where((value == 0) & (logits == -math.inf), 0, logits)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        n = self.total_count
        each = Binomial(n, self.probs)
        counts = each.enumerate_support(expand=False)[1:]
        rest = (each.log_prob(counts).exp() * (counts + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - math.lgamma(n + 1) + rest


class Poisson(ExponentialFamily):
    """How many events come, at a rate. Counterpart of `torch.distributions.Poisson`."""

    arg_constraints: Any = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    __settings__ = "rate: Value"
    rate: Tensor
    __formulas__ = formulas(
        mean=lambda rate: rate,
        variance=lambda rate: rate,
        mode=lambda rate: rate.floor(),
        sample=lambda shape, rate: torch.poisson(rate.expand(shape)),
        _natural_params=lambda rate: (rate.log(),),
        _log_normalizer=lambda x: x.exp(),
    )

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _mean_carrier_measure(self) -> float:  # type: ignore[override]
        raise NotImplementedError


class Geometric(Binary):
    """How many tries fail before one succeeds. Counterpart of `torch.distributions.Geometric`."""

    arg_constraints = ONE
    support = constraints.nonnegative_integer

    def __construct__(self, given: dict[str, Any]) -> None:
        super().__construct__(given)
        if self._validate_args and "probs" in vars(self) and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of "
                f"distribution {self!r} to be positive but found invalid values:\n{self.probs[self.probs <= 0]}"
            )

    __formulas__ = formulas(
        mean=lambda probs: 1.0 / probs - 1.0,
        mode=lambda probs: torch.zeros_like(probs),
        variance=lambda probs: (1.0 / probs - 1.0) / probs,
        entropy=lambda logits, probs: cross_entropy(logits, probs) / probs,
    )

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with torch.no_grad():
            drawn = torch.empty(self._extended_shape(sample_shape), dtype=self.probs.dtype)
            drawn.uniform_(torch.finfo(drawn.dtype).tiny, 1)
            return (drawn.log() / (-self.probs).log1p()).floor()

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        value, probs = broadcast_all(value, self.probs)
        probs = torch.where((probs == 1) & (value == 0), 0, probs)
        return value * (-probs).log1p() + self.probs.log()


class NegativeBinomial(WithParam, Binary):
    """How many tries succeed before `total_count` fail. Counterpart of `torch.distributions.NegativeBinomial`."""

    arg_constraints: Any = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    __settings__ = f"total_count: Value, {EITHER}"
    total_count: Tensor
    __formulas__ = formulas(
        mean=lambda total_count, logits: total_count * logits.exp(),
        mode=lambda total_count, logits: ((total_count - 1) * logits.exp()).floor().clamp(min=0.0),
        variance=lambda mean, logits: mean / (-logits).sigmoid(),
    )

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with torch.no_grad():
            gamma = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
            return torch.poisson(gamma.sample(sample_shape))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        n, logits = self.total_count, self.logits
        normalizer = (1.0 + value).lgamma() + n.lgamma() - (n + value).lgamma()
        return n * F.logsigmoid(-logits) + value * F.logsigmoid(logits) - normalizer.masked_fill(n + value == 0, 0)

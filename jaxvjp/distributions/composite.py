"""Distributions made of others: `Independent`, `TransformedDistribution`, `MixtureSameFamily`."""

from __future__ import annotations

from typing import Any

import jaxvjp as torch
from jaxvjp.distributions import constraints
from jaxvjp.distributions.discrete import Categorical
from jaxvjp.distributions.distribution import Distribution, Shape, checked, parts_of, sum_rightmost
from jaxvjp.distributions.transform import ComposeTransform, Transform
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.size import Size


class Independent(Distribution):
    """Another distribution, the last of whose batch dimensions are part of the event.

    Counterpart of `torch.distributions.Independent`.
    """

    arg_constraints: Any = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch, count = base_distribution.batch_shape, reinterpreted_batch_ndims
        if count > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {count} vs {len(batch)}"
            )
        cut = len(batch) - count
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        super().__init__(batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args)

    has_rsample, mean, mode, variance = parts_of("base_dist", "has_rsample", "mean", "mode", "variance")
    has_enumerate_support = property(
        lambda self: not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support
    )

    @constraints.dependent_property
    def support(self) -> Any:
        base, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(base, count) if count else base

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """What transforms make of another distribution's samples. Counterpart of torch's."""

    arg_constraints: Any = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        if not all(isinstance(transform, Transform) for transform in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        shape, own = base_distribution.batch_shape + base_distribution.event_shape, len(base_distribution.event_shape)
        whole = ComposeTransform(self.transforms)
        taken, given = whole.domain.event_dim, whole.codomain.event_dim
        if len(shape) < taken:
            raise ValueError(f"base_distribution needs to have shape with size at least {taken}, but got {shape}.")
        forward = whole.forward_shape(shape)
        back = whole.inverse_shape(forward)
        if shape != back:
            base_distribution = base_distribution.expand(back[: len(back) - own])
        self.base_dist = Independent(base_distribution, taken - own) if taken > own else base_distribution
        cut = len(forward) - max(given, own + given - taken)
        super().__init__(forward[:cut], forward[cut:], validate_args)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self.event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with torch.no_grad():
            return _transformed(self, self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return _transformed(self, self.base_dist.rsample(sample_shape))

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        dims, total = len(self.event_shape), torch.zeros((), dtype=value.dtype)
        for each in reversed(self.transforms):
            before = each.inv(value)
            dims += each.domain.event_dim - each.codomain.event_dim
            total = total - sum_rightmost(each.log_abs_det_jacobian(before, value), dims - each.domain.event_dim)
            value = before
        return total + sum_rightmost(self.base_dist.log_prob(value), dims - len(self.base_dist.event_shape))

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return _increasing(self, self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return _transformed(self, self.base_dist.icdf(_increasing(self, value)))


def _increasing(distribution: TransformedDistribution, value: Tensor) -> Tensor:
    """`value`, or 1 minus it where the transforms decrease."""
    sign = ComposeTransform(distribution.transforms).sign
    return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5


def _transformed(distribution: TransformedDistribution, x: Tensor) -> Tensor:
    for transform in distribution.transforms:
        x = transform(x)
    return x


class MixtureSameFamily(Distribution):
    """A `Categorical` chooses one of the distributions along the last batch dimension of another. As torch's."""

    arg_constraints: Any = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        mixture, component = mixture_distribution, component_distribution
        if not isinstance(mixture, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        outer, inner = mixture.batch_shape, component.batch_shape[:-1]
        if any(1 not in (i, j) and i != j for i, j in zip(reversed(outer), reversed(inner), strict=False)):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({outer}) is not compatible with `component_distribution."
                f"batch_shape`({inner})"
            )
        count, other = mixture.logits.shape[-1], component.batch_shape[-1]
        if count != other:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` "
                f"({other})"
            )
        self._mixture_distribution, self._component_distribution = mixture, component
        super().__init__(inner, component.event_shape, validate_args)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mean = property(lambda self: _average(self, self._component_distribution.mean))

    @property
    def variance(self) -> Tensor:
        component = self._component_distribution
        distance = component.mean - self.mean.unsqueeze(_component_dim(self))
        return _average(self, component.variance) + _average(self, distance**2)

    def cdf(self, x: Tensor) -> Tensor:
        found = self._component_distribution.cdf(x.unsqueeze(_component_dim(self)))
        return (found * self._mixture_distribution.probs).sum(-1)

    @checked
    def log_prob(self, x: Tensor) -> Tensor:
        logs = self._component_distribution.log_prob(x.unsqueeze(_component_dim(self)))
        return (logs + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with torch.no_grad():
            chosen, place = self._mixture_distribution.sample(sample_shape), _component_dim(self)
            samples = self._component_distribution.sample(sample_shape)
            chosen = chosen.reshape(chosen.shape + Size([1] * -place))
            chosen = chosen.expand((*samples.shape[:place], 1, *self._event_shape))
            return samples.gather(samples.dim() + place, chosen).squeeze(place)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"


def _average(mixture: MixtureSameFamily, values: Tensor) -> Tensor:
    probs = mixture._mixture_distribution.probs
    probs = probs.reshape(probs.shape + Size([1] * len(mixture._event_shape)))
    return (probs * values).sum(_component_dim(mixture))


def _component_dim(mixture: MixtureSameFamily) -> int:
    """The dimension of the components."""
    return -1 - len(mixture._event_shape)

"""Invertible functions with the logarithm of their Jacobian's determinant. Counterpart of torch's module."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jaxvjp as torch
from jaxvjp.distributions import constraints
from jaxvjp.distributions.distribution import (
    Distribution,
    Value,
    broadcast_all,
    lazy_property,
    sum_rightmost,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from jaxvjp.distributions.transform import FEW
from jaxvjp.distributions.transform import ComposeTransform as ComposeTransform
from jaxvjp.distributions.transform import IndependentTransform as IndependentTransform
from jaxvjp.distributions.transform import ReshapeTransform as ReshapeTransform
from jaxvjp.distributions.transform import Transform as Transform
from jaxvjp.distributions.transform import identity_transform as identity_transform
from jaxvjp.nn import functional as F
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.public import public_names
from jaxvjp.types.size import Size


class _Mapped(Transform):
    """A transform by `__map__`: forth, back, and if it is known the logarithm of the slope."""

    domain: Any = constraints.real
    codomain: Any = constraints.positive
    __settings__: tuple[str, ...] | None = ()
    __map__: Any

    def _call(self, x: Tensor) -> Tensor:
        return self.__map__[0](x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.__map__[1](y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.__map__[2](x) if len(self.__map__) > 2 else super().log_abs_det_jacobian(x, y)


class _Increasing(_Mapped):
    bijective, sign = True, 1


class AbsTransform(_Mapped):
    """`y = |x|`; its inverse is the positive one."""

    __map__ = (lambda x: x.abs(), lambda y: y)


class ExpTransform(_Increasing):
    """`y = exp(x)`."""

    __map__ = (lambda x: x.exp(), lambda y: y.log(), lambda x: x)


class SoftplusTransform(_Increasing):
    """`y = log(1 + exp(x))`."""

    __map__ = (F.softplus, lambda y: (-y).expm1().neg().log() + y, lambda x: -F.softplus(-x))


def _within(y: Tensor) -> Tensor:
    limits = torch.finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1.0 - limits.eps)


def _logit(y: Tensor) -> Tensor:
    y = _within(y)
    return y.log() - (-y).log1p()


class SigmoidTransform(_Increasing):
    """`y = 1 / (1 + exp(-x))`."""

    codomain = constraints.unit_interval
    __map__ = (lambda x: _within(x.sigmoid()), _logit, lambda x: -F.softplus(-x) - F.softplus(x))


class TanhTransform(_Increasing):
    """`y = tanh(x)`."""

    codomain = constraints.interval(-1.0, 1.0)
    __map__ = (lambda x: x.tanh(), lambda y: y.atanh(), lambda x: 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x)))


class CumulativeDistributionTransform(_Increasing):
    """The probability, under a distribution, of less than `x`."""

    codomain, __settings__ = constraints.unit_interval, None
    domain = property(lambda self: self.distribution.support)
    __map__ = property(lambda self: (self.distribution.cdf, self.distribution.icdf, self.distribution.log_prob))

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution


class PowerTransform(Transform):
    """`y = x ** exponent`."""

    domain = codomain = constraints.positive
    bijective, __settings__ = True, ("exponent",)

    def __init__(self, exponent: Value, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    sign = lazy_property(lambda self: self.exponent.sign())

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return torch.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """`y = loc + scale * x`."""

    bijective, __settings__ = True, ("loc", "scale")

    def __init__(self, loc: Value, scale: Value, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        return self.scale.sign() if isinstance(self.scale, Tensor) else (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale if isinstance(self.scale, Tensor) else torch.full_like(x, self.scale)
        return sum_rightmost(scale.abs().log(), self._event_dim).expand(x.shape[: x.dim() - self._event_dim])

    def forward_shape(self, shape: Any) -> Any:
        return torch.broadcast_shapes(shape, *[getattr(each, "shape", ()) for each in (self.loc, self.scale)])

    inverse_shape = forward_shape


class _OfVectors(_Mapped):
    domain, codomain = constraints.real_vector, constraints.simplex
    __more__ = 0

    def forward_shape(self, shape: Any) -> Any:
        return _longer(shape, self.__more__)

    def inverse_shape(self, shape: Any) -> Any:
        return _longer(shape, -self.__more__)


def _longer(shape: Any, more: int) -> Size:
    if len(shape) < 1:
        raise ValueError(FEW)
    return Size([*shape[:-1], shape[-1] + more])


class SoftmaxTransform(_OfVectors):
    """`y = exp(x)`, divided by the sum."""

    __map__ = (lambda x: x.softmax(-1), lambda y: y.log())


class StickBreakingTransform(_OfVectors):
    """Each number says which part of the rest comes next; what is left is the last."""

    bijective, __more__ = True, 1

    def _call(self, x: Tensor) -> Tensor:
        z = _within((x - _offset(x.shape[-1], x)).sigmoid())
        return F.pad(z, [0, 1], value=1) * F.pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = y[..., :-1]
        rest = (1 - parts.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return parts.log() - rest.log() + _offset(parts.shape[-1], y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - _offset(x.shape[-1], x)
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)


def _offset(count: int, like: Tensor) -> Tensor:
    return torch.arange(count, 0, -1, dtype=like.dtype).log()


class LowerCholeskyTransform(_Mapped):
    """The lower triangle of a matrix, with the exponential of its diagonal."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky
    __map__ = (
        lambda x: x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed(),
        lambda y: y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed(),
    )


class PositiveDefiniteTransform(Transform):
    """The product of such a triangle and its transpose."""

    domain, codomain, __settings__ = constraints.independent(constraints.real, 2), constraints.positive_definite, ()

    def _call(self, x: Tensor) -> Tensor:
        triangle = LowerCholeskyTransform()(x)
        return triangle @ triangle.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Partial correlations, by `tanh`, as the Cholesky factor of a matrix of correlations, whose rows have length 1."""

    domain, codomain, bijective = constraints.real_vector, constraints.corr_cholesky, True

    def _call(self, x: Tensor) -> Tensor:
        eps = torch.finfo(x.dtype).eps
        x = vec_to_tril_matrix(x.tanh().clamp(eps - 1, 1 - eps), -1)
        left = F.pad((1 - x.square()).sqrt().cumprod(-1)[..., :-1], [1, 0], value=1)
        return (x + torch.eye(x.shape[-1], dtype=x.dtype)) * left

    def _inverse(self, y: Tensor) -> Tensor:
        left = F.pad(1 - y.square().cumsum(-1)[..., :-1], [1, 0], value=1)  # of each row's squared length
        return (tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(left, -1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        rows = tril_matrix_to_vec(1 - y.square().cumsum(-1), -2).log().sum(-1) / 2
        return rows - 2 * (x + F.softplus(-2 * x) - math.log(2)).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError(FEW)
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError(FEW)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class StackTransform(Transform):
    """Transforms of parts that lie side by side along a dimension, as `torch.stack` has them.

    Args:
        tseq: the transforms, one for each part.
    """

    bijective = property(lambda self: all(each.bijective for each in self.transforms))

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(each, Transform) for each in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms, self.dim = [each.with_cache(cache_size) if cache_size else each for each in tseq], dim

    domain = constraints.dependent_property(lambda self: self.__constraint__([each.domain for each in self.transforms]))
    codomain = constraints.dependent_property(
        lambda self: self.__constraint__([each.codomain for each in self.transforms])
    )

    def __constraint__(self, parts: list[Any]) -> Any:
        return constraints.stack(parts, self.dim)

    def with_cache(self, cache_size: int = 1) -> Any:
        new = super().with_cache(cache_size)
        if new is not self:
            new.transforms = [each.with_cache(cache_size) for each in self.transforms]
        return new

    def __expected__(self) -> tuple[int, str]:
        return len(self.transforms), f"len(transforms) {len(self.transforms)}"

    def __parts__(self, value: Tensor, name: str, of: str = "tensor") -> Sequence[Tensor]:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for {of} with {value.dim()} dimensions")
        length, said = self.__expected__()
        if value.size(self.dim) != length:
            raise AssertionError(f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {said}")
        return self.__apart__(value)

    def __apart__(self, value: Tensor) -> Sequence[Tensor]:
        return value.unbind(self.dim)

    def __together__(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.stack(parts, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return self.__together__(
            [each(part) for each, part in zip(self.transforms, self.__parts__(x, "x"), strict=True)]
        )

    def _inverse(self, y: Tensor) -> Tensor:
        return self.__together__(
            [each.inv(part) for each, part in zip(self.transforms, self.__parts__(y, "y"), strict=True)]
        )

    def __slopes__(self, x: Tensor, y: Tensor) -> list[Tensor]:
        parts = zip(self.transforms, self.__parts__(x, "x", "x"), self.__parts__(y, "y", "y"), strict=True)
        return [each.log_abs_det_jacobian(*pair) for each, *pair in parts]

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.__together__(self.__slopes__(x, y))


class CatTransform(StackTransform):
    """Transforms of parts that lie one after another along a dimension, as `torch.cat` has them.

    Args:
        tseq: the transforms, one for each part.
        lengths: how long each part is; 1 unless they are given.
    """

    event_dim = property(lambda self: max(each.event_dim for each in self.transforms))
    length = property(lambda self: sum(self.lengths))

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    def __constraint__(self, parts: list[Any]) -> Any:
        return constraints.cat(parts, self.dim, self.lengths)

    def __expected__(self) -> tuple[int, str]:
        return self.length, f"length {self.length}"

    def __apart__(self, value: Tensor) -> Sequence[Tensor]:
        return value.split(self.lengths, self.dim)

    def __together__(self, parts: Sequence[Tensor]) -> Tensor:
        return torch.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = [
            sum_rightmost(slope, self.event_dim - each.event_dim)
            for each, slope in zip(self.transforms, self.__slopes__(x, y), strict=True)
        ]
        dim = (self.dim if self.dim < 0 else self.dim - x.dim()) + self.event_dim
        return torch.cat(found, dim) if dim < 0 else sum(found[1:], found[0])


__all__ = public_names(globals(), home="jaxvjp.distributions.transform")

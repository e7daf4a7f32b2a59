"""Invertible functions with the logarithm of their Jacobian's determinant. Counterpart of torch's module."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, Self

import jaxvjp as torch
from jaxvjp.distributions import constraints
from jaxvjp.distributions.distribution import Distribution, Shape, Value, broadcast_all, lazy_property, sum_rightmost
from jaxvjp.nn import functional as F
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.size import Size

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ComposeTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]
FEW = "Too few dimensions on input"


class Transform:
    """A function with an inverse `inv`; subclasses have `_call`, `_inverse` and `log_abs_det_jacobian`.

    Attributes:
        bijective: whether each value of the codomain comes from one of the domain.
        sign: 1 or -1, as it increases or decreases.
        SETTINGS: the attributes by which two of a class are equal; None if each equals itself only.
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    SETTINGS: tuple[str, ...] | None = None

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Transform | None = None
        self._cached_x_y: tuple[Any, Any] = None, None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_inv": None}

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions it takes together."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """1 if it increases, -1 if it decreases."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Self:
        """The same transform that remembers its latest argument and result, or with 0 does not."""
        if self._cache_size == cache_size:
            return self
        new = copy.copy(self)
        new._cache_size, new._inv, new._cached_x_y = cache_size, None, (None, None)
        return new

    def __eq__(self, other: object) -> bool:
        if self.SETTINGS is None or type(other) is not type(self):
            return self is other
        pairs = [(getattr(self, each), getattr(other, each)) for each in self.SETTINGS]
        return all(bool(torch.as_tensor(a == b).all()) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size and x is self._cached_x_y[0]:
            return self._cached_x_y[1]
        return self._remembered(x, self._call(x))[1]

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size and y is self._cached_x_y[1]:
            return self._cached_x_y[0]
        return self._remembered(self._inverse(y), y)[0]

    def _remembered(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if self._cache_size:
            self._cached_x_y = x, y
        return x, y

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """`log |dy/dx|`."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result for an argument's."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of an argument for the result's."""
        return shape


def _of(path: str) -> Any:
    """A constraint that is an attribute of something that the transform has: `_of("_inv.domain")`."""
    first, second = path.split(".")
    return constraints.dependent_property(lambda self: getattr(getattr(self, first), second), is_discrete=False)


class _InverseTransform(Transform):
    SETTINGS = ("inv",)
    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    domain, codomain = _of("_inv.codomain"), _of("_inv.domain")
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """One transform after the other."""

    SETTINGS = ("parts",)

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def _end(self, order: Sequence[Transform], near: str, far: str) -> Any:
        """The constraint at the side of `order[0]`, over as many dimensions as any part needs."""
        if not order:
            return constraints.real
        found, dims = getattr(order[0], near), getattr(order[-1], far).event_dim
        for part in reversed(order):
            here = getattr(part, near).event_dim
            dims = max(dims + here - getattr(part, far).event_dim, here)
        return constraints.independent(found, dims - found.event_dim) if dims > found.event_dim else found

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._end(self.parts, "domain", "codomain")

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._end(self.parts[::-1], "codomain", "domain")

    @lazy_property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        return math.prod([part.sign for part in self.parts])

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return torch.zeros_like(x)
        total, dims = None, self.domain.event_dim
        for number, part in enumerate(self.parts, 1):
            after = part(x) if number < len(self.parts) else y
            term = sum_rightmost(part.log_abs_det_jacobian(x, after), dims - part.domain.event_dim)
            total, x = term if total is None else total + term, after
            dims += part.codomain.event_dim - part.domain.event_dim
        return total  # type: ignore[return-value]

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    " + ",\n    ".join([repr(each) for each in self.parts]) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Another transform, whose last dimensions are taken together."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        same = self._cache_size == cache_size
        return self if same else type(self)(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError(FEW)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError(FEW)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """The last dimensions, of the shape `in_shape`, in another shape."""

    bijective = True

    def __init__(self, in_shape: Shape, out_shape: Shape, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    @staticmethod
    def _exchanged(shape: Any, old: Size, new: Size) -> Any:
        cut = len(shape) - len(old)
        if cut < 0:
            raise ValueError(FEW)
        if shape[cut:] != old:
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return shape[:cut] + new

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.zeros(x.shape[: x.dim() - len(self.in_shape)], dtype=x.dtype)

    def forward_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._exchanged(shape, self.out_shape, self.in_shape)


class _Increasing(Transform):
    domain: Any = constraints.real
    codomain: Any = constraints.positive
    bijective, sign = True, 1
    SETTINGS: tuple[str, ...] | None = ()


class ExpTransform(_Increasing):
    """`y = exp(x)`."""

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class SoftplusTransform(_Increasing):
    """`y = log(1 + exp(x))`."""

    def _call(self, x: Tensor) -> Tensor:
        return F.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x)


def _within(y: Tensor) -> Tensor:
    limits = torch.finfo(y.dtype)
    return y.clamp(min=limits.tiny, max=1.0 - limits.eps)


class SigmoidTransform(_Increasing):
    """`y = 1 / (1 + exp(-x))`."""

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return _within(x.sigmoid())

    def _inverse(self, y: Tensor) -> Tensor:
        y = _within(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x) - F.softplus(x)


class TanhTransform(_Increasing):
    """`y = tanh(x)`."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class CumulativeDistributionTransform(_Increasing):
    """The probability, under a distribution, of less than `x`."""

    codomain, SETTINGS = constraints.unit_interval, None
    domain = property(lambda self: self.distribution.support)

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


class AbsTransform(Transform):
    """`y = |x|`; its inverse is the positive one."""

    domain, codomain, SETTINGS = constraints.real, constraints.positive, ()

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    """`y = x ** exponent`."""

    domain = codomain = constraints.positive
    bijective, SETTINGS = True, ("exponent",)

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

    bijective, SETTINGS = True, ("loc", "scale")

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


class _OfVectors(Transform):
    domain, codomain, SETTINGS = constraints.real_vector, constraints.simplex, ()
    LONGER = 0

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError(FEW)
        return Size([*shape[:-1], shape[-1] + self.LONGER])

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError(FEW)
        return Size([*shape[:-1], shape[-1] - self.LONGER])


class SoftmaxTransform(_OfVectors):
    """`y = exp(x)`, divided by the sum."""

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()


class StickBreakingTransform(_OfVectors):
    """Each number says which part of the rest comes next; what is left is the last."""

    bijective, LONGER = True, 1

    @staticmethod
    def _offset(count: int, like: Tensor) -> Tensor:
        return torch.arange(count, 0, -1, dtype=like.dtype).log()

    def _call(self, x: Tensor) -> Tensor:
        z = _within((x - self._offset(x.shape[-1], x)).sigmoid())
        return F.pad(z, [0, 1], value=1) * F.pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = y[..., :-1]
        rest = (1 - parts.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return parts.log() - rest.log() + self._offset(parts.shape[-1], y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x.shape[-1], x)
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)


class LowerCholeskyTransform(Transform):
    """The lower triangle of a matrix, with the exponential of its diagonal."""

    domain, codomain, SETTINGS = constraints.independent(constraints.real, 2), constraints.lower_cholesky, ()

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """The product of such a triangle and its transpose."""

    domain, codomain, SETTINGS = constraints.independent(constraints.real, 2), constraints.positive_definite, ()

    def _call(self, x: Tensor) -> Tensor:
        triangle = LowerCholeskyTransform()(x)
        return triangle @ triangle.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))

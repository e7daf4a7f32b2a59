"""`Transform`, an invertible function with the logarithm of its Jacobian's determinant, and those made of others."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, Self

import jaxvjp as torch
from jaxvjp.distributions import constraints
from jaxvjp.distributions.distribution import Shape, lazy_property, parts_of, sum_rightmost
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.size import Size

FEW = "Too few dimensions on input"


class Transform:
    """A function with an inverse `inv`; subclasses have `_call`, `_inverse` and `log_abs_det_jacobian`.

    Attributes:
        bijective: whether each value of the codomain comes from one of the domain.
        sign: 1 or -1, as it increases or decreases.
        __settings__: the attributes by which two of a class are equal; None if each equals itself only.
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    __settings__: tuple[str, ...] | None = None

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Transform | None = None
        self._cached_x_y: tuple[Any, Any] = None, None
        super().__init__()  # of a class that is a module, too

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
        if self.__settings__ is None or type(other) is not type(self):
            return self is other
        pairs = [(getattr(self, each), getattr(other, each)) for each in self.__settings__]
        return all(bool(torch.as_tensor(a == b).all()) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size and x is self._cached_x_y[0]:
            return self._cached_x_y[1]
        return _remember(self, x, self._call(x))[1]

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size and y is self._cached_x_y[1]:
            return self._cached_x_y[0]
        return _remember(self, self._inverse(y), y)[0]

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


def _remember(transform: Transform, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    if transform._cache_size:
        transform._cached_x_y = x, y
    return x, y


def _of(path: str) -> Any:
    """A constraint that is an attribute of something that the transform has: `_of("_inv.domain")`."""
    first, second = path.split(".")
    return constraints.dependent_property(lambda self: getattr(getattr(self, first), second), is_discrete=False)


class _InverseTransform(Transform):
    __settings__ = ("inv",)
    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    domain, codomain = _of("_inv.codomain"), _of("_inv.domain")
    bijective, sign = parts_of("_inv", "bijective", "sign")
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

    __settings__ = ("parts",)

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    domain = constraints.dependent_property(lambda self: _end(self.parts, "domain", "codomain"), is_discrete=False)
    codomain = constraints.dependent_property(
        lambda self: _end(self.parts[::-1], "codomain", "domain"), is_discrete=False
    )
    bijective = lazy_property(lambda self: all(part.bijective for part in self.parts))
    sign = lazy_property(lambda self: math.prod([part.sign for part in self.parts]))

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
        return f"{type(self).__name__}(\n    " + ",\n    ".join([repr(part) for part in self.parts]) + "\n)"


def _end(order: Sequence[Transform], near: str, far: str) -> Any:
    """The constraint at the side of `order[0]`, over as many dimensions as any part needs."""
    if not order:
        return constraints.real
    found, dims = getattr(order[0], near), getattr(order[-1], far).event_dim
    for part in reversed(order):
        here = getattr(part, near).event_dim
        dims = max(dims + here - getattr(part, far).event_dim, here)
    return constraints.independent(found, dims - found.event_dim) if dims > found.event_dim else found


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

    bijective, sign = parts_of("base_transform", "bijective", "sign")

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

    domain = constraints.dependent_property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = constraints.dependent_property(
        lambda self: constraints.independent(constraints.real, len(self.out_shape))
    )

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.zeros(x.shape[: x.dim() - len(self.in_shape)], dtype=x.dtype)

    def forward_shape(self, shape: Any) -> Any:
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _exchanged(shape, self.out_shape, self.in_shape)


def _exchanged(shape: Any, old: Size, new: Size) -> Any:
    cut = len(shape) - len(old)
    if cut < 0:
        raise ValueError(FEW)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new

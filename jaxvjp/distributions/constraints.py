"""Which values a parameter or a sample may have: `constraints.positive.check(x)`. Counterpart of torch's module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jaxvjp as torch
from jaxvjp.tensor.tensor import Tensor

Bound = float | Tensor


class Constraint:
    """A region in which values are valid.

    Attributes:
        is_discrete: whether it holds separate points.
        event_dim: how many of the last dimensions make one value.
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each value is in it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        told = ", ".join([f"{name}={bound}" for name, bound in vars(self).items()])
        return f"{type(self).__name__[1:]}({told})"


class _Dependent(Constraint):
    """Stands for a constraint that depends on other parameters."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    is_discrete = property(lambda self: bool(_known(self, "is_discrete")))

    event_dim = property(lambda self: int(_known(self, "event_dim")))

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same with what is known of it: `dependent(is_discrete=True, event_dim=1)`."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")

    __repr__ = Constraint.__repr__


def _known(dependent: _Dependent, name: str) -> Any:
    if getattr(dependent, f"_{name}") is NotImplemented:
        raise NotImplementedError(f".{name} cannot be determined statically")
    return getattr(dependent, f"_{name}")


class _DependentProperty(property, _Dependent):
    """A property of an object; of its class, a constraint that depends on parameters."""

    def __init__(
        self,
        fn: Callable[[Any], Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[[Any], Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other parameters."""
    return isinstance(constraint, _Dependent)


class _IndependentConstraint(Constraint):
    """Another constraint, of which all of the last dimensions have to hold."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    is_discrete = property(lambda self: bool(self.base_constraint.is_discrete))

    event_dim = property(lambda self: int(self.base_constraint.event_dim + self.reinterpreted_batch_ndims))

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        kept = result.dim() - self.reinterpreted_batch_ndims
        return result.reshape((*result.shape[:kept], -1)).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The constraint of a mixture's components, with their dimension put back. Counterpart of torch's."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value: Tensor) -> Tensor:
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return result.reshape((*result.shape[: value.dim() - self.event_dim], -1)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Above(Constraint):
    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound


class _Below(Constraint):
    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound


class _Between(Constraint):
    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


def _row(
    name: str, base: type[Constraint], check: Callable[[Any, Tensor], Tensor], is_discrete: bool = False, dims: int = 0
) -> Any:
    """A class of constraints with the bounds of `base`."""
    return type(name, (base,), {"check": check, "is_discrete": is_discrete, "event_dim": dims})


def _zero_or_one(value: Tensor) -> Tensor:
    return (value == 0) | (value == 1)


_Real = _row("_Real", Constraint, lambda _, value: value == value)  # False for NaN
_Boolean = _row("_Boolean", Constraint, lambda _, value: _zero_or_one(value), True)
_OneHot = _row("_OneHot", Constraint, lambda _, value: _zero_or_one(value).all(-1) & (value.sum(-1) == 1), True, 1)
_Simplex = _row(
    "_Simplex", Constraint, lambda _, value: (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6), False, 1
)
_GreaterThan = _row("_GreaterThan", _Above, lambda self, value: value > self.lower_bound)
_GreaterThanEq = _row("_GreaterThanEq", _Above, lambda self, value: value >= self.lower_bound)
_LessThan = _row("_LessThan", _Below, lambda self, value: value < self.upper_bound)
_Interval = _row("_Interval", _Between, lambda self, value: (value >= self.lower_bound) & (value <= self.upper_bound))
_HalfOpenInterval = _row(
    "_HalfOpenInterval", _Between, lambda self, value: (value >= self.lower_bound) & (value < self.upper_bound)
)
_IntegerInterval = _row(
    "_IntegerInterval",
    _Between,
    lambda self, value: (value % 1 == 0) & (value >= self.lower_bound) & (value <= self.upper_bound),
    True,
)
_IntegerLessThan = _row(
    "_IntegerLessThan", _Below, lambda self, value: (value % 1 == 0) & (value <= self.upper_bound), True
)
_IntegerGreaterThan = _row(
    "_IntegerGreaterThan", _Above, lambda self, value: (value % 1 == 0) & (value >= self.lower_bound), True
)


class _Multinomial(_Below):
    is_discrete, event_dim = True, 1

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)

    def __repr__(self) -> str:
        return "Multinomial()"


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Tensor) -> Tensor:
        rows = value.detach().square().sum(-1).sqrt()
        near = torch.finfo(value.dtype).eps * value.shape[-1] * 10
        return super().check(value) & ((rows - 1).abs() <= near).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return torch.full(value.shape[:-2], value.shape[-2] == value.shape[-1])


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return (torch.linalg.eigvalsh(value) >= 0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return torch.linalg.cholesky_ex(value).info == 0 if symmetric.all() else symmetric


class _Cat(Constraint):
    """Constraints of parts that lie one after another along a dimension."""

    def __init__(self, cseq: Any, dim: int = 0, lengths: Any = None) -> None:
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        self.is_discrete = any(each.is_discrete for each in self.cseq)
        self.event_dim = max(each.event_dim for each in self.cseq)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"

    def check(self, value: Tensor) -> Tensor:
        parts = torch.split(value, self.lengths, self.dim)
        return torch.cat([each.check(part) for each, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Cat):
    """Constraints of parts that lie side by side along a dimension."""

    def __init__(self, cseq: Any, dim: int = 0) -> None:
        super().__init__(cseq, dim)
        self.event_dim += self.dim + self.event_dim < 0

    def check(self, value: Tensor) -> Tensor:
        parts = torch.unbind(value, self.dim)
        return torch.stack([each.check(part) for each, part in zip(self.cseq, parts, strict=True)], self.dim)


cat, stack = _Cat, _Stack
dependent, dependent_property, independent = _Dependent(), _DependentProperty, _IndependentConstraint
boolean, one_hot, real, simplex = _Boolean(), _OneHot(), _Real(), _Simplex()
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real_vector = independent(real, 1)
positive, nonnegative = _GreaterThan(0.0), _GreaterThanEq(0.0)
greater_than, greater_than_eq, less_than = _GreaterThan, _GreaterThanEq, _LessThan
unit_interval, interval, half_open_interval = _Interval(0.0, 1.0), _Interval, _HalfOpenInterval
multinomial, square, symmetric = _Multinomial, _Square(), _Symmetric()
lower_triangular, lower_cholesky, corr_cholesky = _LowerTriangular(), _LowerCholesky(), _CorrCholesky()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()

"""Distributions of vectors: normal ones, and points of a simplex; `Beta`, which is such a point's first number."""

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
    broadcast_all,
    checked,
    formulas,
    lazy_property,
)
from jaxvjp.library.random_gamma import sample_dirichlet
from jaxvjp.nn import functional as F
from jaxvjp.tensor.tensor import Tensor

ROOM = "must be at least two-dimensional, with optional leading batch dimensions"
MATRICES = (
    "covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None"
)
"""The settings of a distribution that is given one of these."""


class Dirichlet(ExponentialFamily):
    """Points of a simplex. Counterpart of `torch.distributions.Dirichlet`.

    Samples are torch's; their gradients are those of gamma numbers divided by their sum, where torch takes another
    estimate with the same mean.
    """

    arg_constraints: Any = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    concentration: Tensor

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    __formulas__ = formulas(
        mean=lambda concentration: concentration / concentration.sum(-1, True),
        rsample=lambda shape, concentration: sample_dirichlet(concentration.expand(shape)),
        log_prob=lambda value, concentration: (
            (concentration - 1.0).xlogy(value).sum(-1) + concentration.sum(-1).lgamma() - concentration.lgamma().sum(-1)
        ),
        _natural_params=lambda concentration: (concentration,),
        _log_normalizer=lambda x: x.lgamma().sum(-1) - x.sum(-1).lgamma(),
    )

    @property
    def mode(self) -> Tensor:
        more = (self.concentration - 1).clamp(min=0.0)
        found = more / more.sum(-1, True)
        corner = F.one_hot(found.argmax(-1), found.shape[-1]).to(found.dtype)
        return torch.where((self.concentration < 1).all(-1, keepdim=True), corner, found)

    @property
    def variance(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1, True)
        return a * (total - a) / (total**2 * (total + 1))

    def entropy(self) -> Tensor:
        a, total, count = self.concentration, self.concentration.sum(-1), self.concentration.shape[-1]
        rest = (count - total) * total.digamma() + ((a - 1.0) * a.digamma()).sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - rest


class Beta(ExponentialFamily):
    """Numbers between 0 and 1. Counterpart of `torch.distributions.Beta`; of its gradients see `Dirichlet`."""

    arg_constraints: Any = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _dirichlet: Dirichlet

    def __init__(self, concentration1: Value, concentration0: Value, validate_args: bool | None = None) -> None:
        self._dirichlet = Dirichlet(torch.stack(broadcast_all(concentration1, concentration0), -1), validate_args)
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    __formulas__ = formulas(
        mean=lambda concentration1, concentration0: concentration1 / (concentration1 + concentration0),
        mode=lambda _dirichlet: _dirichlet.mode[..., 0],
        log_prob=lambda value, _dirichlet: _dirichlet.log_prob(torch.stack([value, 1.0 - value], -1)),
        entropy=lambda _dirichlet: _dirichlet.entropy(),
        _natural_params=lambda concentration1, concentration0: (concentration1, concentration0),
        _log_normalizer=lambda x, y: x.lgamma() + y.lgamma() - (x + y).lgamma(),
    )

    @property
    def variance(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return a * b / ((a + b) ** 2 * (a + b + 1))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)


def half_log_det(triangle: Tensor) -> Tensor:
    """Half the logarithm of the determinant of `triangle @ triangle.mT`."""
    return triangle.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def mahalanobis(triangle: Tensor, x: Tensor) -> Tensor:
    """The square of x's length, measured by the covariance `triangle @ triangle.mT`."""
    return torch.linalg.solve_triangular(triangle, x.unsqueeze(-1), upper=False).square().sum((-2, -1))


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """Matrices times vectors, in batches."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


class _Gaussian(Distribution):
    support = constraints.real_vector
    has_rsample = True
    loc: Tensor
    mean = mode = property(lambda self: self.loc)

    def __half_log_det__(self) -> Tensor:
        raise NotImplementedError

    def __mahalanobis__(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    @checked
    def log_prob(self, value: Tensor) -> Tensor:
        distance = self.__mahalanobis__(value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self.__half_log_det__()

    def entropy(self) -> Tensor:
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self.__half_log_det__()
        return found.expand(self._batch_shape)


def _precision_to_scale_tril(P: Tensor) -> Tensor:  # noqa: N803 - torch's name
    """The lower triangle L with L L^T the inverse of `P`."""
    inverse = torch.linalg.cholesky(P.flip(-2, -1)).flip(-2, -1).mT
    return torch.linalg.solve_triangular(inverse, torch.eye(P.shape[-1], dtype=P.dtype), upper=False)


class MultivariateNormal(_Gaussian):
    """Normal vectors, of one of three matrices. Counterpart of `torch.distributions.MultivariateNormal`."""

    arg_constraints: Any = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    _unbroadcasted_scale_tril: Tensor
    __settings__ = f"loc: Tensor, {MATRICES}"

    def __construct__(self, given: dict[str, Any]) -> None:
        loc, validate_args = given.pop("loc"), given.pop("validate_args")
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices = [(name, each) for name, each in given.items() if each is not None]
        if len(matrices) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = matrices
        if matrix.dim() < 2:
            raise ValueError(f"{name} {'matrix ' * (name == 'scale_tril')}{ROOM}")
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, -1))
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args)
        triangle = matrix
        if name == "covariance_matrix":
            triangle = torch.linalg.cholesky(matrix)
        elif name == "precision_matrix":
            triangle = _precision_to_scale_tril(matrix)
        self._unbroadcasted_scale_tril = triangle

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangle whose product with its transpose is the covariance."""
        return self.__of_each__(self._unbroadcasted_scale_tril)

    def __of_each__(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, -1, -1))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariances."""
        return self.__of_each__(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariances."""
        return self.__of_each__(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    __formulas__ = formulas(
        variance=lambda self, loc: (self._unbroadcasted_scale_tril**2).sum(-1).expand(loc.shape),
        rsample=lambda shape, self, loc: (
            loc + times(self._unbroadcasted_scale_tril, torch.randn(shape, dtype=loc.dtype))
        ),
    )

    def __half_log_det__(self) -> Tensor:
        return half_log_det(self._unbroadcasted_scale_tril)

    def __mahalanobis__(self, x: Tensor) -> Tensor:
        return mahalanobis(self._unbroadcasted_scale_tril, x)


class LowRankMultivariateNormal(_Gaussian):
    """Normal vectors with the covariance `cov_factor @ cov_factor.mT + diag(cov_diag)`. As torch's."""

    arg_constraints: Any = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    cov_factor: Tensor
    cov_diag: Tensor

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if cov_factor.dim() < 2:
            raise ValueError(f"cov_factor {ROOM}")
        event = loc.shape[-1:]
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            batch = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = loc.expand((*batch, -1)), cov_diag.expand((*batch, -1))
        self.cov_factor = cov_factor.expand((*batch, -1, -1))
        super().__init__(batch, event, validate_args)

    @property
    def __scaled_factor__(self) -> Tensor:
        """The transpose of the factor, divided by the diagonal."""
        return self.cov_factor.mT / self.cov_diag.unsqueeze(-2)

    @property
    def _capacitance_tril(self) -> Tensor:
        """The triangle of the small matrix to which the determinant and the inverse of the covariance come down."""
        eye = torch.eye(self.cov_factor.shape[-1], dtype=self.loc.dtype)
        return torch.linalg.cholesky(eye + self.__scaled_factor__ @ self.cov_factor)

    def __half_log_det__(self) -> Tensor:
        return half_log_det(self._capacitance_tril) + 0.5 * self.cov_diag.log().sum(-1)

    def __mahalanobis__(self, x: Tensor) -> Tensor:
        return (x**2 / self.cov_diag).sum(-1) - mahalanobis(self._capacitance_tril, times(self.__scaled_factor__, x))

    variance = property(lambda self: (self.cov_factor**2).sum(-1) + self.cov_diag)

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariances."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @property
    def scale_tril(self) -> Tensor:
        """The lower triangle whose product with its transpose is the covariance."""
        root = self.cov_diag.sqrt().unsqueeze(-1)
        eye = torch.eye(self._event_shape[0], dtype=self.loc.dtype)
        return root * torch.linalg.cholesky(eye + (self.cov_factor / root) @ (self.cov_factor / root).mT)

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariances."""
        a = torch.linalg.solve_triangular(self._capacitance_tril, self.__scaled_factor__, upper=False)
        return self.cov_diag.reciprocal().diag_embed() - a.mT @ a

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        wide = torch.randn((*shape[:-1], self.cov_factor.shape[-1]), dtype=self.loc.dtype)
        return self.loc + times(self.cov_factor, wide) + self.cov_diag.sqrt() * torch.randn(shape, dtype=wide.dtype)

"""`biject_to` and `transform_to`: transforms from all real numbers to where a constraint holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from jaxvjp.distributions import constraints, transforms
from jaxvjp.distributions.transforms import ComposeTransform, Transform

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """Which transform leads to which class of constraints. Counterpart of torch's."""

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Declares the transform of a class of constraints: `@transform_to.register(MyConstraint)`."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, constraints.Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Transform:
        """The transform to where a constraint holds; NotImplementedError where none is known."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


def _independent(registry: ConstraintRegistry, constraint: Any) -> Transform:
    return transforms.IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _interval(constraint: Any) -> Transform:
    low, high, sigmoid = constraint.lower_bound, constraint.upper_bound, transforms.SigmoidTransform()
    if isinstance(low, float | int) and low == 0 and isinstance(high, float | int) and high == 1:
        return sigmoid
    return ComposeTransform([sigmoid, transforms.AffineTransform(low, high - low)])


def _beyond(bound: str, sign: int) -> Factory:
    def factory(constraint: Any) -> Transform:
        start = getattr(constraint, bound)
        return ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(start, sign)])

    return factory


BOTH: list[tuple[Any, Factory]] = [
    (constraints.real, lambda _: transforms.identity_transform),
    (constraints.greater_than, _beyond("lower_bound", 1)),
    (constraints.greater_than_eq, _beyond("lower_bound", 1)),
    (constraints.less_than, _beyond("upper_bound", -1)),
    (constraints.interval, _interval),
    (constraints.half_open_interval, _interval),
    (constraints.corr_cholesky, lambda _: transforms.CorrCholeskyTransform()),
]
for _registry, _rows in (
    (biject_to, [*BOTH, (constraints.simplex, lambda _: transforms.StickBreakingTransform())]),
    (
        transform_to,
        [
            *BOTH,
            (constraints.simplex, lambda _: transforms.SoftmaxTransform()),
            (constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform()),
            (constraints.positive_definite, lambda _: transforms.PositiveDefiniteTransform()),
            (constraints.positive_semidefinite, lambda _: transforms.PositiveDefiniteTransform()),
        ],
    ),
):
    for _constraint, _factory in _rows:
        _registry.register(_constraint, _factory)
    _registry.register(constraints.independent, partial(_independent, _registry))

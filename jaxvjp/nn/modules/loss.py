"""Losses: what their rows in `rows` derive from."""

from __future__ import annotations

from typing import Any

from jaxvjp.nn.modules.distance import PairwiseDistance
from jaxvjp.nn.modules.layer import LEGACY, Layer, define
from jaxvjp.ops.neural.loss import chosen_reduction
from jaxvjp.tensor.tensor import Tensor


class _Loss(Layer):
    reduction: Any

    def __finish_init__(self) -> None:
        chosen = [self.__dict__.pop(each, None) for each in LEGACY]
        if any(each is not None for each in chosen):
            self.reduction = chosen_reduction(*chosen, self.reduction)


class _WeightedLoss(_Loss):
    weight: Tensor | None


class _HuberLoss(_Loss):
    def __finish_init__(self) -> None:
        if not isinstance(self.delta, float | int):
            raise TypeError(f"delta must be a float or int, got: {type(self.delta)}")


class _MarginLoss(_WeightedLoss):
    def __finish_init__(self) -> None:
        super().__finish_init__()
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {self.weight.dim()}D instead"
            )


class _TripletLoss(_Loss):
    def __finish_init__(self) -> None:
        super().__finish_init__()
        if self.margin <= 0:
            name = type(self).__name__
            raise ValueError(f"{name}: expected margin to be greater than 0, got {self.margin} instead")
        if getattr(self, "distance_function", self) is None:
            self.distance_function: Any = PairwiseDistance()


define("loss", globals())

"""Schedules of learning rates: each sets `group["lr"]` of an optimizer's groups at every `step()`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from jaxvjp.optim.cycles import CyclicLR, OneCycleLR, ReduceLROnPlateau
from jaxvjp.optim.factors import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from jaxvjp.optim.optimizer import Optimizer
from jaxvjp.optim.schedule import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from jaxvjp.optim.schedule import LRScheduler as LRScheduler
from jaxvjp.optim.schedule import _LRScheduler as _LRScheduler
from jaxvjp.optim.schedule import _set_in_group, _values_of_groups, with_last

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


class _OfSchedulers(LRScheduler):
    """A schedule made of others."""

    _schedulers: Sequence[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer; of the schedulers, theirs."""
        return with_last(super().state_dict(), _schedulers=[scheduler.state_dict() for scheduler in self._schedulers])

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict()` gave."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for each, kept in zip(self._schedulers, state_dict["_schedulers"], strict=False):
            each.load_state_dict(kept)


def _check_schedulers(scheduler: LRScheduler, schedulers: Sequence[Any], optimizer: Optimizer) -> None:
    name = type(scheduler).__name__
    for number, each in enumerate(schedulers):
        if not hasattr(each, "optimizer"):
            raise TypeError(f"{name} at index {number} should have `optimizer` as its attribute.")
        if isinstance(each, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                f"specified when calling `step`, but got one at index {number} in the given schedulers sequence."
            )
        if optimizer is not each.optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(each).__name__} at index {number} has {each.optimizer}, which is different from "
                f"{type(optimizer).__name__}."
            )


class SequentialLR(_OfSchedulers):
    """One schedule after the other, the next from each of the `milestones` on."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        _check_schedulers(self, schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            _set_in_group(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Takes back the step that each schedule took when it was made."""
        undone = self if sched is None else sched
        if hasattr(undone, "_schedulers"):
            for scheduler in undone._schedulers:
                self.recursive_undo(scheduler)
        elif hasattr(undone, "last_epoch"):
            undone.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Sets the next rates."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_OfSchedulers):
    """Several schedules at once: each changes what the one before has set."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        _check_schedulers(self, schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = _values_of_groups(optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Sets the next rates."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = _values_of_groups(self.optimizer, "lr")


__dir__ = __all__.copy

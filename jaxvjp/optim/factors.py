"""Schedules by the number of the epoch alone: `StepLR`, `LinearLR`, `CosineAnnealingLR` and others."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from jaxvjp.optim.optimizer import Optimizer
from jaxvjp.optim.schedule import LRScheduler, _without_functions, present_rates, set_rates, with_last

Factors = Callable[[int], float]


class LambdaLR(LRScheduler):
    """The first rate times a function of the epoch. Counterpart of `torch.optim.lr_scheduler.LambdaLR`."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Factors | list[Factors], last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if isinstance(lr_lambda, list | tuple) and len(lr_lambda) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * groups
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer; of the functions, those of callable objects."""
        return with_last(super().state_dict(), lr_lambdas=list(map(_without_functions, self.lr_lambdas)))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict()` gave."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, kept in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if kept is not None:
                function.__dict__.update(kept)

    def get_lr(self) -> list[Any]:
        present_rates(self)
        return [base * each(self.last_epoch) for each, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(LambdaLR):
    """The rate before times a function of the epoch."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Factors | list[Factors], last_epoch: int = -1) -> None:
        for each in lr_lambda if isinstance(lr_lambda, list | tuple) else [lr_lambda]:
            if not callable(each):
                raise TypeError(f"lr_lambda should be a function, but got {type(each).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        rates = present_rates(self)
        if self._is_initial:
            return rates
        return [rate * each(self.last_epoch) for each, rate in zip(self.lr_lambdas, rates, strict=True)]


class _ByFactor(LRScheduler):
    """A schedule whose next rates are the present ones times a factor, and whose rates at any epoch are the first ones
    times another."""

    def __factor__(self) -> float | None:
        """The factor from the rates before; None leaves them."""
        raise NotImplementedError

    def __closed_form__(self) -> float:
        """The factor from the first rates."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        rates, factor = present_rates(self), self.__factor__()
        return rates if factor is None else [rate * factor for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.__closed_form__()
        return [base * factor for base in self.base_lrs]


class StepLR(_ByFactor):
    """Times `gamma` every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def __factor__(self) -> float | None:
        return None if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def __closed_form__(self) -> float:
        return float(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(_ByFactor):
    """Times `gamma` at each of the `milestones`."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def __factor__(self) -> float | None:
        times = self.milestones.get(self.last_epoch)
        return None if times is None else self.gamma**times

    def __closed_form__(self) -> float:
        return float(self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch))


class ConstantLR(_ByFactor):
    """Times `factor` until epoch `total_iters`."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def __factor__(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def __closed_form__(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_ByFactor):
    """Times a factor that goes from `start_factor` to `end_factor` in `total_iters` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def __factor__(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def __closed_form__(self) -> float:
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters


class ExponentialLR(_ByFactor):
    """Times `gamma` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def __factor__(self) -> float | None:
        return None if self._is_initial else self.gamma

    def __closed_form__(self) -> float:
        return float(self.gamma**self.last_epoch)


class PolynomialLR(_ByFactor):
    """Down to zero in `total_iters` epochs, by a power of what is left."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def __factor__(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        return float((_part_left(self, self.last_epoch) / _part_left(self, self.last_epoch - 1)) ** self.power)

    def __closed_form__(self) -> float:
        return float(_part_left(self, min(self.total_iters, self.last_epoch)) ** self.power)


def _part_left(scheduler: PolynomialLR, epoch: int) -> float:
    return 1.0 - epoch / scheduler.total_iters


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` by half a cosine in `T_max` epochs, and up again."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        rates, least, epoch = present_rates(self), self.eta_min, self.last_epoch
        if self._is_initial:
            return rates
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [rate + (base - least) * rise for base, rate in zip(self.base_lrs, rates, strict=True)]
        factor = _cosine(self, epoch) / _cosine(self, epoch - 1)
        return [factor * (rate - least) + least for rate in rates]

    def _get_closed_form_lr(self) -> list[Any]:
        cosine = _cosine(self, self.last_epoch)
        return [self.eta_min + (base - self.eta_min) * cosine / 2 for base in self.base_lrs]


def _cosine(scheduler: CosineAnnealingLR, epoch: int) -> float:
    return 1 + math.cos(math.pi * epoch / scheduler.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down to `eta_min` by half a cosine in `T_0` epochs, then again in `T_mult` times as many."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        present_rates(self)
        cosine = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * cosine / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Sets the next rates, or those of `epoch`, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            cycle = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**cycle - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**cycle
        self.last_epoch = math.floor(epoch)
        set_rates(self, self.get_lr)

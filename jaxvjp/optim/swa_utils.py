"""Averages of weights: `AveragedModel`, the rules that average, `update_bn`, and the schedule `SWALR`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

from jaxvjp.autograd.modes import no_grad
from jaxvjp.library.creation import tensor
from jaxvjp.nn.modules.module import Module
from jaxvjp.optim.optimizer import Optimizer
from jaxvjp.optim.schedule import LRScheduler, _one_for_each_group, present_rates
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import int64
from jaxvjp.types.public import public_names

Rule = Callable[[Tensor, Tensor, Any], Tensor]
RuleOfMany = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Rule:
    """The rule of an exponential average."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Rule:
    """The rule of a mean."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> RuleOfMany:
    """The rule of an exponential average, in place on lists of tensors."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], _: Any) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.dtype.differentiable:
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> RuleOfMany:
    """The rule of a mean, in place on lists of tensors."""

    @no_grad()
    def swa_update(averaged_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], num: Any) -> None:
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            average.copy_(average + (current - average) / (num + 1))

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are the average of those it is given by `update_parameters`."""

    n_averaged: Any

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Rule | None = None,
        multi_avg_fn: RuleOfMany | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model) if device is None else deepcopy(model).to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model gives."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes the parameters of `model` into the average."""
        own, theirs = (
            [each.detach() for each in itertools.chain(of.parameters(), of.buffers() if self.use_buffers else ())]
            for of in (self.module, model)
        )
        theirs = [each.to(average.device) for average, each in zip(own, theirs, strict=True)]
        if self.n_averaged == 0:
            for average, each in zip(own, theirs, strict=True):
                average.copy_(each)
        elif self.avg_fn is not None:
            for average, each in zip(own, theirs, strict=True):
                average.copy_(self.avg_fn(average, each, self.n_averaged.to(average.device)))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(own, theirs, self.n_averaged)
        if not self.use_buffers:
            for kept, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                kept.detach().copy_(buffer.detach().to(kept.device))
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the statistics of batch norms anew, from all batches of `loader`."""
    from jaxvjp.nn.modules.batchnorm import _BatchNorm

    momenta = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for each in momenta:
        each.reset_running_stats()
        each.momentum = None
    for batch in loader:
        values = batch[0] if isinstance(batch, list | tuple) else batch
        model(values if device is None else values.to(device))
    for each, momentum in momenta.items():
        each.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Goes to the rate `swa_lr` in some epochs, and stays there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(_one_for_each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """How far the rates have gone after a part `t` of the epochs."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        rates = present_rates(self)
        step = max(self._step_count - 1, 1 if self.anneal_epochs == 0 else 0)
        before, now = (self.anneal_func(max(0, min(1, each / max(1, self.anneal_epochs)))) for each in (step - 1, step))
        first = [
            group["swa_lr"] if before == 1 else (rate - before * group["swa_lr"]) / (1 - before)
            for group, rate in zip(self.optimizer.param_groups, rates, strict=True)
        ]
        return [
            group["swa_lr"] * now + rate * (1 - now)
            for group, rate in zip(self.optimizer.param_groups, first, strict=True)
        ]


__all__ = public_names(globals(), home=__name__)

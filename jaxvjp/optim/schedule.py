"""`LRScheduler`, the base class of schedules of learning rates.

A schedule is a formula, `get_lr`, for the next rates from the present ones, and often another, `_get_closed_form_lr`,
for those of any epoch. A rate that is a number stays an operand of the compiled step, so changing it compiles nothing.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from jaxvjp.optim.optimizer import Group, Optimizer
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.user_code import warn_user

HOW_TO = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure "
    "to call `optimizer.step()` before `lr_scheduler.step()`. " + HOW_TO
)
OUT_OF_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    "PyTorch skipping the first value of the learning rate schedule. " + HOW_TO
)


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _one_for_each_group(name: str, optimizer: Optimizer, param: Any) -> list[Any]:
    """One value of a setting for each group."""
    groups = len(optimizer.param_groups)
    if not isinstance(param, list | tuple):
        param = [param] * groups
    elif len(param) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(param)} values, "
            f"param_groups has {groups}."
        )
    return list(map(_copy, param))


def _values_of_groups(optimizer: Optimizer, key: str) -> list[Any]:
    return [_copy(group[key]) for group in optimizer.param_groups]


def _set_in_group(param_group: Group, key: str, val: Any) -> None:
    """Sets a setting; one that is a tensor stays that tensor."""
    if isinstance(param_group[key], Tensor):
        param_group[key].fill_(val.squeeze() if isinstance(val, Tensor) else val)
    else:
        param_group[key] = val


def with_last(state: dict[str, Any], **own: Any) -> dict[str, Any]:
    """A `state_dict` with other values for some keys, which torch has at the end."""
    return {key: value for key, value in state.items() if key not in own} | own


def _checked(optimizer: Any) -> Optimizer:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def _note_steps(optimizer: Any) -> None:
    """Has an optimizer note that it was called whose class does not call `super().__init__`."""
    own = optimizer.step

    @functools.wraps(own)
    def step(*args: Any, **kwargs: Any) -> Any:
        optimizer._opt_called = True
        return own(*args, **kwargs)

    step.hooked = True  # type: ignore[attr-defined]
    optimizer.step = step


class LRScheduler:
    """The base class: a subclass writes `get_lr`. Counterpart of `torch.optim.lr_scheduler.LRScheduler`."""

    _get_lr_called_within_step = False
    _is_initial = False
    _step_count: int
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = _checked(optimizer)
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for a "
                    "fresh training run (not recommended)"
                )
        self.base_lrs = _values_of_groups(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        vars(optimizer).setdefault("_opt_called", False)  # as in torch, an earlier step does not count
        if not hasattr(optimizer.step, "hooked"):
            _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict()` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last `step()` set, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The next rate of each group; `step()` calls it."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Sets the next rates; call it after the optimizer's `step()`."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "hooked"):
                warn_user(OVERRIDDEN)
            elif not getattr(self.optimizer, "_opt_called", False):
                warn_user(OUT_OF_ORDER)
        self._step_count += 1
        if epoch is not None:
            warn_user(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        set_rates(self, closed or self.get_lr)


def set_rates(scheduler: LRScheduler, rates: Callable[[], list[Any]]) -> None:
    """Gives the groups the rates of `get_lr` or of the closed form."""
    scheduler._get_lr_called_within_step = True
    try:
        values = rates()
    finally:
        scheduler._get_lr_called_within_step = False
    for group, value in zip(scheduler.optimizer.param_groups, values, strict=True):
        _set_in_group(group, "lr", value)
    scheduler._last_lr = _values_of_groups(scheduler.optimizer, "lr")


def present_rates(scheduler: LRScheduler) -> list[Any]:
    """The present rates, to begin `get_lr` with; warns the user who calls `get_lr` himself."""
    if not scheduler._get_lr_called_within_step:
        warn_user(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
        )
    return _values_of_groups(scheduler.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The name that the base class once had."""


def _without_functions(value: Any) -> Any:
    """Of a callable what a checkpoint has: the attributes of an object, nothing of a function."""
    return None if value is None or isinstance(value, types.FunctionType) else value.__dict__.copy()

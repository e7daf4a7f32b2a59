"""`Elementwise`: what is the same in all optimizers that update one parameter after the other.

A subclass lists what it keeps and writes two methods: `__corrections__`, what follows from the number of the step, and
`__rule__`, torch's formula for one parameter. State is in tensors, the number of the step too, so that a training step
is one dispatch and a staged one runs without Python.

The corrections of a step (`1 - beta**step`) are computed once for all parameters that have taken as many steps. Whether
they have is not read from the counts: counts that were written from one and the same number are `alike` until one of
them is written otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jaxvjp.autograd.modes import enable_grad
from jaxvjp.core.record.blocks import restored
from jaxvjp.core.record.modes import tracking
from jaxvjp.library.alike import compute, note_number, number_shown
from jaxvjp.library.creation import full, zeros_like
from jaxvjp.ops.complex import view_as_real
from jaxvjp.optim.optimizer import Group, Optimizer
from jaxvjp.staging.updates import count, number_of_steps, update_at_once
from jaxvjp.tensor.tensor import Tensor, view
from jaxvjp.tensor.view_steps import Step
from jaxvjp.types.dtypes import float32, float64, get_default_dtype

CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "lr": (lambda lr: bool(lr >= 0), "Invalid learning rate: {}"),
    "eps": (lambda eps: eps >= 0, "Invalid epsilon value: {}"),
    "rho": (lambda rho: 0 <= rho <= 1, "Invalid rho value: {}"),
    "etas": (lambda etas: 0 < etas[0] < 1 < etas[1], "Invalid eta values: {0[0]}, {0[1]}"),
    **{
        name: (lambda value: bool(value >= 0), f"Invalid {name} value: {{}}")
        for name in (*("momentum", "weight_decay", "alpha", "lr_decay", "initial_accumulator_value", "momentum_decay"),)
    },
}
"""What each setting has to be, and torch's sentence where it is not."""
AS_REAL = Step(view_as_real, ())


class Elementwise(Optimizer):
    """An optimizer that updates one parameter after the other.

    Attributes:
        __counts__: what it keeps of each parameter that is one number; "step" is the first.
        __checked__: the settings that are checked, of those in `CHECKS`.
        __looks_back__: whether the update takes what was kept before the step. What is kept is then computed in a
            program of its own after each step; no other would compute it, as no parameter follows from it.
        __as_real__: whether a complex parameter is updated as pairs of real numbers.
        __adds_decay__: whether `weight_decay` is as in most: the decayed parameter is added to its gradient.
        __averages__: what it keeps of each parameter that begins as zeros; `name?setting` only where that is set.
    """

    __counts__: tuple[str, ...] = ("step",)
    __checked__: tuple[str, ...] = ("lr", "eps", "weight_decay")
    __looks_back__ = False
    __as_real__ = True
    __adds_decay__ = True
    __averages__ = ""

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        lr, capturable = defaults["lr"], defaults.get("capturable", True)
        if isinstance(lr, Tensor):
            if defaults.get("foreach") and not capturable and "amsgrad" in defaults:
                raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
            if lr.numel() != 1:
                raise ValueError("Tensor lr must be 1-element")
        for name in self.__checked__:
            allows, sentence = CHECKS[name]
            if not allows(defaults[name]):
                raise ValueError(sentence.format(defaults[name]))
        for number, beta in enumerate(defaults.get("betas", ())):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {number}: {beta}")
        super().__init__(params, defaults)
        if defaults.get("fused"):
            if defaults["differentiable"]:
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults["foreach"]:
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    __begin__ = __init__

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)
            known: dict[tuple[str, float], Any] = {}
            for each in group["params"]:
                kept = self.state.get(each, {})
                for name in set(self.__counts__) & set(kept):
                    if not isinstance(kept[name], Tensor):
                        kept[name] = _count(each, kept[name])
                    note_number(kept[name], known.setdefault((name, kept[name].item()), object()))

    @restored
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates each parameter that has a gradient.

        Args:
            closure: computes the loss and its gradients anew, and returns the loss, which `step` returns then.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        differentiable = bool(self.defaults.get("differentiable", False))
        with tracking(differentiable):
            if not differentiable and update_at_once(self):
                return loss
            known: dict[Any, Any] = {}
            for group in self.param_groups:
                for each in group["params"]:
                    if each.grad is not None:
                        _update(self, each, each.grad, group, known)
        if self.__looks_back__:
            updated = [each for group in self.param_groups for each in group["params"] if each.grad is not None]
            compute([kept for each in updated for kept in self.state[each].values()])
        return loss

    def __apply_rule__(
        self, p: Tensor, grad: Tensor, state: dict[str, Any], group: Group, known: dict[Any, Any]
    ) -> None:
        """What follows after the step was counted: the settings that all rules have in common, and the rule."""
        counts = [state[name] for name in self.__counts__]
        key = (id(group), *[number_shown(each) if place == 0 else id(each) for place, each in enumerate(counts)], "")
        if key not in known:
            known[key] = self.__corrections__(group, *counts)
        numbers = known[key]
        if group.get("maximize"):
            grad = -grad
        kept = state
        if self.__as_real__ and p.dtype.is_complex:
            p, grad = (view(each, AS_REAL) for each in (p, grad))
            kept = {name: view(each, AS_REAL) if each.dtype.is_complex else each for name, each in state.items()}
        decay = group.get("weight_decay", 0)
        if self.__adds_decay__ and (isinstance(decay, Tensor) or decay != 0):
            if group.get("decoupled_weight_decay"):
                p.mul_(1 - number_of(group["lr"]) * decay)
            else:
                grad = grad + p * decay if isinstance(decay, Tensor) else grad.add(p, alpha=decay)
        self.__rule__(p, grad, kept, group, numbers)

    def __initial_state__(self, p: Tensor, grad: Tensor, group: Group) -> dict[str, Any]:
        """The state of a parameter before its first step."""
        names = [each.partition("?") for each in self.__averages__.split()]
        return {"step": _count(p)} | {name: zeros_like(p) for name, _, setting in names if group.get(setting, True)}

    def __corrections__(self, group: Group, *counts: Any) -> Any:
        """What the rule needs that follows from the counts, of which "step" has been counted and others are to be."""
        return None

    def __rule__(self, p: Tensor, grad: Tensor, state: dict[str, Any], group: Group, numbers: Any) -> None:
        raise NotImplementedError


def _update(optimizer: Elementwise, parameter: Tensor, grad: Tensor, group: Group, known: dict[Any, Any]) -> None:
    """Counts the step and applies the rule. `known` has what `__corrections__` gave for other parameters."""
    state = optimizer.state.get(parameter, {})
    if not state:
        state.update(optimizer.__initial_state__(parameter, grad, group))
    if group.get("differentiable"):  # what is kept for the gradient of this step is not written by the next
        state.update({name: each.clone() for name, each in state.items() if name not in optimizer.__counts__})
    _count_step(optimizer, state, group, known)
    optimizer.__apply_rule__(parameter, grad, state, group, known)
    if state:
        optimizer.state[parameter] = state


def _count_step(optimizer: Elementwise, state: dict[str, Any], group: Group, known: dict[Any, Any]) -> None:
    """Counts the step in the state of a parameter."""
    if not optimizer.__counts__:
        return
    step = state["step"]
    number = number_of_steps(step)
    if number is not None:
        count(step, number + 1)
        note_number(step, (number + 1, step.dtype))
        return
    key = (id(group), number_shown(step))
    if key in known:
        first, token = known[key]
        step.copy_(first)
    else:
        step.add_(1)
        _, token = known[key] = step, object()
    note_number(step, token)


def _count(p: Tensor, value: float = 0.0) -> Tensor:
    """A number of the state of `p`, on its device so that a step is one program."""
    made: Tensor = full((), value, dtype=float64 if get_default_dtype() is float64 else float32, device=p.device)
    note_number(made, ("new", value, made.dtype))
    return made


def number_of(lr: Any) -> Any:
    """A learning rate, without dimensions where it is a tensor."""
    return lr.squeeze() if isinstance(lr, Tensor) and lr.ndim else lr


def average_of_squares(average: Tensor, grad: Tensor, beta: Any) -> None:
    """average = beta average + (1 - beta) grad²"""
    if isinstance(beta, Tensor):
        average.lerp_(grad.square(), 1 - beta)
    else:
        average.mul_(beta).addcmul_(grad, grad, value=1 - beta)

"""torch's `distributed.checkpoint.state_dict`: the states of a model and its optimizers, by names of parameters.

An optimizer's own `state_dict` numbers its parameters. These name them as the model does, and the model as if it were
in no `DistributedDataParallel`, so that a checkpoint fits the model however it is laid out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jaxvjp.library.creation import tensor as tensor_of
from jaxvjp.library.creation import zeros_like
from jaxvjp.library.sharding import DTensor, distribute_tensor, placements_of
from jaxvjp.nn.modules.module import Module
from jaxvjp.nn.parallel import DistributedDataParallel
from jaxvjp.optim import Optimizer
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.public import public_names

UNDERNEATH = "no JAX: dicts are made and read"


@dataclass
class StateDictOptions:
    """How states are given. Counterpart of `torch.distributed.checkpoint.state_dict.StateDictOptions`.

    Attributes:
        full_state_dict: whether tensors on a mesh are given whole, on none.
        cpu_offload: whether tensors are given on the CPU.
        strict: whether it is an error if what is set lacks something.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    strict: bool = True

    def __given__(self, each: Any) -> Any:
        if not isinstance(each, Tensor):
            return each
        whole = each.full_tensor() if self.full_state_dict and isinstance(each, DTensor) else each
        return whole.cpu() if self.cpu_offload else whole


def get_model_state_dict(model: Module, *, options: StateDictOptions | None = None) -> dict[str, Any]:
    """The `state_dict` of a model, or of the model in a `DistributedDataParallel`."""
    given = (options or StateDictOptions()).__given__
    return {name: given(each) for name, each in _inner(model).state_dict().items()}


def get_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The states of optimizers as one, with the model's names of parameters in the place of numbers.

    An optimizer that keeps nothing yet takes a step first, with gradients of zero and a learning rate of 0, so that
    there is something to load into. KeyError for a parameter that the model does not have.
    """
    given = (options or StateDictOptions()).__given__
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for each in _several(optimizers):
        _fill(each)
        names, own = _names(model, each), each.state_dict()
        state |= {names[at]: {key: given(part) for key, part in kept.items()} for at, kept in own["state"].items()}
        groups += [group | {"params": [names[at] for at in group["params"]]} for group in own["param_groups"]]
    return {"state": state, "param_groups": groups}


def get_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `get_model_state_dict` and `get_optimizer_state_dict` give."""
    return (
        get_model_state_dict(model, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """`load_state_dict` of a model, or of the model in a `DistributedDataParallel`. Parameters lie where they lay."""
    return _inner(model).load_state_dict(model_state_dict, strict=(options or StateDictOptions()).strict)


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """`load_state_dict` of optimizers, of what `get_optimizer_state_dict` gives. States lie as their parameters.

    RuntimeError if `strict` and a parameter has no state while others do. Counterpart of
    `torch.distributed.checkpoint.state_dict.set_optimizer_state_dict`.
    """
    state, strict = optim_state_dict["state"], (options or StateDictOptions()).strict
    groups = {name: group for group in optim_state_dict["param_groups"] for name in group["params"]}
    for each in _several(optimizers):
        names, own = _names(model, each), each.state_dict()
        taken: dict[int, Any] = {}
        for at, parameter in enumerate(_parameters(each)):
            if names[at] in state:
                taken[at] = {key: _placed(part, parameter) for key, part in state[names[at]].items()}
            elif state and strict and parameter.requires_grad:
                raise RuntimeError(
                    f"Missing optimizer state for parameter '{names[at]}' in checkpoint. The parameter requires "
                    "gradients but has no saved optimizer state. To load anyway, use StateDictOptions(strict=False)."
                )
        told = [
            next((groups[names[at]] for at in group["params"] if names[at] in groups), {}) | {"params": group["params"]}
            for group in own["param_groups"]
        ]
        each.load_state_dict(
            {"state": taken, "param_groups": [a | b for a, b in zip(own["param_groups"], told, strict=True)]}
        )


def set_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """`set_optimizer_state_dict`, and what `set_model_state_dict` gives."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


def _inner(model: Module) -> Module:
    return model.module if isinstance(model, DistributedDataParallel) else model


def _several(optimizers: Optimizer | Iterable[Optimizer]) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else [*optimizers]


def _parameters(optimizer: Optimizer) -> list[Any]:
    return [each for group in optimizer.param_groups for each in group["params"]]


def _names(model: Module, optimizer: Optimizer) -> list[str]:
    """The model's names of an optimizer's parameters, in the order in which its `state_dict` numbers them."""
    names = {id(each): name for name, each in _inner(model).named_parameters()}
    return [names[id(each)] for each in _parameters(optimizer)]


def _placed(part: Any, parameter: Tensor) -> Any:
    """What an optimizer keeps for a parameter, on its mesh if it has the same shape."""
    if not isinstance(parameter, DTensor) or not isinstance(part, Tensor) or isinstance(part, DTensor):
        return part
    same = part.shape == parameter.shape
    return distribute_tensor(part, parameter.device_mesh, placements_of(parameter)) if same else part


def _fill(optimizer: Optimizer) -> None:
    """Has an optimizer that keeps nothing yet make what it keeps; nothing, if there are gradients."""
    parameters = _parameters(optimizer)
    if optimizer.state or any(parameter.grad is not None for parameter in parameters):
        return
    for parameter in parameters:
        parameter.grad = zeros_like(parameter) if parameter.requires_grad else None
    rates = [group.get("lr") for group in optimizer.param_groups]
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = tensor_of(0.0) if isinstance(rate, Tensor) else 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = rate
    optimizer.zero_grad()


__all__ = public_names(globals(), home=__name__)
complete_all(globals(), __all__, "distributed.checkpoint.state_dict")

"""Objects with parameters: `functional_call`, and `stack_module_state` of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax

from jaxvjp.core.record.record import record
from jaxvjp.ops.joining import stack
from jaxvjp.tensor.refusals import advice_on
from jaxvjp.tensor.tensor import Tensor, wrap

UNDERNEATH = "no JAX: attributes are exchanged; transforms of the call are JAX's"


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls `module` with other tensors in the place of its own, so that it becomes a function of its parameters.

    Args:
        module: an `nn.Module`, or any callable object whose attributes are tensors, or objects that have them, named
            with dots (`layer.weight`).
        parameter_and_buffer_dicts: tensors by name, or several such dicts with no name twice. They are in place during
            the call; afterwards, also after an exception, the module has its own again.
        args, kwargs: what to call it with; `args` a tuple, or the one argument.
        tie_weights: whether a tensor that the module has under several names is replaced under all of them.
        strict: RuntimeError if the module has tensors that are not named, or has none of a name.

    Raises:
        AttributeError: a name begins with that of an object that is not there: a last name alone is new for the call.
        KeyError: a name is empty.
        TypeError: that attribute is no tensor, or what is to replace it is none.
        ValueError: a name stands in several of the dicts.
    """
    replaced = _one_dict(parameter_and_buffer_dicts)
    own = _tensors_of(module)
    if strict and (unexpected := [name for name in replaced if name not in own]):
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\tUnexpected key(s): "
            f"{', '.join(map(repr, unexpected))}."
        )
    for name, each in replaced.items():
        if not name:
            raise KeyError('tensor name can\'t be empty string ""')
        if not isinstance(each, Tensor):
            # Of an array not all its numbers.
            shown = f"jax.Array {jax.typeof(each)}" if isinstance(each, jax.Array) else repr(each)
            told = f"It is given for {name!r}. {advice_on(each)}"
            raise TypeError(f"{shown} is not an instance of torch.Tensor\n{told}")
    places = {name: _place(module, name) for name in replaced}
    if tie_weights:
        given = {id(kept[last]): replaced[name] for name, (kept, last) in places.items() if last in kept}
        for name, tensor in own.items():
            if name not in replaced and id(tensor) in given:
                places[name] = _place(module, name)
                replaced[name] = given[id(tensor)]
            elif name in replaced and given[id(tensor)] is not replaced[name]:
                tied = sorted(other for other, each in own.items() if each is tensor)
                raise ValueError(
                    f"functional_call got multiple values for keys {tied}, which are tied. Consider using "
                    "tie_weights=False"
                )
    if strict and (missing := [name for name in own if name not in replaced]):
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\tMissing key(s): "
            f"{', '.join(map(repr, missing))}."
        )
    before = {name: kept[last] for name, (kept, last) in places.items() if last in kept}
    try:
        for name, (kept, last) in places.items():
            kept[last] = replaced[name]
        return module(*(args if isinstance(args, tuple) else () if args is None else (args,)), **(kwargs or {}))
    finally:
        for name, (kept, last) in places.items():
            if name in before:
                kept[last] = before[name]
            else:
                kept.pop(last, None)


def _one_dict(dicts: Any) -> dict[str, Tensor]:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    if not all(isinstance(each, Mapping) for each in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for each in dicts for name in each]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {name: value for each in dicts for name, value in each.items()}


def _place(module: Any, name: str) -> tuple[dict[str, Any], str]:
    """The dict in which an object keeps the tensor `name`, or will for the time of the call, and its name there."""
    *path, last = name.split(".")
    for part in path:
        if not hasattr(module, part):
            raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
        module = getattr(module, part)
    own = vars(module)
    kept = next((each for each in (own.get("_parameters", {}), own.get("_buffers", {})) if last in each), own)
    if hasattr(module, last) and not isinstance(held := kept.get(last, getattr(module, last)), Tensor):
        raise TypeError(f"attribute `{last}`: {held!r} is not an instance of torch.Tensor")
    return kept, last


def _tensors_of(module: Any, prefix: str = "", seen: frozenset[int] = frozenset()) -> dict[str, Tensor]:
    """The parameters and buffers of a module; of another object, every tensor among its attributes, and of the objects
    among them, by its dotted name."""
    if hasattr(module, "named_buffers"):
        return {
            name: each
            for named in (module.named_parameters, module.named_buffers)
            for name, each in named(prefix[:-1], remove_duplicate=False)
        }
    found: dict[str, Tensor] = {}
    for name, value in getattr(module, "__dict__", {}).items():
        if isinstance(value, Tensor):
            found[prefix + name] = value
        elif hasattr(value, "__dict__") and not isinstance(value, type) and id(value) not in seen:
            found.update(_tensors_of(value, f"{prefix}{name}.", seen | {id(module)}))
    return found


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several models of one class, by name, stacked along a new first dimension.

    They are leaves of their own; `vmap` of a `functional_call` over them runs the models as one (an ensemble).

    Raises:
        RuntimeError: no models, or models of several classes, or some in training mode and some not, or a parameter
            that requires a gradient in some of them only.
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({bool(getattr(model, "training", True)) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    states = [_tensors_of(model) for model in models]
    own = {name for name, _ in models[0].named_parameters()} if hasattr(models[0], "named_parameters") else None
    parameters: dict[str, Tensor] = {}
    buffers: dict[str, Tensor] = {}
    for name, first in states[0].items():
        if len({state[name].requires_grad for state in states}) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked = wrap(record(stack, tuple([state[name].detach().__node__ for state in states]), (0, (len(states),))))
        is_parameter = first.requires_grad if own is None else name in own
        (parameters if is_parameter else buffers)[name] = stacked.requires_grad_(first.requires_grad)
    return parameters, buffers


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Takes the running statistics from the batch normalizations of a module, in place, which `vmap` could not update.

    Args:
        root: the module, which is returned.
    """
    for module in root.modules():
        if getattr(module, "track_running_stats", False) and any(
            kind.__name__ == "_BatchNorm" for kind in type(module).__mro__
        ):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root

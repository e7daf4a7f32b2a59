"""`Optimizer`, the base class: groups of parameters with their settings, state, hooks, and what a checkpoint has."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

import jax

from jaxvjp.library.facts import typename
from jaxvjp.nn.parameter import clear_gradients
from jaxvjp.tensor.refusals import advice_on_array
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.constructors import add_constructor
from jaxvjp.types.dtypes import float32
from jaxvjp.types.hooks import RemovableHandle, put
from jaxvjp.types.user_code import warn_user

Group = dict[str, Any]
Params = Iterable[Any]
Rate = float | Tensor
Pair = tuple[float, float]
Hooks = OrderedDict[int, Callable[..., Any]]

HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)
"""The attributes with an optimizer's hooks, by number; torch's names."""
_global_optimizer_pre_hooks: Hooks = OrderedDict()
_global_optimizer_post_hooks: Hooks = OrderedDict()


class _Required:
    """The default of a setting that each group has to give itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Has `hook(optimizer, args, kwargs)` called before each step of every optimizer."""
    return RemovableHandle(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Has `hook(optimizer, args, kwargs)` called after each step of every optimizer."""
    return RemovableHandle(_global_optimizer_post_hooks, hook)


class Optimizer:
    """Updates tensors by their `grad`; counterpart of `torch.optim.Optimizer`.

    A subclass writes `step`. Hooks are called around it.

    Attributes:
        __settings__: its settings, as the parameters of the constructor are written. The constructor that is made of
            them gives them to `__begin__`.
        __first__: the names of those that come first in a group, where that is not the constructor's order.
        param_groups: a dict for each group of parameters: "params", and the settings, such as "lr".
        state: what is kept for each parameter from step to step, in tensors.
        defaults: the settings of a group that gives none of its own.
    """

    __first__ = ""

    def step(self, closure: Any = None) -> Any:
        """Updates the parameters once; `closure()`, if given, computes the loss and its gradients first."""
        raise NotImplementedError

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if "__settings__" in cls.__dict__:
            add_constructor(cls, f"params: Params, {cls.__dict__['__settings__']}", globals())

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for each in HOOKS:
            setattr(self, each, OrderedDict())
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{typename(params)}\nPut it into a list: `[parameter]`."
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    __begin__ = __init__

    def __construct__(self, given: dict[str, Any]) -> None:
        params = given.pop("params")
        self.__begin__(params, {name: given[name] for name in (*self.__first__.split(), *given)})

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._patch_step_function()
        for each in HOOKS:
            self.__dict__.setdefault(each, OrderedDict())
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        shown = ""
        for number, group in enumerate(self.param_groups):
            lines = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            shown += f"\nParameter Group {number}\n{''.join(lines)}"
        return f"{type(self).__name__} ({shown})"

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """`step` with the hooks around it."""
        if getattr(func, "hooked", False):
            return func

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self: Any = args[0]
            for rate in [group.get("lr") for group in self.param_groups]:
                if type(rate) is not float and isinstance(rate, jax.Array):
                    raise TypeError("An optimizer's lr must be a number, not an array of JAX: give it `float(lr)`.")
            for before in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
                result = before(self, args, kwargs)
                if isinstance(result, tuple) and len(result) == 2:
                    args, kwargs = result
                elif result is not None:
                    raise RuntimeError(
                        f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                    )
            if getattr(self, "_opt_called", None) is False:  # a schedule waits for it
                self._opt_called = True
            out = func(*args, **kwargs)
            for after in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
                after(self, args, kwargs)
            return out

        wrapper.hooked = True  # type: ignore[attr-defined]
        return wrapper

    def _patch_step_function(self) -> None:
        """Has the hooks called around the steps of its class: once one is begun, for others have no hooks."""
        kind: Any = type(self)
        if not hasattr(kind.step, "hooked"):
            kind.step = self.profile_hook_step(kind.step)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Has `hook(optimizer, args, kwargs)` called before each step; it may return other args and kwargs."""
        return _register(self, "step_pre", hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Has `hook(optimizer, args, kwargs)` called after each step."""
        return _register(self, "step_post", hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Has `hook(optimizer)` called before `state_dict()`."""
        return _register(self, "state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has `hook(optimizer, state_dict)` called with what `state_dict()` gives; it may return another."""
        return _register(self, "state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Has `hook(optimizer, state_dict)` called before `load_state_dict`; it may return another."""
        return _register(self, "load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """Has `hook(optimizer)` called after `load_state_dict`."""
        return _register(self, "load_state_dict_post", hook, prepend)

    def state_dict(self) -> dict[str, Any]:
        """The state and the groups with a number in the place of each parameter, as `torch.save` takes them."""
        for before in _hooks(self, "state_dict_pre"):
            before(self)
        numbers: dict[int, int] = {}
        groups, count = [], 0
        for group in self.param_groups:
            for number, each in enumerate(group["params"], count):
                numbers.setdefault(id(each), number)
            count += len(group["params"])
            groups.append(
                {key: value for key, value in group.items() if key != "params"}
                | {"params": [numbers[id(each)] for each in group["params"]]}
            )
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        made = {"state": state, "param_groups": groups}
        for after in _hooks(self, "state_dict_post"):
            changed = after(self, made)
            made = made if changed is None else changed
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict()` gave. Tensors are cast to the dtype and device of their parameter."""
        state_dict = state_dict.copy()
        for before in _hooks(self, "load_state_dict_pre"):
            changed = before(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(own["params"]) != len(new["params"]) for own, new in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        parameters: dict[Hashable, Any] = {}
        for own, new in zip(groups, saved, strict=True):
            parameters.update(zip(new["params"], own["params"], strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in parameters:
                state[parameters[key]] = _cast(self, parameters[key], value, key, state_dict["param_groups"])
            else:
                state[key] = value
        for own, new in zip(groups, saved, strict=True):
            new["params"] = own["params"]
            if "param_names" in own:
                new.setdefault("param_names", own["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for after in _hooks(self, "load_state_dict_post"):
            after(self)

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Tensor, value: Tensor, param_id: Hashable, param_groups: list[Group], key: Hashable = None
    ) -> Tensor:
        group = next((each for each in param_groups if param_id in each["params"]), {})
        if key == "step":
            moves = group.get("capturable") or group.get("fused")
            return value.to(dtype=float32, device=param.device) if moves else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the `grad` of all parameters to None, or to zeros."""
        clear_gradients([each for group in self.param_groups for each in group["params"]], set_to_none)

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group of parameters; settings that it lacks are the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        listed = [params] if isinstance(params, Tensor) else list(params)
        names = [each[0] for each in listed if isinstance(each, tuple)]
        param_group["params"] = [each[1] if isinstance(each, tuple) else each for each in listed]
        if names:
            if len(names) != len(listed):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for each in param_group["params"]:
            if not isinstance(each, Tensor):
                told = f"optimizer can only optimize Tensors, but one of the params is {typename(each)}"
                raise TypeError(told + advice_on_array(each))
            if not self.defaults.get("differentiable") and not (each.is_leaf or each.retains_grad):
                raise ValueError(
                    "can't optimize a non-leaf Tensor\nIt was computed, so its gradient goes on to what it was "
                    "computed from. Give the optimizer the tensors that you made, or `x.detach().requires_grad_()`."
                )
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(param_group["params"]) != len(set(param_group["params"])):
            warn_user(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                kind = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {kind} to the optimizer"
                )
        known = {each for group in self.param_groups for each in group["params"]}
        if not known.isdisjoint(param_group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)


def _register(optimizer: Optimizer, kind: str, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    return put(getattr(optimizer, f"_optimizer_{kind}_hooks"), hook, prepend=prepend)


def _hooks(optimizer: Optimizer, kind: str) -> list[Callable[..., Any]]:
    return list(getattr(optimizer, f"_optimizer_{kind}_hooks").values())


def _cast(
    optimizer: Optimizer, param: Any, value: Any, number: Hashable, groups: list[Group], key: Hashable = None
) -> Any:
    """A copy of something in a loaded state, its tensors cast as those of `param`."""
    if isinstance(value, Tensor):
        return optimizer._process_value_according_to_param_policy(param, value, number, groups, key)
    if isinstance(value, dict):
        return {name: _cast(optimizer, param, each, number, groups, name) for name, each in value.items()}
    if isinstance(value, Iterable):
        made: Callable[..., Any] = type(value)
        return made(_cast(optimizer, param, each, number, groups) for each in value)
    return value

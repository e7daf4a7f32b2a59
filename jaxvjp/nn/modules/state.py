"""`state_dict` and `load_state_dict`: what a module has, by dotted names, read and written."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from functools import update_wrapper
from typing import Any
from weakref import ref

from jaxvjp.autograd.modes import no_grad
from jaxvjp.nn.modules.hooks import Hook, Hooks
from jaxvjp.nn.parameter import Parameter, is_lazy
from jaxvjp.tensor.overriding import is_tensor_like
from jaxvjp.tensor.refusals import advice_on_array
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.hooks import RemovableHandle, put
from jaxvjp.types.user_code import warn_user

EXTRA = "_extra_state"
"""The name under which `state_dict` has what `get_extra_state` gives."""
NEVER = (
    "Reached a code path in Module.{}() that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class _OfModule:
    """A hook that gets its module first, which it does not keep alive."""

    def __init__(self, hook: Hook, module: Any) -> None:
        self.hook, self.module = hook, ref(module)
        update_wrapper(self, hook)

    def __call__(self, *args: Any) -> Any:
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args)

    def __getstate__(self) -> tuple[Hook, Any]:
        return self.hook, self.module()

    def __setstate__(self, state: tuple[Hook, Any]) -> None:
        if state[1] is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self.__init__(*state)  # type: ignore[misc]


class Stateful:
    """The part of `Module` about `state_dict`."""

    _version = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: Hooks
    _state_dict_pre_hooks: Hooks
    _load_state_dict_pre_hooks: Hooks
    _load_state_dict_post_hooks: Hooks

    def get_extra_state(self) -> Any:
        """Whatever else is to be in `state_dict`; for a subclass to write, with `set_extra_state`."""
        raise RuntimeError(NEVER.format("get_extra_state"))

    def set_extra_state(self, state: Any) -> None:
        """Takes what `get_extra_state` gave; for a subclass to write."""
        raise RuntimeError(NEVER.format("set_extra_state"))

    def _register_state_dict_hook(self, hook: Hook) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return put(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata)` after `state_dict`, which it may change in place."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return put(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Calls `hook(module, prefix, keep_vars)` before `state_dict`."""
        return put(self._state_dict_pre_hooks, hook)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, each in _own_state(self).items():
            destination[prefix + name] = each if keep_vars or is_lazy(each) else each.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Its parameters and persistent buffers, and those of its modules, by dotted names.

        Args:
            destination: a dict to put them into.
            prefix: what the names begin with.
            keep_vars: whether the tensors are the module's own, with their gradients; else `detach()` of them.
        """
        if args:
            warn_user(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
            )
            positional = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = positional.get("destination") if destination is None else destination
            prefix, keep_vars = prefix or positional.get("prefix", ""), keep_vars or positional.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        about = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = about
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            returned = hook(self, destination, prefix, about)
            if returned is not None and getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = destination if returned is None else returned
        return destination

    def _register_load_state_dict_pre_hook(self, hook: Hook, with_module: bool = False) -> RemovableHandle:
        return put(self._load_state_dict_pre_hooks, _OfModule(hook, self) if with_module else hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`
        before `load_state_dict`."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """Calls `hook(module, incompatible_keys)` after `load_state_dict`."""
        return put(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = _own_state(self)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                error_msgs += _load_tensor(self, name, tensor, key, state_dict[key], assign)
            elif strict:
                missing_keys.append(key)
        key = prefix + EXTRA
        takes = type(self).set_extra_state is not Stateful.set_extra_state
        if takes and key in state_dict:
            self.set_extra_state(state_dict[key])
        elif strict and takes is (key not in state_dict):
            (missing_keys if takes else unexpected_keys).append(key)
        for each in state_dict if strict else ():
            if each.startswith(prefix) and each != key:
                first, dot, _ = each[len(prefix) :].partition(".")
                if first not in (self._modules if dot else own):
                    unexpected_keys.append(each)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Writes a `state_dict` into its parameters and buffers; a named tuple of `missing_keys`, `unexpected_keys`.

        Args:
            strict: whether a key that is missing or unexpected is an error.
            assign: whether the tensors themselves are put in the place of the module's, with their dtypes.

        Raises:
            RuntimeError: keys or shapes that do not fit.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        copied: Any = OrderedDict(state_dict)
        if metadata is not None:
            copied._metadata = metadata
        _load(self, copied, "", metadata, assign, keys, errors)
        if strict:
            for kind, wrong in (("Unexpected", keys.unexpected_keys), ("Missing", keys.missing_keys)):
                if wrong:
                    shown = ", ".join([f'"{each}"' for each in wrong])
                    errors.insert(0, f"{kind} key(s) in state_dict: {shown}. ")
        if errors:
            told = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{told}")
        return keys


def _load_tensor(module: Stateful, name: str, tensor: Tensor, key: str, given: Any, assign: bool) -> list[str]:
    """Loads one tensor; what has gone wrong."""
    if not is_tensor_like(given):
        told = f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from'
        return [f"{told} checkpoint but received {type(given)}{advice_on_array(given)}"]
    if not is_lazy(tensor):
        if len(tensor.shape) == 0 and tuple(given.shape) == (1,):  # as torch saved numbers before 0.4
            given = given[0]
        if given.shape != tensor.shape:
            told = f"copying a param with shape {given.shape} from checkpoint, the shape in current model is"
            return [f"size mismatch for {key}: {told} {tensor.shape}."]
    if getattr(tensor, "is_meta", False) and not getattr(given, "is_meta", False) and not assign:
        warn_user(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
            "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary "
            "to their corresponding key in the module instead of copying them in place?)",
        )
    try:
        with no_grad():
            if not assign:
                tensor.copy_(given)
            elif isinstance(tensor, Parameter) and not isinstance(given, Parameter):
                setattr(module, name, Parameter(given, requires_grad=tensor.requires_grad))
            else:
                setattr(module, name, given.requires_grad_(tensor.requires_grad))
    except Exception as error:
        return [
            f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and '
            f"whose dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
        ]
    return []


def _own_state(module: Stateful) -> dict[str, Tensor]:
    """Its parameters and persistent buffers, by name."""
    lasting = {name: each for name, each in module._buffers.items() if name not in module._non_persistent_buffers_set}
    return {name: each for name, each in (module._parameters | lasting).items() if each is not None}


def _load(
    module: Any,
    state: Any,
    prefix: str,
    metadata: Any,
    assign: bool,
    keys: _IncompatibleKeys,
    errors: list[str],
) -> None:
    """What `load_state_dict` does to a module and those inside of it. (A function inside of the method, which calls
    itself, would be a reference cycle, and keep `state` until the garbage collector finds it.)"""
    about = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        about["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, about, True, *keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            inner = f"{prefix}{name}."
            part = {key: each for key, each in state.items() if key.startswith(inner)}
            _load(child, part, inner, metadata, assign, keys, errors)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                "values, if incompatible_keys need to be modified, it should be done inplace."
            )

"""`Module`: what has parameters, buffers and other modules, and computes something with them."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from textwrap import indent
from typing import Any, Self, TypeAlias, TypeVar

from jaxvjp.autograd.modes import no_grad
from jaxvjp.library.creation import empty_like
from jaxvjp.nn.modules.hooks import (
    Hooked,
    _global_backward_hooks,  # noqa: F401 - where torch has them, too
    _global_backward_pre_hooks,  # noqa: F401
    _global_forward_hooks,  # noqa: F401
    _global_forward_hooks_always_called,  # noqa: F401
    _global_forward_hooks_with_kwargs,  # noqa: F401
    _global_forward_pre_hooks,  # noqa: F401
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from jaxvjp.nn.modules.state import Stateful
from jaxvjp.nn.modules.state import _IncompatibleKeys as _IncompatibleKeys
from jaxvjp.nn.parameter import Buffer, Parameter, clear_gradients
from jaxvjp.ops.layouts import memory_format
from jaxvjp.staging import compile as compiled
from jaxvjp.tensor.overriding import FUNCTIONS
from jaxvjp.tensor.refusals import advice_on_array
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.devices import device as Device  # noqa: N812 - `device` is an argument's name here
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: N812 - and so is `dtype`
from jaxvjp.types.user_code import warn_user

UNDERNEATH = "no JAX: a Python object with tensors, which are the leaves of the recorded program"

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

M = TypeVar("M", bound="Module")
Convert: TypeAlias = Callable[[Tensor], Tensor]
Named: TypeAlias = Iterator[tuple[str, Tensor]]
DICTS = {"parameter": "_parameters", "buffer": "_buffers", "module": "_modules"}
"""Where a module keeps what; it is found there when it is no ordinary attribute."""


class Module(Hooked, Stateful):
    """The base class of layers and models; counterpart of `torch.nn.Module`.

    A subclass calls `super().__init__()`, assigns parameters and other modules to attributes, and writes `forward`;
    calling the module calls that::

        class Affine(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(3))

            def forward(self, x):
                return self.weight * x

    Attributes:
        training: whether it is in training mode, which dropout and batch normalization ask for.
    """

    dump_patches = False
    call_super_init = False
    __computed__: tuple[str, ...] = ()
    """What torch keeps in such a module, and is computed here: a pickle has it, for torch to read."""
    _modules: dict[str, Any]

    def __init_subclass__(cls, **named: Any) -> None:
        """Keeps `act = torch.relu` in a class from being a method: in torch it is a function of C, which is none."""
        super().__init_subclass__(**named)
        for name, value in list(vars(cls).items()):
            if isinstance(value, FUNCTIONS) and value.__module__ == "jaxvjp":
                setattr(cls, name, staticmethod(value))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                unknown = next(iter(kwargs))
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{unknown}'")
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _modules={}, _is_full_backward_hook=None)
        _complete(self)
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # Attributes.

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_parameters" in own:
            for kept in (own["_parameters"], own["_buffers"], own["_modules"]):
                if name in kept:
                    return kept[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        kind = None
        if isinstance(value, Tensor | Module):
            kind = next((kind for kind, kinds in KINDS if isinstance(value, kinds)), None)
        if kind is None:
            if "_parameters" not in own or not (
                name in own["_parameters"] or name in own["_buffers"] or name in own["_modules"]
            ):
                object.__setattr__(self, name, value)
                return
            kind = next(kind for kind, kept in DICTS.items() if name in own[kept])
            if value is not None and not (kind == "buffer" and _is_tensor(value)):
                raise _wrong(kind, name, value)
        elif DICTS[kind] not in own:
            raise AttributeError(f"cannot assign {kind}{'s' * (kind == 'parameter')} before Module.__init__() call")
        elif holder := next((each for each in STRONGER[kind] if name in own[DICTS[each]]), None):
            raise _wrong(holder, name, value)
        elif name not in own[DICTS[kind]] and kind != "buffer":
            for kept in (own, *[own[each] for each in DICTS.values()]):
                kept.pop(name, None)
            self._non_persistent_buffers_set.discard(name)
        if kind == "parameter":
            self.register_parameter(name, value)
        elif kind == "module":
            self._modules[name] = registered("module", self, name, value)
        else:
            _assign_buffer(self, name, value)

    def __delattr__(self, name: str) -> None:
        for kept in DICTS.values():
            if name in self.__dict__[kept]:
                del self.__dict__[kept][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update((name, each) for name, each in state.items() if name not in self.__computed__)
        self.__dict__.setdefault("_is_full_backward_hook", None)
        _complete(self)

    def __getstate__(self) -> dict[str, Any]:
        own = {name: each for name, each in self.__dict__.items() if name != "_compiled_call_impl"}
        return own | {name: getattr(self, name) for name in self.__computed__}

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Gives it a tensor that is part of its state and no parameter, such as a running mean.

        Args:
            persistent: whether it is part of `state_dict`.
        """
        _check_name(self, "buffer", name)
        if tensor is not None and not _is_tensor(tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
                + advice_on_array(tensor)
            )
        self._buffers[name] = registered("buffer", self, name, tensor)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Gives it a parameter, which becomes an attribute; None for one that is left out."""
        _check_name(self, "parameter", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
                + advice_on_array(param)
            )
        if param is not None and param.grad_fn:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = None if param is None else registered("parameter", self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Gives it another module, which becomes an attribute."""
        if not isinstance(module, Module | None):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        _check_name(self, "module", name)
        self._modules[name] = registered("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def get_submodule(self, target: str) -> Module:
        """The module with that dotted name, such as "layer.0"; "" is this one."""
        found = self
        for part in target.split(".") if target else ():
            found = _member(found, part)
            if not isinstance(found, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts `module` at that dotted name; with `strict` only in the place of another."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if (strict or hasattr(parent, name)) and not isinstance(_member(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with that dotted name."""
        path, _, name = target.rpartition(".")
        found = _member(self.get_submodule(path), name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with that dotted name."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        found: Tensor = _member(owner, name)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    # Members.

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is not None and member not in seen:
                    if remove_duplicate:
                        seen.add(member)
                    yield f"{path}.{name}" if path else name, member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Its parameters and, unless told otherwise, those of its modules; each once."""
        for _, each in self.named_parameters(recurse=recurse):
            yield each

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Pairs of a dotted name, after `prefix`, and a parameter."""
        yield from self._named_members(lambda each: each._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Its buffers and, unless told otherwise, those of its modules; each once."""
        for _, each in self.named_buffers(recurse=recurse):
            yield each

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Named:
        """Pairs of a dotted name, after `prefix`, and a buffer."""
        yield from self._named_members(lambda each: each._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """The modules that it has itself; each once."""
        for _, each in self.named_children():
            yield each

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Pairs of a name and a module that it has itself."""
        first = {}
        for name, each in self._modules.items():
            if each is not None and each not in first:
                first[each] = name
                yield name, each

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """It, its modules, and theirs; each once."""
        for _, each in self.named_modules(remove_duplicate=remove_duplicate):
            yield each

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Pairs of a dotted name, after `prefix`, and a module; itself first. Those in `memo` are left out."""
        memo = set() if memo is None else memo
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for name, each in self._modules.items():
                if each is not None:
                    yield from each.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    # What is done to all of them.

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Calls `fn` with each of its modules, and last with itself."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Convert, recurse: bool = True) -> Self:
        """Puts `fn(tensor)` in the place of each parameter, its gradient and each buffer."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is not None:
                    grad = parameter.grad
                    parameter.data = fn(parameter)
                    if grad is not None:
                        grad.data = fn(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves it to a device, its floating tensors to a dtype: `to(device)`, `to(dtype)`, `to(device, dtype)`.

        `to(tensor)` is for the device and dtype of another tensor, `memory_format=` for a layout in memory.
        """
        layout = kwargs.pop("memory_format", None)
        given = dict(zip(("device", "dtype", "non_blocking"), args, strict=False)) | kwargs
        first = given.pop("tensor", args[0] if args else None)
        if isinstance(first, Tensor):
            given |= {"device": first.device, "dtype": first.dtype}
        elif isinstance(first, Dtype):
            given |= {"device": None, "dtype": first}
        if "copy" in given:
            raise RuntimeError(".to() does not accept copy argument\nWrite `copy.deepcopy(module).to(...)`.")
        device, dtype = given.get("device"), given.get("dtype")
        fits = isinstance(device, Device | str | int | None) and isinstance(dtype, Dtype | None)
        if len(args) > 3 or not fits or given.keys() - {"device", "dtype", "non_blocking"}:
            kinds = [type(argument).__name__ for argument in args]
            kinds += [f"{name}={type(each).__name__}" for name, each in kwargs.items()]
            raise TypeError(
                f"to() received an invalid combination of arguments - got ({', '.join(kinds)}), but expected one of:\n"
                " * (device, dtype, non_blocking=False)\n * (dtype, non_blocking=False)\n"
                " * (tensor, non_blocking=False)"
            )
        if dtype is not None and not dtype.differentiable:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warn_user(
                "Complex modules are a new feature under active development whose design may change, and some modules "
                "might not work as expected when using complex tensors as parameters or buffers. Please file an issue "
                "at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does "
                "not work as expected.",
            )

        def converted(tensor: Tensor) -> Tensor:
            target = dtype if tensor.dtype.differentiable else None
            laid = layout if isinstance(layout, memory_format) and tensor.dim() in (4, 5) else None
            if tensor.is_meta and device is not None and Device(device).type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            return tensor.to(device, target, memory_format=laid)

        return self._apply(converted)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Moves it to a device without its numbers."""
        return self._apply(lambda each: empty_like(each, device=device), recurse)

    def cpu(self) -> Self:
        """Moves it to the host's memory."""
        return self._apply(lambda each: each.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Moves it to a GPU; AssertionError where JAX has none."""
        return self._apply(lambda each: each.cuda(device))

    def type(self, dst_type: Any) -> Self:
        """Has all its tensors in a dtype, also those that are not floating."""
        return self._apply(lambda each: each.type(dst_type))

    def share_memory(self) -> Self:
        """Has its tensors in memory that other processes can share, as `Tensor.share_memory_` does."""
        return self._apply(lambda each: each.share_memory_())  # type: ignore[attr-defined]

    def float(self) -> Self:
        """Has its floating tensors in single precision."""
        return _floating(self, "float")

    def double(self) -> Self:
        """Has its floating tensors in double precision."""
        return _floating(self, "double")

    def half(self) -> Self:
        """Has its floating tensors in half precision."""
        return _floating(self, "half")

    def bfloat16(self) -> Self:
        """Has its floating tensors in bfloat16."""
        return _floating(self, "bfloat16")

    def train(self, mode: bool = True) -> Self:
        """Puts it and its modules into training mode, or out of it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """The same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Has its parameters require a gradient, or not."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the gradients of its parameters to None, or to zeros."""
        clear_gradients(self.parameters(), set_to_none)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Has its calls compiled, as by `torch.compile`, whose arguments these are."""
        self._compiled_call_impl = compiled(self._call_impl, *args, **kwargs)

    def __as_compiled__(self, fullgraph: bool) -> Any:
        """What `torch.compile` makes of it."""
        return import_module("jaxvjp.nn.modules.compiled").OptimizedModule(self, fullgraph)  # it inherits from `Module`

    # Printing.

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What is printed of it between the brackets, such as sizes; for a subclass to write."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        return tree(self._get_name(), lines + [f"({name}): {each!r}" for name, each in self._modules.items()])


def _floating(module: M, name: str) -> M:
    return module._apply(lambda each: getattr(each, name)() if each.is_floating_point() else each)


def _member(module: Module, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return getattr(module, name)


def _check_name(module: Module, kind: str, name: str) -> None:
    kept = module.__dict__.get(DICTS[kind])
    if kept is None:
        raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if name not in kept and hasattr(module, name):
        raise KeyError(f"attribute '{name}' already exists")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."' + f", got: {name}" * (kind == "module"))
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')


def _assign_buffer(module: Module, name: str, value: Tensor | None) -> None:
    known = name not in module._non_persistent_buffers_set
    persistent = value.persistent if isinstance(value, Buffer) else known  # type: ignore[attr-defined]
    own = getattr(module.register_buffer, "__func__", None) is Module.register_buffer
    if own or "persistent" in inspect.signature(module.register_buffer).parameters:
        module.register_buffer(name, value, persistent)
    elif not persistent:
        raise RuntimeError(
            "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without "
            "the persistent argument is not allowed."
        )
    else:
        module.register_buffer(name, value)


def _complete(module: Module) -> None:
    """Gives it what it does not have yet of hooks."""
    own = module.__dict__
    own.setdefault("_non_persistent_buffers_set", set())
    for name in HOOKS:
        own.setdefault(name, OrderedDict())


def tree(name: str, members: Iterable[str]) -> str:
    """`name(...)`, with each member, indented, on lines of its own."""
    shown = "".join("\n" + indent(member, "  ") for member in members)
    return f"{name}({shown}\n)" if shown else f"{name}()"


def typename(value: Any) -> str:
    """torch's name for the type of a value, as in its errors: `torch.FloatTensor`, `str`."""
    if isinstance(value, Tensor):
        return f"torch.{value.dtype.legacy}Tensor"
    named = value if hasattr(value, "__qualname__") else type(value)
    place = named.__module__ or ""
    place = "torch" + place.removeprefix("jaxvjp") if place.partition(".")[0] == "jaxvjp" else place
    return named.__qualname__ if place in ("", "builtins") else f"{place}.{named.__qualname__}"


def _wrong(kind: str, name: str, value: Any) -> TypeError:
    """The error about a value that cannot be in the place of a parameter, module or buffer."""
    told, classes = AS[kind]
    refusal = f"cannot assign '{typename(value)}' as {told} '{name}' ({classes} or None expected)"
    return TypeError(refusal + advice_on_array(value))


def _addindent(text: str, spaces: int) -> str:
    """Indents all lines but the first; for `__repr__` of a user's module."""
    first, *rest = text.split("\n")
    return "\n".join([first, *[" " * spaces + each if each.strip() else "" for each in rest]])


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "__torch_function__")


HOOKS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
KINDS: tuple[tuple[str, Any], ...] = (("parameter", Parameter), ("module", Module), ("buffer", Buffer))
"""What a value that is assigned becomes."""
STRONGER = {"parameter": (), "module": ("parameter",), "buffer": ("parameter", "module")}
"""Whose names cannot be taken by assigning such a value."""
AS = {
    "parameter": ("parameter", "torch.nn.Parameter"),
    "module": ("child module", "torch.nn.Module"),
    "buffer": ("buffer", "torch.nn.Buffer, torch.Tensor"),
}
"""What torch's error says that a wrong value was assigned as, and which classes are expected."""

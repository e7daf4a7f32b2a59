"""Parameters that are computed from others whenever they are read: `register_parametrization`."""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

from jaxvjp.autograd.modes import no_grad
from jaxvjp.nn.modules.container import ModuleDict, ModuleList
from jaxvjp.nn.modules.module import Module
from jaxvjp.nn.parameter import Parameter
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.public import public_names

UNDERNEATH = "operations on the parameter, recorded when it is read"

UNPICKLED = (
    "Serialization of parametrized modules is only supported through state_dict(). See:\n"
    "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
    "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
)


class _Cache:
    """What parametrizations gave inside of `cached()`, by module and name; how many such blocks there are."""

    depth = 0
    known: dict[tuple[int, str], Tensor] = {}  # noqa: RUF012 - one for the process


@contextmanager
def cached() -> Iterator[None]:
    """In this block a parametrized tensor is computed once, when it is first read."""
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.known = {}


def _register(module: Module, name: str, value: Any) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


class ParametrizationList(ModuleList):
    """The modules that compute a tensor from `original`, or from `original0`, `original1` and so on.

    Args:
        modules: the first is called with the originals, each other one with the result of the one before.
        original: the parameter or buffer that it was; the originals are what the modules' `right_inverse` make of it.
        unsafe: whether to leave out the check that shape and dtype stay.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Any], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        with no_grad():
            for module in reversed([*self]):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        must = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got"
        if not isinstance(new, Tensor | Sequence):
            raise ValueError(f"{must} {type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            for fact in ("dtype", "device"):
                if getattr(original, fact) != getattr(new, fact):
                    raise ValueError(
                        f"When `right_inverse` outputs one tensor, it may not change the {fact}.\noriginal.{fact}: "
                        f"{getattr(original, fact)}\nright_inverse(original).{fact}: {getattr(new, fact)}"
                    )
            if new is not original:
                original.data = new
            _register(self, "original", original)
        else:
            for number, each in enumerate(new):
                if not isinstance(each, Tensor):
                    raise ValueError(f"{must} element {number} of the sequence with type {type(each).__name__}.")
                kept = Parameter(each, original.requires_grad) if isinstance(original, Parameter) else each
                _register(self, f"original{number}", kept.requires_grad_(original.requires_grad))
        if not unsafe:
            must = (
                "Registering a parametrization may not change the {0} of the tensor, unless `unsafe` flag is enabled."
            )
            _check_alike(self(), dtype, shape, f"{must}\nunparametrized {{0}}: {{1}}\nparametrized {{0}}: {{2}}")

    @no_grad()
    def right_inverse(self, value: Any) -> None:
        """Sets the originals so that the tensor becomes `value`, by the modules' `right_inverse`."""
        for module in reversed([*self]):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
            value = module.right_inverse(value)
        if self.is_tensor:
            if not isinstance(value, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
            if value.dtype != self.original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                    f"{self.original.dtype}"
                )
            self.original.data = value
            return
        if not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
        if len(value) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                f"length {len(value)}."
            )
        for number, each in enumerate(value):
            original = getattr(self, f"original{number}")
            if not isinstance(each, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. Got element "
                    f"{number} of type {type(each).__name__}."
                )
            if original.dtype != each.dtype:
                raise ValueError(
                    f"Tensor {number} returned by `right_inverse` has dtype {each.dtype} while `original{number}` has "
                    f"dtype {original.dtype}"
                )
            original.data = each

    def forward(self) -> Any:
        """The tensor."""
        names = ["original"] if self.is_tensor else [f"original{number}" for number in range(self.ntensors)]
        first, *rest = [self._modules[str(number)] for number in range(len(self._modules))]
        made = first(*[getattr(self, name) for name in names])
        for each in rest:
            made = each(made)
        return made


def _copied(self: Any, memo: dict[int, Any]) -> Any:
    if id(self) not in memo:
        made = memo[id(self)] = self.__new__(type(self))
        made.__dict__ = deepcopy(self.__dict__, memo)
        for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
            if hasattr(self, slot):
                setattr(made, slot, deepcopy(getattr(self, slot), memo))
    return memo[id(self)]


def _unpickled(self: Any) -> Any:
    raise RuntimeError(UNPICKLED)


def _give_class(module: Module) -> None:
    """Gives a module a class of its own, which can have properties."""
    own = type(module)
    members: dict[str, Any] = {"__getstate__": _unpickled}
    if not hasattr(own, "__deepcopy__"):
        members["__deepcopy__"] = _copied
    module.__class__ = type(f"Parametrized{own.__name__}", (own,), members)


def _give_property(module: Module, name: str) -> None:
    def read(self: Any) -> Any:
        parametrization = self.parametrizations[name]
        if not _Cache.depth:
            return parametrization()
        key = (id(self), name)
        if key not in _Cache.known:
            _Cache.known[key] = parametrization()
        return _Cache.known[key]

    def write(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Has a parameter or buffer of a module computed by `parametrization` whenever it is read; returns the module.

    `module.parametrizations.weight.original` is what it is computed from. Where the parametrization has
    `right_inverse`, that gives the original, also of what is assigned later.

    Args:
        module: the module, whose class becomes one of its own.
        tensor_name: the name of the parameter or buffer.
        parametrization: a module that is called with the original.
        unsafe: whether to leave out the check that shape and dtype stay.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(getattr(module, tensor_name), tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _give_class(module)
            module.parametrizations = ModuleDict()
        _give_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_further(before: Tensor, name: str, parametrization: Any) -> None:
    """ValueError if a further parametrization, or its `right_inverse`, changes dtype or shape."""
    made, shown = parametrization(before), f"module.{name}"
    must = "Registering a parametrization may not change the {0} of the tensor, unless the `unsafe` flag is enabled."
    told = f"{must}\n{shown}.{{0}}: {{1}}\nparametrization({shown}).{{0}}: {{2}}"
    _check_alike(made, before.dtype, before.shape, told)
    try:
        inverse = parametrization.right_inverse(made) if hasattr(parametrization, "right_inverse") else before
    except NotImplementedError:
        return
    must = f"The tensor returned by parametrization.right_inverse must have the same {{0}} as {shown}, unless the"
    told = f"{must} `unsafe` flag is enabled.\n{shown}.{{0}}: {{1}}\nreturned {{0}}: {{2}}"
    _check_alike(
        inverse, before.dtype, before.shape, told, "parametrization.right_inverse must return a tensor. Got: {}"
    )


def _check_alike(
    made: Any, dtype: Any, shape: Any, told: str, tensor: str = "A parametrization must return a tensor. Got {}."
) -> None:
    """ValueError if a parametrization made no tensor, or one of another dtype or shape."""
    if not isinstance(made, Tensor):
        raise ValueError(tensor.format(type(made).__name__))
    for fact, before in (("dtype", dtype), ("shape", shape)):
        if getattr(made, fact) != before:
            raise ValueError(told.format(fact, before, getattr(made, fact)))


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations; with a name, of that tensor."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Makes a parametrized tensor an ordinary one again; returns the module.

    Args:
        module: the module, which has its former class again once the last is removed.
        tensor_name: the name of the tensor.
        leave_parametrized: whether it keeps the numbers that were computed, not those of the original.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found = module.parametrizations[tensor_name]
    if found.is_tensor:
        original = found.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name)
    elif leave_parametrized:
        made = getattr(module, tensor_name)
        original = Parameter(made) if made.requires_grad else made
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class that a module had before it was parametrized; else its class."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Gives `to_module` the parametrizations and their originals of another module; returns it.

    Args:
        from_module: the module that has them.
        to_module: the module that gets them.
        tensor_name: of which tensor; None for all.
    """
    if is_parametrized(from_module):
        for name in from_module.parametrizations if tensor_name is None else [tensor_name]:
            source = from_module.parametrizations[name]
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name)))
            for each in source:
                register_parametrization(to_module, name, each)
            originals = ["original"] if source.is_tensor else [f"original{each}" for each in range(source.ntensors)]
            for original in originals:
                setattr(to_module.parametrizations[name], original, getattr(source, original))
    return to_module


__all__ = public_names(globals(), home=__name__)

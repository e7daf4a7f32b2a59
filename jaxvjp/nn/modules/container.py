"""Modules that hold modules, or parameters, as a list or a dict does."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import Any, NoReturn, Self

from jaxvjp.nn.modules.module import Module, tree, typename
from jaxvjp.nn.parameter import Parameter
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "no JAX: Python objects with tensors, which are the leaves of the recorded program"


def _position(length: int, index: Any) -> int:
    position = operator.index(index)
    if not -length <= position < length:
        raise IndexError(f"index {position} is out of range")
    return position % length


class _Listed(Module):
    """What `Sequential` and `ModuleList` have in common: modules in an order, whose names are mostly their numbers."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return self._modules[_name_at(self, index)]
        taken = OrderedDict([*self._modules.items()][index])
        return type(self)(taken.values() if isinstance(self, ModuleList) else taken)

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, _name_at(self, index), module)

    def __delitem__(self, index: Any) -> None:
        for name in _names(self)[index] if isinstance(index, slice) else [_name_at(self, index)]:
            delattr(self, name)
        self._modules = {str(number): each for number, each in enumerate(self)}

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        for number, module in enumerate([*modules], len(self)):
            self.add_module(str(number), module)
        return self

    def insert(self, index: int, module: Module) -> Any:  # None, but Sequential gives itself
        """Adds a module before the one with that number; KeyError, as in torch, if one from there on has a name."""
        for number in range(len(self), index, -1):
            self._modules[str(number)] = self._modules[str(number - 1)]
        self._modules[str(index)] = module

    def pop(self, key: Any) -> Any:
        """Takes out the module with that number, or those of a slice."""
        taken = self[key]
        del self[key]
        return taken


def _names(modules: _Listed) -> list[str]:
    """The names by which an index finds modules: in a list, as in torch, always their numbers."""
    return [*(map(str, range(len(modules))) if isinstance(modules, ModuleList) else modules._modules)]


def _name_at(modules: _Listed, index: Any) -> str:
    return _names(modules)[_position(len(modules), index)]


class Sequential(_Listed):
    """Calls its modules one after the other, each with the result of the one before.

    Args:
        args: the modules; or one OrderedDict of them.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, each in named:
            self.add_module(str(name), each)

    def forward(self, input: Any) -> Any:
        """The result of the last module."""
        for module in self._modules.values():
            input = module(input)
        return input

    def insert(self, index: int, module: Module) -> Self:
        """Adds a module before the one with that number."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        super().insert(index + len(self) if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Adds modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def __add__(self, other: Any) -> Sequential:
        _check_other(self, other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        _check_other(self, other)
        return super().extend(other)

    def __mul__(self, other: Any) -> Sequential:
        _check_times(self, other)
        return Sequential(*[*self] * other)

    __rmul__ = __mul__

    def __imul__(self, other: Any) -> Self:
        _check_times(self, other)
        return super().extend([self._modules[str(number)] for number in range(len(self))] * (other - 1))


def _check_times(module: Sequential, other: Any) -> None:
    if not isinstance(other, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(module)} and {type(other)}")
    if other <= 0:
        raise ValueError(f"Non-positive multiplication factor {other} for {type(module)}")


def _check_other(module: Sequential, other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")


class ModuleList(_Listed):
    """Holds modules as a list does.

    Args:
        modules: an iterable of them.
    """

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def __iadd__(self, modules: Iterable[Any]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        lines = []
        for shown, run in groupby(enumerate(map(repr, self)), lambda each: each[1]):
            numbers = [number for number, _ in run]
            lines.append(f"({numbers[0]}): {shown}")
            if len(numbers) > 1:
                lines[-1] = f"({numbers[0]}-{numbers[-1]}): {len(numbers)} x {shown}"
        return tree(self._get_name(), lines)


def _pairs(given: Any, name: str, shown: str) -> Iterator[Any]:
    """The pairs of a key and a value of a dict, or of an iterable of pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{shown}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    if isinstance(given, Mapping | ModuleDict | ParameterDict):
        yield from given.items()
        return
    for number, pair in enumerate(given):
        element = f"{name} update sequence element #{number}"
        if not isinstance(pair, Iterable):
            raise TypeError(f"{element} should be Iterable; is{type(pair).__name__}")
        sized: Any = pair
        if len(sized) != 2:
            raise ValueError(f"{element} has length {len(sized)}; 2 is required")
        yield sized


class ModuleDict(Module):
    """Holds modules as a dict does, in the order in which they came.

    Args:
        modules: a dict of them, or an iterable of pairs.
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Takes all out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Takes out the module of that key."""
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """The keys."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Pairs of a key and a module."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Adds the modules of a dict, or of an iterable of pairs."""
        for key, each in _pairs(modules, "ModuleDict", "ModuleDict"):
            self[key] = each


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _line(key: Any, value: Any, kind: str) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    name = "Parameter" if isinstance(value, Parameter) else "Tensor"
    place = f" ({value.device})" if value.is_cuda else ""
    return f"  ({key}): {name} containing: [{kind} of size {'x'.join(map(str, value.shape))}{place}]"


class ParameterList(Module):
    """Holds parameters, and whatever else, as a list does; a tensor becomes a parameter.

    Args:
        values: an iterable of them.
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[each] for each in range(len(self))[index]])
        return getattr(self, str(_position(len(self), index)))

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, str(_position(len(self), index)), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[each] for each in range(len(self))])

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        """Adds a parameter at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Adds parameters at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """A line for each."""
        return "\n".join(_line(key, each, str(getattr(each, "dtype", ""))) for key, each in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Holds parameters, and whatever else, as a dict does; a tensor becomes a parameter.

    Args:
        parameters: a dict of them, whose keys are sorted unless it is an OrderedDict; or an iterable of pairs.
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: str) -> str:
        if isinstance(key, str):
            return key
        raise TypeError(
            "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
            f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
        )

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._key_to_attr(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed([*self._keys])

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another one with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """What it has of a key, after adding `default` if it had nothing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Takes all out."""
        for key in [*self._keys]:
            del self[key]

    def pop(self, key: str) -> Any:
        """Takes out what it has of a key."""
        taken = self[key]
        del self[key]
        return taken

    def popitem(self) -> tuple[str, Any]:
        """Takes out the last pair."""
        key, _ = self._keys.popitem()
        taken = getattr(self, key)
        delattr(self, key)
        return key, taken

    def get(self, key: str, default: Any = None) -> Any:
        """What it has of a key, or `default`."""
        return getattr(self, key) if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """One with those keys, all of which have `default`."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Iterable[str]:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Pairs of a key and a parameter."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Adds the parameters of a dict, or of an iterable of pairs."""
        pairs = _pairs(parameters, "ParameterDict", "ParametersDict")
        plain = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        for key, each in sorted(pairs) if plain else pairs:
            self[key] = each

    def extra_repr(self) -> str:
        """A line for each."""
        return "\n".join(_line(key, each, typename(each)) for key, each in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: Any) -> ParameterDict:
        joined: ParameterDict = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

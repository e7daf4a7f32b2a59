"""What a step reads from around it: the variables, attributes and items that its code names.

In this room one can list them (`Surroundings`) and see whether they are still as they were. `journal` comes before it.
A program is right only while what Python looked at is the same: `lr = 0.1` in a module, `self.training`, an item of a
list of settings. So before a step runs, its code is read for what it names, and that of the functions that it may call;
what those names lead to is looked up again at each call. A tensor that has come to be another one is simply used.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from jaxvjp.core.places import in_house
from jaxvjp.devices import device
from jaxvjp.dtypes import dtype
from jaxvjp.tensor import Tensor

PLAIN = frozenset([int, float, bool, complex, str, bytes, type(None), dtype, device])
"""Types whose values say all there is to know."""
CALLED = ("__call__", "__enter__", "__exit__", "__getitem__", "__iter__", "__len__")
"""Methods that code calls without naming them."""
MOST = 10_000
"""Places that are looked at for one step at the most."""
MANY = 1000
"""Items of a list or dictionary from which on it is only seen whether they are the same objects."""
LARGE = 1 << 16
"""Bytes of a NumPy array from which on a step that names it is not staged: to see that it changed would cost more."""
FOREIGN = frozenset(["jaxvjp", "jax", "jaxlib", "numpy", "torch", *sys.stdlib_module_names]) - {"__main__"}
MISSING: Any = object()


class Place(NamedTuple):
    """Where a value is found: an `item` of a dictionary or sequence, an `attribute`, or a `cell` (key None)."""

    kind: str
    container: Any
    key: Any

    def read(self) -> Any:
        """What is there now; MISSING if nothing is."""
        try:
            if self.kind == "item":
                return self.container[self.key]
            return getattr(self.container, self.key)
        except (LookupError, AttributeError, ValueError):  # ValueError for an empty cell
            return MISSING

    def text(self, container: str, key: str) -> str:
        """The expression that reads it, where `container` and `key` are called that."""
        return f"{container}[{key}]" if self.kind == "item" else f"{container}.{self.key}"


class Seen(NamedTuple):
    """What was found at a place, and a copy of it where it can change in itself."""

    place: Place
    value: Any
    copy: Any = None

    def same(self) -> bool:
        """Whether it still is as it was; for a tensor, whether there still is one like it."""
        now, value = self.place.read(), self.value
        if isinstance(value, Tensor):
            return type(now) is type(value) and now.node.aval is self.copy
        if now is not value:
            return type(now) is type(value) and type(value) in PLAIN and bits(now) == bits(value)
        return self.copy is None or self.copy == copied(now)


def bits(value: Any) -> Any:
    """What is equal for equal numbers only: zeros of either sign are not, and what is no number is itself."""
    if type(value) is float:
        return repr(value)
    return repr(value) if type(value) is complex else value


def copied(value: Any) -> Any:
    """What tells that a value changed in itself."""
    if isinstance(value, Tensor):
        return value._node.aval
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return len(value) if len(value) < MANY else [*map(Same, value), *map(Same, value.values())]
    if isinstance(value, list | set):
        return len(value) if len(value) < MANY else [*map(Same, value)]
    return None


class Same:
    """Stands for an object where it is compared: equal for the same one only."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


class Named(NamedTuple):
    """What a piece of code names: global variables and attributes, that of the functions written in it included."""

    variables: frozenset[str]
    attributes: frozenset[str]


@cache
def named_in(code: CodeType) -> Named:
    """What `code` reads by name."""
    variables, attributes = set(), set()
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            variables.add(each.argval)
        elif each.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            attributes.add(each.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = named_in(constant)
            variables |= inner.variables
            attributes |= inner.attributes
    return Named(frozenset(variables), frozenset(attributes))


class Surroundings:
    """What the code of a step leads to, as it was when this was made.

    Attributes:
        seen: all of it, by place.
        refused: what cannot be looked at again, in words; None where there is no such thing.
    """

    def __init__(self, function: Callable[..., Any], arguments: list[Any]) -> None:
        self.seen: list[Seen] = []
        self.refused: str | None = None
        self._attributes: set[str] = set()
        self._met: dict[int, Any] = {}
        self._objects: list[tuple[Any, set[str]]] = []
        self._follow(function)
        for each in arguments:
            if not isinstance(each, Tensor):
                self._check(each, "takes")
                self._follow(each)
        known = -1
        while known < len(self._attributes) + len(self._objects):  # each may lead to more of the other
            known = len(self._attributes) + len(self._objects)
            for each, done in self._objects:
                for name in sorted({*self._attributes, *CALLED} - done):
                    done.add(name)
                    self._attribute(each, name)
        del self._met, self._objects

    def places(self) -> dict[Tensor, Place]:
        """For each tensor where it was found first."""
        found: dict[Tensor, Place] = {}
        for each in self.seen:
            if isinstance(each.value, Tensor):
                found.setdefault(each.value, each.place)
        return found

    def _see(self, place: Place) -> None:
        value = place.read()
        if value is MISSING or self.refused is not None:
            return
        self._check(value, "names")
        if not _foreign(value):
            self.seen.append(Seen(place, value, copied(value)))
            self._follow(value)

    def _check(self, value: Any, how: str) -> None:
        """Notes why a step cannot be staged that `how` ("takes") this value."""
        if hasattr(type(value), "__next__"):
            self.refused = f"{how} an iterator, which gives something else at each call: hand over what comes of it"
        elif isinstance(value, np.ndarray) and (value.nbytes > LARGE or how == "takes"):
            self.refused = f"{how} a NumPy array, which may change: hand it over as a tensor"
        elif len(self.seen) >= MOST:
            self.refused = f"leads to more than {MOST} values that may change"

    def _follow(self, value: Any) -> None:
        """Looks at what a value leads to, once."""
        if id(value) in self._met or type(value) in PLAIN or isinstance(value, Tensor | np.ndarray) or _foreign(value):
            return
        self._met[id(value)] = value
        if isinstance(value, partial):
            for each in (value.func, *value.args, *value.keywords.values()):
                self._follow(each)
        elif isinstance(value, MethodType):
            self._follow(value.__self__)
            self._follow(value.__func__)
        elif isinstance(value, FunctionType):
            self._code(value)
        elif isinstance(value, list | tuple | dict):
            keys = value.keys() if isinstance(value, dict) else range(len(value))
            for key in keys if len(value) < MANY else ():
                self._see(Place("item", value, key))
        else:
            self._objects.append((value, set()))
            wrapped = inspect.getattr_static(value, "__wrapped__", None)
            if wrapped is not None:
                self._follow(wrapped)

    def _code(self, function: FunctionType) -> None:
        named = named_in(function.__code__)
        self._attributes |= named.attributes
        for name in sorted(named.variables):
            if name in function.__globals__:
                self._see(Place("item", function.__globals__, name))
        for cell in function.__closure__ or ():
            self._see(Place("cell", cell, "cell_contents"))
        for each in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._follow(each)

    def _attribute(self, value: Any, name: str) -> None:
        found = inspect.getattr_static(value, name, MISSING)
        own = name in getattr(value, "__dict__", ())
        if isinstance(found, staticmethod | classmethod):
            found = found.__func__
        elif isinstance(found, property):
            found = found.fget
        if isinstance(found, FunctionType) and not own:
            self._follow(found)
        elif own or inspect.ismemberdescriptor(found) or not hasattr(type(found), "__get__"):
            self._see(Place("attribute", value, name))


def _foreign(value: Any) -> bool:
    """Whether it is no part of the user's program: a module, function, class or object of a library's."""
    if type(value) in PLAIN or isinstance(value, Tensor | np.ndarray | list | tuple | dict | set | CellType | partial):
        return False
    if isinstance(value, BuiltinFunctionType):
        return True
    if isinstance(value, FunctionType):
        return in_house(value.__code__.co_filename) or _of_library(value.__module__)
    if isinstance(value, ModuleType):
        return _of_library(value.__name__)
    if isinstance(value, MethodType):
        return _foreign(value.__func__)
    return _of_library((value if isinstance(value, type) else type(value)).__module__)


def _of_library(module: str | None) -> bool:
    if module is None or module.partition(".")[0] not in FOREIGN:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return module.partition(".")[0] != "jaxvjp" or file is None or in_house(file)


def checks(seen: list[Seen], names: dict[str, Any]) -> Iterator[str]:
    """Expressions that are true where something is not as it is now; what they name goes into `names`."""
    for number, (place, _, copy) in enumerate(seen):
        now = place.read()
        names[f"container{number}"], names[f"key{number}"], names[f"seen{number}"] = *place[1:], now
        read = place.text(f"container{number}", f"key{number}")
        if type(now) in (int, str) or (type(now) is float and now != 0):
            same = f"type({read}) is {type(now).__name__} and {read} == seen{number}"
            yield f"({read} is not seen{number} and not ({same}))"
        else:
            yield f"{read} is not seen{number}"
        if isinstance(copy, int | bytes | list):
            names[f"copy{number}"], names["copied"] = copy, copied
            yield f"{'len' if isinstance(copy, int) else 'copied'}(seen{number}) != copy{number}"

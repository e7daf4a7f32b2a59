"""Which objects can be compared later, and which functions are pure: tables of types and modules.

`math.sqrt` is pure; `time.time` is `impure`. A dict can be compared by its contents; a lock cannot: it is `opaque`.
"""

from __future__ import annotations

import inspect
import re
import sys
import types
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sized
from contextvars import ContextVar
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import jax
import numpy as np

from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.devices import device
from jaxvjp.types.dtypes import dtype
from jaxvjp.types.user_code import PACKAGE, in_package

MISSING: Any = object()
"""Stands for a value where there is none."""
CACHED: Any = type(lru_cache(abs))
"""The type of functions that `functools.cache` wraps, as JAX does some of its own."""
PLAIN = frozenset([int, float, bool, complex, str, bytes, type(None), dtype, device])
"""Immutable types that are compared by value."""
NEVER_CHANGE: tuple[Any, ...] = (
    *(*PLAIN, range, slice, CodeType, type(...), type(NotImplemented), types.GenericAlias, types.UnionType),
    *(re.Pattern, Decimal, date, datetime, time, timedelta, timezone, np.generic, np.dtype, np.ufunc, jax.Array),
)
"""Types whose objects stay as they are, with all that they hold."""
MEMORY = (np.ndarray, bytearray, array, memoryview)
"""Types that are compared by their bytes, if those are few."""
CONTENTS: dict[type, Callable[[Any], list[Any]]] = {
    list: lambda each: [*list.__iter__(each)],
    tuple: lambda each: [*tuple.__iter__(each)],
    deque: lambda each: [*deque.__iter__(each)],
    set: lambda each: [*set.__iter__(each)],
    frozenset: lambda each: [*frozenset.__iter__(each)],
    OrderedDict: lambda each: [*OrderedDict.__iter__(each), *OrderedDict.values(each)],
    dict: lambda each: [*dict.__iter__(each), *dict.values(each)],
    types.MappingProxyType: lambda each: [*each, *each.values()],
    ContextVar: lambda each: [each.get(MISSING)],
}
"""For each builtin container, the function that reads its contents without calling a subclass's overrides."""
BOUND = (FunctionType, MethodType, types.BuiltinFunctionType, partial, property, staticmethod, classmethod)
"""Types of functions, and of what binds or wraps one: what they hold is followed, not what their class has."""
IN_C = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
)
"""Types of methods written in C as a class has them, such as `list.append`: they stay as they are."""
SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)
"""Types of what a class has for attributes kept in C, as by `__slots__`: the attribute of each object is compared."""
READABLE = (
    *(*CONTENTS, *MEMORY, *NEVER_CHANGE, *BOUND, *IN_C, *SLOTS),
    *(type, type(vars(Sized)["_abc_impl"]), ModuleType, defaultdict, BaseException, Exception, Tensor),
)
"""Classes with state kept in C that need not, or can, be compared."""
PURE = frozenset(
    [
        *("builtins", "math", "cmath", "_operator", "operator", "itertools", "_functools", "functools", "_collections"),
        *("collections", "_bisect", "_heapq", "_abc", "_struct", "_string", "_sre", "_weakref", "_warnings", "decimal"),
        *("datetime", "numpy", "jax", "jaxlib", "jaxvjp"),
    ]
)
"""Modules whose C functions are pure; C functions of other modules may read anything."""
IMPURE = frozenset(["open", "input", "breakpoint", "globals", "now", "utcnow", "today"])
"""Functions in those modules that are not pure."""
OURS = frozenset(["jaxvjp", "jax", "jaxlib", "opt_einsum", "ml_dtypes", "importlib"])
"""Packages whose functions are never part of the user's program."""
FOLLOWED = ("jaxvjp.nn.modules.", "jaxvjp.nn.utils.", "jaxvjp.optim.")
"""Modules of ours that have settings and state of the user's, such as a learning rate or `training`: followed as the
user's own."""
LIBRARIES = (sys.stdlib_module_names | {"numpy"}) - {"__main__"}
"""Packages whose functions are part of the user's program where its functions call them."""


def told(value: Any) -> str:
    kind = value if type(value) in (type, types.BuiltinFunctionType) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("None.")


def package_of(value: Any) -> str:
    """The package of a module, function or class, or of an object's class; "" if that is the user's own."""
    if type(value) is CACHED:
        value = value.__wrapped__
    if issubclass(type(value), FunctionType) or type(value).__name__ == "cython_function_or_method":
        variables = value.__globals__
    elif issubclass(type(value), ModuleType):
        variables = vars(value)
    else:
        module = (value if issubclass(type(value), type) else type(value)).__module__
        variables = vars(sys.modules[module]) if module in sys.modules else {"__name__": module}
    return package_named(variables)


def package_named(variables: dict[str, Any]) -> str:
    name = str(variables.get("__name__"))
    package = "" if name.startswith(FOLLOWED) else name.partition(".")[0]
    if package.startswith("namedtuple_"):
        return "collections"
    if package not in ("jaxvjp", "torch"):
        return package
    if in_package(variables.get("__file__") or (PACKAGE if package == "jaxvjp" else "")):
        return "jaxvjp"  # also what `python -m jaxvjp run` puts in the place of torch's modules
    return package.removeprefix("jaxvjp")  # our examples count as the user's code


def ours(value: Any) -> bool:
    return package_of(value) in OURS


def foreign(value: Any) -> bool:
    """Whether code that computes names (`getattr(value, name)`) leaves it alone: a library's module, a tensor, ours."""
    package = package_of(value)
    return (
        issubclass(type(value), Tensor)
        or package in OURS
        or (issubclass(type(value), ModuleType) and package in LIBRARIES)
    )


def impure(value: Any) -> bool:
    """Whether it is a function in C that may read what changes."""
    if not issubclass(type(value), types.BuiltinFunctionType):
        return False
    owner = value.__self__
    if not issubclass(type(owner), ModuleType | type | types.NoneType):
        return opaque(owner) and not issubclass(type(owner), types.GeneratorType)
    module = str(owner.__module__ if issubclass(type(owner), type) else value.__module__)
    return (
        module.partition(".")[0] not in (*PURE, "None") or value.__name__ in IMPURE or module.startswith("numpy.random")
    )


def opaque(value: Any) -> bool:
    """Whether it has state in C that cannot be compared, beside its slots and its dictionary."""
    kind = type(value)
    if issubclass(type(value), NEVER_CHANGE) or (callable(value) and kind.__module__ == "numpy"):
        return False
    known = next((base for base in kind.__mro__ if base in READABLE), object)
    slots = sum(inspect.ismemberdescriptor(at) for base in kind.__mro__ for at in vars(base).values())
    references = (kind.__dictoffset__ > known.__dictoffset__) + (kind.__weakrefoffset__ > known.__weakrefoffset__)
    return kind.__basicsize__ > known.__basicsize__ + 8 * (slots + references)

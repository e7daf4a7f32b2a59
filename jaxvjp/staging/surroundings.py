"""What a step reads besides its arguments: watched while it is staged, compared at every later call.

A program is replayed only while everything that the names in the step's code lead to is as it was: numbers and texts
are compared by value, other objects by identity, mutable ones by their contents as well. What cannot be compared (an
iterator, an open file, a queue, the clock, a source of random numbers that is not ours) raises UnstageableError with
the line.

`def step(x): return x * args.lr` names the variable `args` and its attribute `lr`. At a later call the module must have
the same object as `args`, whose `lr` is equal. `with Surroundings(...)` uses Python's profiler to see which functions
run, so properties, hooks and operators of the user's classes are looked at, too. Of code that computes names, as in
`getattr(args, name)`, every attribute is compared. If a variable holds another tensor than before, that is no change:
the program reads the new one.
"""

from __future__ import annotations

import builtins
import dis
import gc
import inspect
import sys
import types
from collections import defaultdict, deque
from collections.abc import Callable
from functools import cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxvjp.staging.journal import Journal
from jaxvjp.staging.purity import (
    BOUND,
    CONTENTS,
    IN_C,
    LIBRARIES,
    MEMORY,
    MISSING,
    NEVER_CHANGE,
    OURS,
    SLOTS,
    foreign,
    impure,
    opaque,
    ours,
    package_named,
    told,
)
from jaxvjp.staging.seen import Place, Seen, asked, bytes_of
from jaxvjp.tensor.tensor import Tensor

COMPUTED = frozenset(
    [
        *("getattr", "hasattr", "setattr", "delattr", "vars", "dir", "__dict__", "__getattribute__", "__reduce_ex__"),
        *("attrgetter", "methodcaller", "format", "format_map", "AttributeError", "Exception"),
    ]
)
"""Functions and attributes, such as `getattr` and `__dict__`, that reach attributes whose names are not in the code."""
MOST_PLACES = 10_000
"""At most this many places are compared for one step."""
LARGE_BUFFER = 1 << 16
"""Buffers of this many bytes or more are not compared: that would take longer than the step."""


class Named(NamedTuple):
    """The names that a piece of code reads."""

    variables: frozenset[str]
    attributes: frozenset[str]
    modules: frozenset[str]


@cache
def named_in(code: CodeType) -> Named:
    found: dict[str, set[str]] = defaultdict(set)
    for each in dis.get_instructions(code):
        found[each.opname].add(str(each.argval))
    variables = found["LOAD_GLOBAL"] | found["LOAD_NAME"] | found["LOAD_FROM_DICT_OR_GLOBALS"]
    attributes = found["LOAD_ATTR"] | found["LOAD_METHOD"] | found["LOAD_SUPER_ATTR"] | found["IMPORT_FROM"]
    if "MATCH_CLASS" in found or not COMPUTED.isdisjoint(variables | attributes):
        attributes.add("__dict__")
    return Named(frozenset(variables), frozenset(attributes), frozenset(found["IMPORT_NAME"]))


class Surroundings:
    """What a step reads, as it was when the step began. In a `with` block it watches the functions that run.

    Attributes:
        seen: what was found, by place.
    """

    def __init__(self, function: Callable[..., Any], arguments: list[Any], journal: Journal) -> None:
        self.seen: list[Seen] = []
        self._journal = journal
        self._names: set[str] = set()
        self._ran: dict[tuple[int, int], CodeType] = {}
        self._code: list[CodeType] = []
        self._met: dict[int, Any] = {}
        self._places: set[Any] = set()
        self._absent: dict[int, set[str]] = {}
        self._objects: list[tuple[Any, str]] = []
        self._pending: list[tuple[Any, str]] = []
        self._given = {id(argument) for argument in arguments if issubclass(type(argument), Tensor)}
        self._pinned: set[int] = set()
        for each in (function, *arguments):
            if each is not function:
                self._check(each, "takes", "")
            self._follow(each, "")
        self._look_into_all()

    def __enter__(self) -> None:
        self._profile = sys.getprofile()
        sys.setprofile(self._profiled)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._profile if callable(self._profile) else None)
        for at, (place, value, _) in enumerate(self.seen):
            if id(value) in self._pinned:
                self.seen[at] = Seen(Place("contents", place, lambda each: [each.read()]), [value])

    def places(self) -> dict[Tensor, Place]:
        """For each tensor the place where it was found first."""
        return {each.value: each.place for each in reversed(self.seen) if issubclass(type(each.value), Tensor)}

    def _profiled(self, frame: Any, event: str, function: Any) -> None:
        """Called by Python's profiler when a Python function begins, or calls a C function."""
        if event not in ("call", "c_call") or self._journal.refused is not None:
            return
        this = id(frame.f_code), id(frame.f_globals)
        if event == "c_call":
            if impure(function) and self._of_program(frame):
                self._refuse(f"calls {told(function)}, which may give something else each time", "")
        elif this not in self._ran and self._of_program(frame):
            self._ran[this] = frame.f_code
            if package_named(frame.f_globals) not in LIBRARIES:
                self._code.append(frame.f_code)
            self._runs(frame)

    def _of_program(self, frame: Any) -> bool:
        """Whether a running function is part of the user's program: the user's own, or a library's that it called.

        Compiled code of ours has no frame, so a library function that it calls seems to be called by the user's. It is
        told apart by names: none in the user's code leads to the function, to the object whose method it is, or to its
        class.
        """
        package, caller = package_named(frame.f_globals), frame.f_back
        while package in LIBRARIES and caller is not None and package_named(caller.f_globals) in LIBRARIES:
            frame, caller = caller, caller.f_back
        if package in LIBRARIES:
            code = frame.f_code
            first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
            if self._met.keys().isdisjoint([id(code), id(first), id(type(first))]):
                return False
        while caller is not None and package not in OURS and package_named(caller.f_globals) not in OURS:
            package, caller = package_named(caller.f_globals), caller.f_back
        if caller is not None and package_named(caller.f_globals) == "importlib":
            return False  # what finds a module, or runs when it is imported: a later call finds it imported
        return package not in OURS | LIBRARIES

    def _runs(self, frame: Any) -> None:
        code, variables = frame.f_code, frame.f_globals
        named = named_in(code)
        for name in sorted(named.variables):
            if name in variables:
                self._see(Place("item", variables, name), name)
            else:
                if id(variables) not in self._absent:
                    self._absent[id(variables)] = lacking = set[str]()
                    self.seen.append(Seen(Place("contents", lacking, variables.keys().isdisjoint), True))
                self._absent[id(variables)].add(name)
                self._check(getattr(builtins, name, None), "names", name)
        for name in named.modules:
            for each in (name, f"{variables.get('__package__')}.{name}".rstrip(".")):
                self._see(Place("item", sys.modules, each), name)
        new = {*named.attributes, code.co_name} - self._names
        self._names |= new
        for each, name in [*self._objects]:
            self._look_up(each, new, name)
        self._look_into_all()
        codes = [each for each in self._met.values() if type(each) is CodeType]
        inside = any(code in each.co_consts for each in self._ran.values())
        if code.co_freevars and not inside and not any(each is code for each in codes):
            for each in gc.get_referrers(code):  # for example, of a hook, to which no name leads
                if type(each) is FunctionType and may_be_of(each, frame):
                    self._follow(each, code.co_name)
        self._look_into_all()

    def _see(self, place: Place, name: str) -> None:
        """Notes what is at a place that `name` in the code led to."""
        mark = (place.kind, id(place.container), place.key if type(place.key) is str else id(place.key))
        value = MISSING if mark in self._places else place.read()
        self._places.add(mark)
        in_our_module = issubclass(type(place.container), ModuleType) and ours(place.container)
        if value is MISSING or (in_our_module and ours(value)):
            return
        self._check(value, "names", name)
        if not issubclass(type(value), Tensor):
            self.seen.append(Seen(place, value))
        elif self._journal.older(self._journal.before(value)):  # otherwise the step itself put it there
            self.seen.append(Seen(place, value, asked(value)))
        if place.kind != "contents":
            self._follow(value, name)

    def _check(self, value: Any, how: str, name: str) -> None:
        """Refuses a step that `how` ("takes") a value, if the value cannot be compared at later calls."""
        what = None
        if hasattr(type(value), "__next__"):
            what = "an iterator, which gives something else at each call: hand over what comes of it"
        elif issubclass(type(value), np.ndarray) and (
            how == "takes" or value.nbytes > LARGE_BUFFER or value.dtype.hasobject
        ):
            what = "a NumPy array, which may change: hand it over as a tensor"
        elif issubclass(type(value), MEMORY) and (how == "takes" or memoryview(value).nbytes > LARGE_BUFFER):
            what = f"{told(value)}, which may change: hand it over as a tensor"
        elif impure(value):
            what = f"{told(value)}, which may give something else each time"
        elif opaque(value) and not ours(value):
            what = f"{told(value)}, of which cannot be told whether it has changed"
        if what is not None:
            self._refuse(f"{how} {what}", name)
        elif len(self.seen) >= MOST_PLACES:
            self._refuse(f"leads to more than {MOST_PLACES} values that may change", name)

    def _refuse(self, what: str, name: str) -> None:
        """Refuses the step because it `what`; the error says at which line `name` is in its code, or runs now."""
        for code in reversed(self._code) if name else ():
            for each in dis.get_instructions(code):
                if each.argval == name:
                    self._journal.refuse(what, (code, each.offset))
                    return
        frame: Any = sys._getframe()
        while frame is not None and package_named(frame.f_globals) in OURS | LIBRARIES:
            frame = frame.f_back
        self._journal.refuse(what, None if frame is None else (frame.f_code, frame.f_lasti))

    def _follow(self, value: Any, name: str) -> None:
        never = type(value) in NEVER_CHANGE or issubclass(type(value), np.generic | np.dtype | np.ufunc | jax.Array)
        if not never and id(value) not in self._met:
            self._met[id(value)] = value
            self._pending.append((value, name))

    def _look_into_all(self) -> None:
        while self._pending and self._journal.refused is None:
            self._look_into(*self._pending.pop())

    def _look_into(self, value: Any, name: str) -> None:
        """Notes what a value leads to: its contents, its attributes, its class, the names in its code."""
        kind = type(value)
        holds: list[Any] = []
        if issubclass(type(value), FunctionType):
            if ours(value):
                return
            self._met[id(value.__code__)] = value.__code__
            for each in ("__code__", "__defaults__", "__kwdefaults__"):
                if getattr(value, each) is not None:
                    self._see(Place("attribute", value, each), name)
            for cell, each in zip(value.__closure__ or (), value.__code__.co_freevars, strict=True):
                self._see(Place("attribute", cell, "cell_contents"), each)
        elif issubclass(type(value), MethodType):
            holds = [value.__self__, value.__func__]
        elif issubclass(type(value), types.BuiltinFunctionType):
            holds = [value.__self__]
        elif issubclass(type(value), partial):
            holds = [value.func, value.args, value.keywords]
        elif issubclass(type(value), property | staticmethod | classmethod):
            holds = [getattr(value, each, None) for each in ("fget", "fset", "fdel", "__func__")]
        elif issubclass(type(value), MEMORY):
            self._see(Place("contents", value, bytes_of), name)
        elif kind in (list, tuple, deque, dict):
            if kind is not tuple:
                self._see(Place("contents", value, list if kind is dict else len), name)
            for key in list(value) if kind is dict else range(len(value)):
                self._see(Place("item", value, key), name)
                self._follow(key, name)
        else:
            contents = next((CONTENTS[base] for base in kind.__mro__ if base in CONTENTS), None)
            if contents is not None:
                self._see(Place("contents", value, contents), name)
                holds = contents(value)
            elif not issubclass(type(value), type | ModuleType | Tensor) and not ours(value):
                self._places.add(("contents", id(value), id(type)))
                self.seen.append(Seen(Place("contents", value, type), kind))
        holds.append(own_of(value).get("__wrapped__"))
        if issubclass(type(value), type) and kind is not type:
            holds.append(kind)  # a metaclass of the user's
        for each in holds:
            self._check(each, "names", name)
            self._follow(each, name)
        self._objects.append((value, name))
        self._look_up(value, self._names, name)

    def _look_up(self, value: Any, names: set[str], led: str) -> None:
        """Notes the values of the attributes `names` of an object, class or module. No code of the user's runs."""
        is_class, own = issubclass(type(value), type), own_of(value)
        holder = value if is_class else type(value)
        classes = [] if issubclass(type(value), BOUND) else [vars(base) for base in holder.__mro__ if not ours(base)]
        if "__dict__" in names and (is_class or foreign(value)):
            names = names - {"__dict__"}
        called = holder is not type and any(map(ours, holder.__mro__))  # for example, the user's `autograd.Function`
        computed = "__dict__" in self._names and not foreign(value)
        for each in classes:
            if str(each.get("__module__", "builtins")).partition(".")[0] in LIBRARIES:
                names = names.union([key for key in each if computed and inspect.ismemberdescriptor(each[key])])
            elif computed or called:
                names = names.union(each)
            else:  # for example `__call__`, which is called without being named
                names = names.union([key for key in each if key[:2] == "__" and type(each[key]) is FunctionType])
        reads = any(isinstance(each.get("__getattribute__"), FunctionType) for each in classes)
        if reads or any("__getattr__" in each for each in classes):
            self._follow(own, led)
        for name in sorted(names.intersection({*own}.union(*classes))):
            found = next((each[name] for each in classes if name in each), MISSING)
            kind = type(found)
            if issubclass(type(value), Tensor) and name in own:
                self._pinned.add(id(value))
                if id(value) in self._given:
                    self._refuse(f"takes a tensor with an attribute of the user's (`.{name}`): hand that over", name)
            if name in own and not reads:
                self._see(Place("attribute", value, name), name)
            if found is MISSING or kind in IN_C or (is_class and kind in SLOTS):
                continue
            if kind is classmethod:
                self._see(Place("method", holder, name), name)
            elif kind is FunctionType and not (is_class or reads or name in own or name.startswith("__")):
                self._see(Place("method", value, name), name)
            elif kind in (FunctionType, property, staticmethod) or (name in own and not hasattr(kind, "__get__")):
                self._see(Place("attribute", holder, name), name)
            elif kind not in SLOTS and hasattr(kind, "__get__"):
                self._see(Place("item", next(each for each in classes if name in each), name), name)
            elif not reads:
                self._see(Place("attribute", value, name), name)


def may_be_of(function: Any, frame: Any) -> bool:
    """Whether this function may be the one that runs: of several that one `def` has made, its variables tell."""
    cells = zip(frame.f_code.co_freevars, function.__closure__ or (), strict=True)
    values = [(frame.f_locals.get(name, MISSING), Place("attribute", cell, "cell_contents")) for name, cell in cells]
    return all(place.read() is value for value, place in values)


def own_of(value: Any) -> dict[str, Any]:
    """The `__dict__` of an object or module, read without running the user's code."""
    try:
        return {} if issubclass(type(value), type) else object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}

"""What a step reads from around it, watched while it is staged, and compared at every later call.

A step is replayed only while everything that the functions which ran could reach by the names in their code is as it
was before: numbers and texts by their value, anything else by identity, and what can change in itself by its contents.
What cannot be compared so (an iterator, an open file, a queue, the clock, a source of random numbers that is not
ours) is refused: an UnstageableError with the line.

An example: `def step(x): return x * args.lr` names the variable `args` and the attribute `lr`; the dictionary of its
module has to give the same `args` for that name, and that an equal `lr`. `with Surroundings(...)` watches which
functions run, by Python's profiler, so a property, a hook or an `__add__` of the user's counts as well. Code that
computes names, as by `getattr(args, name)`, names every attribute there is. A tensor that has come to be another one is
used.
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
"""Names of what can find out attributes by names that the code does not show."""
MOST = 10_000
"""Places that are looked at for one step at the most."""
LARGE = 1 << 16
"""Bytes from which on memory is not compared: to see that it changed would cost more than the step."""


class Named(NamedTuple):
    """What a piece of code reads by name."""

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
    """What a step reads, as it was when it began; in a `with` block its functions are watched.

    Attributes:
        seen: all of it, by place.
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
        self._given = {id(each) for each in arguments if issubclass(type(each), Tensor)}
        self._pinned: set[int] = set()
        for each in (function, *arguments):
            if each is not function:
                self._check(each, "takes", "")
            self._follow(each, "")
        self._open_all()

    def __enter__(self) -> None:
        self._profile = sys.getprofile()
        sys.setprofile(self._happens)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._profile if callable(self._profile) else None)
        for at, (place, value, _) in enumerate(self.seen):
            if id(value) in self._pinned:
                self.seen[at] = Seen(Place("contents", place, lambda each: [each.read()]), [value])

    def places(self) -> dict[Tensor, Place]:
        """For each tensor where it was found first."""
        return {each.value: each.place for each in reversed(self.seen) if issubclass(type(each.value), Tensor)}

    def _happens(self, frame: Any, event: str, function: Any) -> None:
        """What Python's profiler tells: a function begins, or calls one in C."""
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
            self._runs(frame.f_code, frame.f_globals)

    def _of_program(self, frame: Any) -> bool:
        """Whether a function that runs is part of the user's program: theirs, or a library's that theirs called.

        A library's function was called by compiled code of ours, which has no frame, where no name led to it, nor to
        the object that it is a method of, nor to that one's class.
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
        return package not in OURS | LIBRARIES

    def _runs(self, code: CodeType, variables: dict[str, Any]) -> None:
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
        self._open_all()
        codes = [each for each in self._met.values() if type(each) is CodeType]
        inside = any(code in each.co_consts for each in self._ran.values())
        if code.co_freevars and not inside and not any(each is code for each in codes):
            for each in gc.get_referrers(code):  # of a hook, say, that nothing leads to
                if type(each) is FunctionType:
                    self._follow(each, code.co_name)
        self._open_all()

    def _see(self, place: Place, name: str) -> None:
        """Notes what is at a place, to which `name` in the code led."""
        mark = (place.kind, id(place.container), place.key if type(place.key) is str else id(place.key))
        value = MISSING if mark in self._places else place.read()
        self._places.add(mark)
        if value is MISSING or (type(place.container) is ModuleType and ours(place.container) and ours(value)):
            return
        self._check(value, "names", name)
        if not issubclass(type(value), Tensor):
            self.seen.append(Seen(place, value))
        elif self._journal.older(self._journal.before(value)):  # else the step has put it there
            self.seen.append(Seen(place, value, asked(value)))
        if place.kind != "contents":
            self._follow(value, name)

    def _check(self, value: Any, how: str, name: str) -> None:
        """Refuses a step that `how` ("takes") a value which cannot be compared later."""
        what = None
        if hasattr(type(value), "__next__"):
            what = "an iterator, which gives something else at each call: hand over what comes of it"
        elif issubclass(type(value), np.ndarray) and (how == "takes" or value.nbytes > LARGE or value.dtype.hasobject):
            what = "a NumPy array, which may change: hand it over as a tensor"
        elif issubclass(type(value), MEMORY) and (how == "takes" or memoryview(value).nbytes > LARGE):
            what = f"{told(value)}, which may change: hand it over as a tensor"
        elif impure(value):
            what = f"{told(value)}, which may give something else each time"
        elif opaque(value) and not ours(value):
            what = f"{told(value)}, of which cannot be told whether it has changed"
        if what is not None:
            self._refuse(f"{how} {what}", name)
        elif len(self.seen) >= MOST:
            self._refuse(f"leads to more than {MOST} values that may change", name)

    def _refuse(self, what: str, name: str) -> None:
        """Refuses the step for what a name in its code leads to, or for what its innermost function does."""
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

    def _open_all(self) -> None:
        while self._pending and self._journal.refused is None:
            self._open(*self._pending.pop())

    def _open(self, value: Any, name: str) -> None:
        """Looks at what a value leads to."""
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
            contents = next((CONTENTS[each] for each in kind.__mro__ if each in CONTENTS), None)
            if contents is not None:
                self._see(Place("contents", value, contents), name)
                holds = contents(value)
            elif not issubclass(type(value), type | ModuleType | Tensor) and not ours(value):
                self._places.add(("contents", id(value), id(type)))
                self.seen.append(Seen(Place("contents", value, type), kind))
        holds.append(own_of(value).get("__wrapped__"))
        if issubclass(type(value), type) and kind is not type:
            holds.append(kind)  # a class of classes of the user's
        for each in holds:
            self._check(each, "names", name)
            self._follow(each, name)
        self._objects.append((value, name))
        self._look_up(value, self._names, name)

    def _look_up(self, value: Any, names: set[str], led: str) -> None:
        """Notes what `names` are in an object, class or module. No code of the user's runs."""
        is_class, own = issubclass(type(value), type), own_of(value)
        holder = value if is_class else type(value)
        classes = [] if issubclass(type(value), BOUND) else [vars(each) for each in holder.__mro__ if not ours(each)]
        if "__dict__" in names and (is_class or foreign(value)):
            names = names - {"__dict__"}
        called = holder is not type and any(map(ours, holder.__mro__))  # a `Function` of the user's, say
        computed = "__dict__" in self._names and not foreign(value)
        for each in classes:
            if str(each.get("__module__", "builtins")).partition(".")[0] in LIBRARIES:
                names = names.union([key for key in each if computed and inspect.ismemberdescriptor(each[key])])
            elif computed or called:
                names = names.union(each)
            else:  # `__call__`, say, which is called without being named
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


def own_of(value: Any) -> dict[str, Any]:
    """What an object or module has as its own, past any code of the user's."""
    try:
        return {} if issubclass(type(value), type) else object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}

"""Reads a pickle that may be hostile: only the functions and classes of a table are called, and nothing is imported.

`Machine` is Python's own unpickler, of which it does the few instructions that data needs, some with a check.
"""

from __future__ import annotations

import pickle
import pickletools
import re
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

MAGIC, LEGACY_VERSION = 0x1950A86A20F9469CFC6C, 1001
"""The first two pickles of a file in the format from before torch 1.6."""
_safe: list[Any] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Lets `load` also make objects by these. Counterpart of `torch.serialization.add_safe_globals`.

    Args:
        safe_globals: classes and functions, or pairs of one and the name that it has in the file.
    """
    _safe.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """What was added by `add_safe_globals`. Counterpart of `torch.serialization.get_safe_globals`."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Takes back what was added. Counterpart of `torch.serialization.clear_safe_globals`."""
    _safe.clear()


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """`add_safe_globals` for a block. Counterpart of `torch.serialization.safe_globals`.

    Args:
        safe_globals: as of `add_safe_globals`.
    """
    before = list(_safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before


def added() -> dict[str, Any]:
    """What the user has added, by the name that it has in a file."""
    pairs = [each if isinstance(each, tuple) else (each, f"{each.__module__}.{each.__qualname__}") for each in _safe]
    return {named: each for each, name in pairs for named in (name, re.sub(r"^jaxvjp\.", "torch.", name))}


ALLOWED = frozenset(
    [
        *("PROTO", "FRAME", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1"),
        *("INT", "LONG", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "SHORT_BINSTRING", "BINSTRING"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8", "EMPTY_LIST", "EMPTY_TUPLE", "EMPTY_DICT"),
        *("EMPTY_SET", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "BINGET", "LONG_BINGET", "BINPUT", "LONG_BINPUT"),
        *("MEMOIZE", "BINPERSID", "GLOBAL", "STACK_GLOBAL", "REDUCE", "NEWOBJ", "BUILD"),
        *("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS"),
    ]
)
"""Instructions of a pickle that are done; others are an error."""
STATEFUL = (OrderedDict, Counter)
"""Classes whose instances take attributes from a file, as the `_metadata` of a `state_dict`."""
ERRORS = (LookupError, ValueError, AttributeError, TypeError, ArithmeticError, EOFError, struct.error)
"""What Python raises for a broken pickle."""
Unpickler: Any = pickle._Unpickler


class Machine(Unpickler):  # type: ignore[misc]
    """Reads the pickles of an open file, one at each `load`.

    Args:
        source: the file.
        table: what may be called or named, by its name in the file.
        persistent: makes the object that a reference stands for.
    """

    def __init__(self, source: Any, table: Mapping[str, Any], persistent: Callable[[Any], Any]) -> None:
        super().__init__(source, encoding="latin1")
        self.added = added()
        self.table = {**table, **self.added}
        self.persistent_load = persistent

    def load(self) -> Any:
        """The object of the next pickle; UnpicklingError where it is broken or wants what is not in the table."""
        try:
            return super().load()
        except ERRORS as error:
            raise pickle.UnpicklingError(f"{type(error).__name__}: {error}") from error

    def find_class(self, module: str, name: str) -> Any:
        """What the table has under a name; UnpicklingError, in torch's words, for any other."""
        name = f"{module}.{name}".replace("__builtin__.", "builtins.", 1)
        if name not in self.table:
            shown = name.removeprefix("builtins.")
            raise pickle.UnpicklingError(
                f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
                f"`torch.serialization.add_safe_globals([{shown}])` or the "
                f"`torch.serialization.safe_globals([{shown}])` context manager to allowlist this global if you trust "
                "this class/function."
            )
        return self.table[name]

    def load_reduce(self) -> None:
        function = self.stack[-2]
        if not any(function is each for each in self.table.values()) or type(self.stack[-1]) is not tuple:
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {function}")
        super().load_reduce()

    def load_newobj(self) -> None:
        kind = self.stack[-2]
        if not any(kind is each for each in self.added.values()):
            raise pickle.UnpicklingError(f"Trying to call __new__ for unrecognized class {kind}")
        super().load_newobj()

    def load_build(self) -> None:
        made = self.stack[-2]
        if type(made) in STATEFUL:
            vars(made).update(self.stack.pop())
        elif any(type(made) is each for each in self.added.values()):
            super().load_build()
        else:
            raise pickle.UnpicklingError(
                f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                f"`add_safe_globals`, but got {type(made)}"
            )

    def load_bytearray8(self) -> None:
        self.append(bytearray(self.read(*struct.unpack("<Q", self.read(8)))))  # Python's takes memory for any length

    def load_append(self) -> None:
        _check("append to", self.stack[-2], list)
        super().load_append()

    def load_appends(self) -> None:
        _check("append to", self.metastack[-1][-1], list)
        super().load_appends()

    def load_setitem(self) -> None:
        _check("set items of", self.stack[-3], dict, *STATEFUL)
        super().load_setitem()

    def load_setitems(self) -> None:
        _check("set items of", self.metastack[-1][-1], dict, *STATEFUL)
        super().load_setitems()

    def load_additems(self) -> None:
        _check("add to", self.metastack[-1][-1], set)
        super().load_additems()


def _check(what: str, into: Any, *kinds: type) -> None:
    if type(into) not in kinds:
        raise pickle.UnpicklingError(f"Can not {what} {type(into).__name__}")


def _loader(instruction: pickletools.OpcodeInfo) -> Callable[[Machine], None]:
    def refuse(_: Machine) -> None:
        raise pickle.UnpicklingError(f"Unsupported operand {instruction.name}")

    found = Unpickler.dispatch.get(ord(instruction.code))
    return getattr(Machine, found.__name__) if instruction.name in ALLOWED and found is not None else refuse


Machine.dispatch = {ord(each.code): _loader(each) for each in pickletools.opcodes}

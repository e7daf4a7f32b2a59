"""Reads a pickle that may be hostile: only the functions and classes of a table are called, and nothing is imported.

Python's `pickletools` splits the pickle into instructions, and `Machine` does the few of them that data needs.
"""

from __future__ import annotations

import pickle
import pickletools
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

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
    return {name: each for each, name in pairs}


class _Mark:
    """Where a group of values begins on the stack."""


MARK = _Mark()
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict, "EMPTY_SET": set}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
VALUES = frozenset(
    [
        *("BININT", "BININT1", "BININT2", "LONG1", "INT", "LONG", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE"),
        *("BINUNICODE8", "SHORT_BINSTRING", "BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    ]
)
"""Instructions that put their argument on the stack."""
STATEFUL = (OrderedDict, Counter)
"""Classes whose instances take attributes from a file, as the `_metadata` of a `state_dict`."""


class Machine:
    """Does the instructions of a pickle.

    Args:
        table: what may be called or named, by its name in the file.
        persistent: makes the object that a reference stands for.
    """

    def __init__(self, table: Mapping[str, Any], persistent: Callable[[Any], Any]) -> None:
        self.added = added()
        self.table = {**table, **self.added}
        self.persistent = persistent
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def load(self, source: Any) -> Any:
        """The object of the next pickle in an open file.

        UnpicklingError where the pickle is broken or wants what is not in the table.
        """
        try:
            for code, argument, _ in pickletools.genops(source):
                if code.name == "STOP":
                    return self.stack.pop()
                self.do(code.name, argument)
        except (LookupError, ValueError, AttributeError, TypeError, ArithmeticError) as error:
            raise pickle.UnpicklingError(f"{type(error).__name__}: {error}") from error
        raise pickle.UnpicklingError("the pickle has no end")

    def do(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in VALUES:
            stack.append(argument)
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in EMPTY:
            stack.append(EMPTY[name]())
        elif name in TUPLES:
            stack.append(self.popped(TUPLES[name]))
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(self.memo[argument])
        elif name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self.memo[len(self.memo) if name == "MEMOIZE" else argument] = stack[-1]
        elif name not in ("PROTO", "FRAME"):
            action = ACTIONS.get(name)
            if action is None:
                raise pickle.UnpicklingError(f"Unsupported operand {name}")
            action(self, argument)

    def popped(self, count: int) -> tuple[Any, ...]:
        """The last values, taken off the stack."""
        if len(self.stack) < count:
            raise IndexError("pop from empty stack")
        found = tuple(self.stack[len(self.stack) - count :])
        del self.stack[len(self.stack) - count :]
        return found

    def marked(self) -> tuple[Any, ...]:
        """The values since the last mark, taken off the stack with it."""
        place = len(self.stack) - 1
        while self.stack[place] is not MARK:
            place -= 1
            if place < 0:
                raise IndexError("no mark")
        found = self.popped(len(self.stack) - place - 1)
        self.stack.pop()
        return found

    def named(self, name: str) -> Any:
        """What the table has under a name; UnpicklingError, in torch's words, for any other."""
        name = name.replace("__builtin__.", "builtins.", 1)
        if name not in self.table:
            shown = name.removeprefix("builtins.")
            raise pickle.UnpicklingError(
                f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
                f"`torch.serialization.add_safe_globals([{shown}])` or the "
                f"`torch.serialization.safe_globals([{shown}])` context manager to allowlist this global if you trust "
                "this class/function."
            )
        return self.table[name]

    def reduce(self, _: Any) -> None:
        function, arguments = self.popped(2)
        if not any(function is each for each in self.table.values()) or type(arguments) is not tuple:
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {function}")
        self.stack.append(function(*arguments))

    def new(self, _: Any) -> None:
        kind, arguments = self.popped(2)
        if not any(kind is each for each in self.added.values()):
            raise pickle.UnpicklingError(f"Trying to call __new__ for unrecognized class {kind}")
        self.stack.append(kind.__new__(kind, *arguments))

    def build(self, _: Any) -> None:
        (state,) = self.popped(1)
        made = self.stack[-1]
        if type(made) in STATEFUL:
            vars(made).update(state)
        elif any(type(made) is each for each in self.added.values()):
            set_state = getattr(made, "__setstate__", None)
            vars(made).update(state) if set_state is None else set_state(state)
        else:
            raise pickle.UnpicklingError(
                f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                f"`add_safe_globals`, but got {type(made)}"
            )

    def append(self, values: Sequence[Any]) -> None:
        into = self.stack[-1]
        if type(into) is not list:
            _refuse("append to", into)
        into.extend(values)

    def set_items(self, values: Sequence[Any]) -> None:
        into = self.stack[-1]
        if type(into) not in (dict, *STATEFUL) or len(values) % 2:
            _refuse("set items of", into)
        into.update(zip(values[::2], values[1::2], strict=True))

    def add_items(self, _: Any) -> None:
        values = self.marked()
        if type(self.stack[-1]) is not set:
            _refuse("add to", self.stack[-1])
        self.stack[-1].update(values)


def _refuse(what: str, into: Any) -> NoReturn:
    raise pickle.UnpicklingError(f"Can not {what} {type(into).__name__}")


ACTIONS: dict[str, Callable[[Machine, Any], None]] = {
    "ADDITEMS": Machine.add_items,
    "APPEND": lambda machine, _: machine.append(machine.popped(1)),
    "APPENDS": lambda machine, _: machine.append(machine.marked()),
    "BINPERSID": lambda machine, _: machine.stack.append(machine.persistent(*machine.popped(1))),
    "BUILD": Machine.build,
    "GLOBAL": lambda machine, name: machine.stack.append(machine.named(".".join(name.split(" ", 1)))),
    "MARK": lambda machine, _: machine.stack.append(MARK),
    "NEWOBJ": Machine.new,
    "REDUCE": Machine.reduce,
    "SETITEM": lambda machine, _: machine.set_items(machine.popped(2)),
    "SETITEMS": lambda machine, _: machine.set_items(machine.marked()),
    "STACK_GLOBAL": lambda machine, _: machine.stack.append(machine.named("{}.{}".format(*machine.popped(2)))),
    "TUPLE": lambda machine, _: machine.stack.append(machine.marked()),
}
"""The instructions that do more than put a value on the stack."""

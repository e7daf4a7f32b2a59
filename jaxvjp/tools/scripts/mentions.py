"""Where a library mentions a name of torch's that jaxvjp lacks, and would end there.

A library of a hundred modules often needs such a name in one that its user never calls: `from torch.distributed.nn
import all_reduce` at the head of a file. There the name is one that fails when it is used (`answers.absent`). Code that
asks whether torch has a name gets the true answer as before: `hasattr`, `getattr`, and `try: import` with `except
ImportError`, in the file or in one that imports it.
"""

from __future__ import annotations

import ast
import dis
import importlib
import inspect
import linecache
import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from types import FrameType
from typing import Any

from jaxvjp.types.user_code import PACKAGE

CAUGHT = frozenset(["ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"])
"""Exceptions that a missing name or module raises, and what they are."""
MACHINERY = (PACKAGE, "<frozen importlib", os.path.dirname(importlib.__file__) + os.sep)
"""Files whose frames lie between the line that asks for a name and this module."""
IMPORTS = {"IMPORT_NAME", "IMPORT_FROM"}


def is_mentioned(place: str, name: str, known: bool, is_whole: bool = False) -> bool:
    """Whether the line that asks for `name` of `place` is a library's, would fail, and nothing would catch it.

    Args:
        known: whether the name is one of torch's public names. Such a class may also be mentioned in a function, for
            `isinstance`, and any name as `module.name` at the head of a file.
        is_whole: whether jaxvjp lacks all of the module, which a library imported.
    """
    frames = _frames()
    asking = next(frames, None)
    if asking is None or asking.f_globals.get("__name__") == "__main__" or not asking.f_globals.get("__spec__"):
        return False  # the user's program, to which an error at once says more
    operation = dis.opname[asking.f_code.co_code[asking.f_lasti]]
    if operation not in IMPORTS:
        is_head = not asking.f_code.co_flags & inspect.CO_OPTIMIZED
        if operation not in ("LOAD_ATTR", "LOAD_METHOD") or not (
            is_whole or (known and (is_head or name[:1].isupper()))
        ):
            return False
    elif not known and place == "torch":
        return False
    return not _is_caught(chain([asking], frames), CAUGHT)


def ends_program(error: str) -> bool:
    """Whether an error, such as "OSError", would end the import of a library, as nothing catches it."""
    return not _is_caught(_frames(), CAUGHT | {error})


def _is_caught(frames: Iterable[FrameType], kinds: frozenset[str]) -> bool:
    """Whether one of the files that import each other catches an error, up to the first line that is in a function."""
    for frame in frames:
        if any(frame.f_lineno in lines for lines in _guarded(frame.f_code.co_filename, kinds)):
            return True
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # it is not known who waits for it
            return False
    return False


def asks_whether() -> bool:
    """Whether `importlib.util.find_spec` is running, which gives None for a module that is not there."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(MACHINERY):
        if frame.f_code.co_name == "find_spec" and frame.f_globals.get("__name__") == "importlib.util":
            return True
        frame = frame.f_back
    return False


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(MACHINERY):
            yield frame
        frame = frame.f_back


@lru_cache(maxsize=64)
def _guarded(file: str, kinds: frozenset[str]) -> tuple[range, ...]:
    """The lines of a file in which errors of these kinds are caught, and the program goes on."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any(_goes_on(each, kinds) for each in node.handlers):
            found.append(range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1))
        elif isinstance(node, ast.With) and any("suppress" in ast.unparse(item) for item in node.items):
            found.append(range(node.lineno, (node.end_lineno or 0) + 1))
    return tuple(found)


def _goes_on(handler: ast.ExceptHandler, kinds: frozenset[str]) -> bool:
    given: Any = handler.type
    named = [None] if given is None else given.elts if isinstance(given, ast.Tuple) else [given]
    caught = any(each is None or ast.unparse(each).rpartition(".")[2] in kinds for each in named)
    return caught and not isinstance(handler.body[-1], ast.Raise)

"""Which code is the user's, and warnings that are given for the user's line (`warn_user`); what the user calls us."""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any

import jax

PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..")) + os.sep
USERS = tuple(PACKAGE + each for each in ("examples" + os.sep, os.path.join("tools", "bench", "workloads")))
"""Parts of this package that count as the user's code."""
CALLERS = (contextlib.__file__, functools.__file__, copy.__file__)
"""Files of Python's whose functions call ours for the user: `with` a function's context, `deepcopy`."""
JAX = os.path.dirname(jax.__file__) + os.sep
"""What may stand between the user's line and ours, too: JAX asks a tensor for its array, and calls an op back."""
inside_package: dict[str, bool] = {}
"""What `in_package` has found, for each name of a file."""


def in_package(filename: str) -> bool:
    """Whether a file is part of this package and not of `USERS`, or of JAX, or one of `CALLERS`, or of what runs a
    module."""
    inside = (filename.startswith(PACKAGE) and not filename.startswith(USERS)) or filename in CALLERS
    inside |= filename.startswith(JAX)
    inside |= filename.startswith("<frozen ")  # `<frozen runpy>`, `<frozen importlib._bootstrap>`
    inside_package[filename] = inside
    return inside


def user_frame() -> FrameType | None:
    """The innermost frame that runs the user's code. Compiled modules have no frames, so they cannot be counted."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and in_package(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _variables(frame: FrameType | None) -> dict[str, Any]:
    frame = frame or user_frame()
    return {} if frame is None else {**frame.f_globals, **frame.f_locals}


def users_name(thing: object, otherwise: str) -> str:
    """What the user's code calls a thing, for advice."""
    return next((name for name, value in _variables(None).items() if value is thing and name[0] != "_"), otherwise)


def own_name(frame: FrameType | None = None) -> str:
    """The name by which the user's code, or that of a frame, calls this package, for advice: `torch` after
    `import jaxvjp as torch`."""
    for name, value in _variables(frame).items():
        known = isinstance(value, ModuleType) and value.__name__ in ("jaxvjp", "torch")
        if known and getattr(value, "__file__", None) == f"{PACKAGE}__init__.py":
            return name
    return "jaxvjp"


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """`warnings.warn` for the innermost line that is the user's."""
    frame = user_frame()
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__", "<string>")  # Python shows a DeprecationWarning of `__main__` alone
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, module, registry)


class _Told(threading.local):
    messages: list[str] | None = None


_told = _Told()


def warn_of_call(message: str) -> None:
    """For the code of an op, which runs where a call is recorded for the first time, and where JAX compiles it: has
    this call warn, and each one like it, at the user's line."""
    if _told.messages is not None:
        _told.messages.append(message)


def warn_of_older(name: str, newer: str) -> None:
    """For the code of an op that torch has under a newer name."""
    warn_of_call(
        f"torch.{name} is deprecated in favor of torch.{newer} and will be removed in a future PyTorch release."
    )


@contextlib.contextmanager
def warnings_of_call() -> Iterator[list[str]]:
    """What the code of an op says by `warn_of_call` in this block."""
    before, _told.messages = _told.messages, []
    try:
        yield _told.messages
    finally:
        _told.messages = before

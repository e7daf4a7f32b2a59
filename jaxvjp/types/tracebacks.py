"""What a user sees of an error's traceback: the lines of their own, as JAX leaves out its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, TypeVar

import jax

E = TypeVar("E", bound=BaseException)
F = TypeVar("F", bound=Callable[..., Any])


def without_own_lines(error: E, also_of_jax: bool = False) -> E:
    """`error`, whose traceback and notes have lost the lines of jaxvjp and JAX, but with JAX_TRACEBACK_FILTERING=off.

    What JAX itself raises keeps them, unless `also_of_jax`: it may be a fault of this package.
    """
    parts = [*_parts(error.__traceback__)]
    shown = getattr(jax.config, "jax_traceback_filtering", None) == "off"
    if shown or not parts or (_package(parts[-1]) == "jax" and not also_of_jax):
        return error
    kept: TracebackType | None = None
    for part in reversed(parts):
        if _package(part) not in ("jaxvjp", "jax"):
            kept = TracebackType(kept, part.tb_frame, part.tb_lasti, part.tb_lineno)
    if hasattr(error, "__notes__"):
        error.__notes__ = [note for note in error.__notes__ if "JAX has removed" not in note]
    return error.with_traceback(kept)


def without_own_lines_in_errors(function: F) -> F:
    """`function`, whose errors have the user's lines alone in their traceback."""

    @functools.wraps(function)
    def within(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except Exception as error:
            raise without_own_lines(error)  # noqa: B904  # it is the same error

    return within  # type: ignore[return-value]


def _package(part: TracebackType) -> str:
    return str(part.tb_frame.f_globals.get("__name__", "")).partition(".")[0]


def _parts(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next

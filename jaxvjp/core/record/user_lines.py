"""Finds the user's line that an operation was recorded for: for error messages, `explain`, and finding loops.

Each operation keeps a code object and the number of an instruction in it (`user_line`), which is cheap. `located` makes
a file name, a line number and the line's text of them when somebody asks.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from types import CodeType
from typing import Any, NamedTuple

from jaxvjp.core.record.collector import leave_uncollected
from jaxvjp.types.compiled import CYTHONIZED
from jaxvjp.types.user_code import in_package, inside_package

UserLine = tuple[CodeType, int] | None
TEMPORARY = re.compile(r"[/\\]ipykernel_\d+[/\\]|^<ipython-input-")
"""What is in the name of a file that stands for a cell of a notebook."""


def user_frame(frame: Any) -> Any:
    """The innermost frame, from this one outwards, that is not in this package; None if all are."""
    known: dict[str, bool] = inside_package
    while frame is not None:
        code: CodeType = code_of(frame) if CYTHONIZED else frame.f_code  # type: ignore[name-defined]  # noqa: F821
        inside = known.get(code.co_filename)
        if inside is None:
            inside = in_package(code.co_filename)
        if not inside:
            return frame
        frame = back_of(frame) if CYTHONIZED else frame.f_back  # type: ignore[name-defined]  # noqa: F821
    return None


def user_line(frame: Any = None) -> UserLine:
    """The code object and instruction of the innermost frame that is not in this package, from `frame` outwards.

    Without `frame`, from the caller's. In C (see user_lines.pxd) an addition is recorded in four fifths of the time.
    """
    if CYTHONIZED:
        frame = user_frame(innermost_frame() if frame is None else frame)  # type: ignore[name-defined]  # noqa: F821
        if frame is None:
            return None
        line = (code_of(frame), instruction_of(frame))  # type: ignore[name-defined]  # noqa: F821
        leave_uncollected(line)
        return line
    frame = user_frame(sys._getframe(1) if frame is None else frame)
    return None if frame is None else (frame.f_code, frame.f_lasti)


def cell_of(filename: str) -> str:
    """What the cell of a notebook is called whose code has this name of a file, `cell 3` if IPython knows its number;
    "" for a file."""
    interactive = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = None if interactive is None else interactive()
    if shell is not None and (known := shell.compile.format_code_name(filename)) is not None:
        return f"cell {known[1].strip('In[]')}"
    return "a cell" if TEMPORARY.search(filename) else ""


class Location(NamedTuple):
    """A line of the user's code."""

    filename: str
    number: int
    text: str

    def __str__(self) -> str:
        file = cell_of(self.filename) or self.filename
        return f"line {self.number} of {file}" + (f":\n    {self.text}" if self.text else "")


def located(where: UserLine) -> Location | None:
    """The file, line number and text for a result of `user_line`."""
    if where is None:
        return None
    code, instruction = where
    line = next(
        (each for start, end, each in code.co_lines() if start <= instruction < end and each is not None),
        code.co_firstlineno,
    )
    return Location(code.co_filename, line, linecache.getline(code.co_filename, line).strip())


def loop_around(inside: UserLine, outside: UserLine) -> int | None:
    """The first line of the outermost loop that has `inside` in it and not `outside`, in one function; None if none."""
    if inside is None or outside is None or inside[0] is not outside[0]:
        return None
    here, there = located(inside), located(outside)
    assert here is not None
    assert there is not None
    try:
        tree = ast.parse("".join(linecache.getlines(here.filename)))
    except SyntaxError:  # a cell of a notebook with magic in it, say
        return None
    loops = [each for each in ast.walk(tree) if isinstance(each, ast.For | ast.While)]
    spans = [range(loop.lineno, (loop.end_lineno or loop.lineno) + 1) for loop in loops]
    return min((span.start for span in spans if here.number in span and there.number not in span), default=None)

"""The user's line behind an operation, kept as cheaply as it can be and read when it is asked for."""

from __future__ import annotations

import ast
import linecache
import os
from types import CodeType
from typing import Any, NamedTuple

HOUSE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")) + os.sep
USERS = tuple(HOUSE + each for each in ("examples" + os.sep, os.path.join("tools", "bench", "workloads")))
"""What lies in this package and is written as a user writes."""
Where = tuple[CodeType, int] | None
_in_house: dict[str, bool] = {}


def user_line(frame: Any) -> Where:
    """The code and instruction of the innermost frame outside this package; cheap, for it runs at every operation."""
    while frame is not None:
        code: CodeType = frame.f_code
        inside = _in_house.get(code.co_filename)
        if inside is None:
            inside = in_house(code.co_filename)
        if not inside:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


class Location(NamedTuple):
    """A line of the user's."""

    filename: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"line {self.number} of {self.filename}" + (f":\n    {self.text}" if self.text else "")


def located(where: Where) -> Location | None:
    """File, line number and text for what `user_line` kept."""
    if where is None:
        return None
    code, instruction = where
    line = next(
        (each for start, end, each in code.co_lines() if start <= instruction < end and each is not None),
        code.co_firstlineno,
    )
    return Location(code.co_filename, line, linecache.getline(code.co_filename, line).strip())


def loop_around(inside: Where, outside: Where) -> int | None:
    """The line of the loop that `inside` stands in and `outside`, in the same function, does not; None without one."""
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
    spans = [range(each.lineno, (each.end_lineno or each.lineno) + 1) for each in loops]
    return min((span.start for span in spans if here.number in span and there.number not in span), default=None)


def in_house(filename: str) -> bool:
    """Whether code from there is this package's own."""
    inside = _in_house[filename] = filename.startswith(HOUSE) and not filename.startswith(USERS)
    return inside

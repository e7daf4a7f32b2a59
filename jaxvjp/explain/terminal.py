"""Tables, matrices and progress for a terminal.

On a terminal, with rich installed (the extra `terminal`), they have borders and colours; otherwise they are plain text.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

try:
    import rich.console
    import rich.progress
    import rich.table
    import rich.text
except ImportError:  # pragma: no cover - the plain forms below do without
    HAS_RICH = False
else:
    HAS_RICH = True

T = TypeVar("T")


def _fancy() -> bool:
    return HAS_RICH and sys.stdout.isatty()


def heading(text: str, style: str = "bold") -> None:
    """Prints a heading."""
    if _fancy():
        rich.console.Console(highlight=False).print(rich.text.Text(text), style=style)
    else:
        print(text)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
    """Prints rows under column heads, aligned; `styles` has a style of rich, such as "bold red", for each row, or is
    empty."""
    body = [list(row) for row in rows]
    if _fancy():
        drawn = rich.table.Table()
        for column in columns:
            drawn.add_column(column, overflow="fold")  # not truncated: names are to be typed
        for row, style in itertools.zip_longest(body, styles, fillvalue=""):
            cells = [rich.text.Text(each) for each in row]  # not markup: `[1 2]` would be taken for a style
            drawn.add_row(*cells, style=style or None)
        rich.console.Console(highlight=False).print(drawn)
        return
    widths = [max(len(row[column]) for row in [list(columns), *body]) for column in range(len(columns))]
    for row in [list(columns), *body]:
        print("  ".join(each.ljust(width) for each, width in zip(row, widths, strict=True)).rstrip())


def progress(items: Iterable[T], name: str, total: int | None = None) -> Iterator[T]:
    """Yields `items`, with a progress bar on a terminal.

    If `total` is given, and there is no terminal, a line is written to standard error after each tenth of them.
    """
    if _fancy():
        yield from rich.progress.track(items, name, total, transient=True)
        return
    for number, each in enumerate(items, 1):
        yield each
        if total is not None and number * 10 // total > (number - 1) * 10 // total:
            print(f"{name}: {number} of {total}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def status(text: str) -> Iterator[Callable[[str], None]]:
    """Shows a status line on a terminal; yields a function that changes its text."""
    if _fancy():
        with rich.console.Console().status(text) as shown:
            yield shown.update
    else:
        yield lambda _: None


def numbers(array: Any, digits: int = 5) -> str:
    """A few numbers on one line: `[0.3 3 0.0003]`."""
    values = np.asarray(array)
    told: Any = dict.fromkeys(("float_kind", "complex_kind"), lambda each: f"{each + 0.0:.{digits}g}")
    text = np.array2string(values, formatter=told, max_line_width=10**6, threshold=24)
    return " ".join(text.split())


def matrix(name: str, values: Any, rows: Sequence[str], columns: Sequence[str]) -> str:
    """A matrix with a name, and labels on its rows and columns."""
    # `+ 0.0` turns -0.0 into 0.0, so that no sign is shown.
    cells = [[f"{each + 0.0:.5g}" for each in row] for row in np.asarray(values).tolist()]
    left = max(len(each) for each in [name, *rows])
    widths = [max([len(label), *[len(row[i]) for row in cells]]) for i, label in enumerate(columns)]

    def line(label: str, entries: Sequence[str]) -> str:
        aligned = [each.rjust(width) for each, width in zip(entries, widths, strict=True)]
        return "  ".join([label.ljust(left), *aligned]).rstrip()

    return "\n".join([line(name, columns), *[line(*each) for each in zip(rows, cells, strict=True)]])


def labels(name: str, shape: tuple[int, ...]) -> list[str]:
    """A name for each element: `x[0,1]`."""
    if not shape:
        return [name]
    name = f"({name})" if " " in name else name
    positions = []
    for number in range(math.prod(shape)):
        position = []
        for size in reversed(shape):
            number, place = divmod(number, size)
            position.append(str(place))
        positions.append(f"{name}[{','.join(reversed(position))}]")
    return positions


def wrapped(text: str) -> str:
    """A paragraph in lines of the terminal's width, 120 at most."""
    width = min(shutil.get_terminal_size((120, 24)).columns, 120)
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows under column heads as plain text; empty columns are left out."""
    kept = [place for place in range(len(columns)) if any(row[place] for row in rows)]
    table = [[columns[place] for place in kept], *[[row[place] for place in kept] for row in rows]]
    widths = [max(len(row[place]) for row in table) for place in range(len(kept))]
    return "\n".join(
        "  ".join(each.ljust(width) for each, width in zip(row, widths, strict=True)).rstrip() for row in table
    )

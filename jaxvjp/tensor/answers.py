"""Functions that only answer or pass on, as rows of a text.

    device_count() -> int = 0  # How many there are: none.

is a function with torch's parameters: what it gives, an expression or `raise` and an error, and what it does. That may
stand on lines of its own, further in; a line that ends with a comma goes on in the next. A row without parentheses is
a value: a setting, or another name of a function. `from jaxvjp.library.random_tensors import seed, fork_rng` has those
names of another module.
"""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxvjp.tensor.published import public
from jaxvjp.types.user_code import PACKAGE

ROW = re.compile(r"(\w+)(\(.*\) -> .*?|: .*?|) = (.*?)(?:(?:  # |\n +)((?:.|\n)*))?")


class Row(NamedTuple):
    """A function or value: its name, its signature or type, what it gives, and the first sentence of its docstring.

    Of what another module has, `form` is `from` and the module.
    """

    name: str
    form: str
    answer: str
    doc: str

    def source(self) -> str:
        """Its definition."""
        if self.form.startswith("from "):
            return f"{self.form} import {self.name}"
        if not self.form.startswith("("):
            return f"{self.name} = {self.answer}"
        does = self.answer if self.answer.startswith("raise ") else f"return {self.answer}"
        return f"def {self.name}{self.form}:\n    {self.doc!r}\n    {does}"


def rows_of(text: str) -> list[Row]:
    """The rows of a text. ValueError for a line that is none."""
    found = []
    for each in re.split(r"\n+(?! )", re.sub(r",\n +", ", ", inspect.cleandoc(text))) if text else ():
        home, _, names = each.partition(" import ")
        parts = ROW.fullmatch(each)
        if parts is not None:
            found.append(Row(*parts.groups("")))
        elif home.startswith("from "):
            found += [Row(name, home, "", "") for name in re.findall(r"\w+", names)]
        else:
            raise ValueError(f"no row: {each}")
    return found


def define(rows: Sequence[Row], space: dict[str, Any]) -> dict[str, Any]:
    """What rows stand for, by name; their code reads the names of a module, whose namespace is `space`."""
    lines = "\n".join(["from __future__ import annotations", *[row.source() for row in rows]]).splitlines(True)
    file = f"{PACKAGE}rows of {space['__name__']} {''.join(row.name for row in rows[:1])}"
    linecache.cache[file] = (0, None, lines, file)  # for tracebacks, and who asks for the source
    made: dict[str, Any] = {}
    exec(compile("".join(lines), file, "exec"), space, made)
    del made["annotations"]
    return made


def publish(texts: Mapping[str, str], space: dict[str, Any]) -> None:
    """Defines rows in a module, by torch's places, and publishes them there (`public`)."""
    for places, text in texts.items():
        for name, function in define(rows_of(text), space).items():
            space[name] = public(places, name)(function)

"""Functions that only answer or pass on, a row each: `Row("device_count() -> int", "How many there are: none.", "0")`.

A row says how the function is called, in torch's words, what it does, and what it gives: an expression, or `raise`
and an error. `define` makes functions of rows, `publish` those that are torch's functions and methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxvjp.tensor.published import public
from jaxvjp.types.user_code import PACKAGE


class Row(NamedTuple):
    """A function; or a value, where `call` has no parentheses: a setting that a program writes, or another name."""

    call: str
    doc: str = ""
    answer: str = "None"

    @property
    def name(self) -> str:
        """What it is called."""
        return self.call.partition("(")[0].partition(":")[0]

    @property
    def source(self) -> str:
        """Its definition."""
        if "(" not in self.call:
            return f"{self.name} = {self.answer}"
        does = self.answer if self.answer.startswith("raise ") else f"return {self.answer}"
        return f"def {self.call}:\n    {self.doc!r}\n    {does}"


def define(rows: Iterable[Row], space: dict[str, Any]) -> dict[str, Any]:
    """What the rows stand for, by name; its code reads the names of a module, whose namespace is `space`."""
    text = "\n".join(["from __future__ import annotations", *[each.source for each in rows]])
    made: dict[str, Any] = {}
    exec(compile(text, f"{PACKAGE}rows of {space['__name__']}", "exec"), space, made)
    del made["annotations"]
    return made


def publish(rows: Mapping[str, Sequence[Row]], space: dict[str, Any]) -> None:
    """Defines the rows of each of torch's places in a module, and publishes them (`public`)."""
    for places, each in rows.items():
        for name, function in define(each, space).items():
            space[name] = public(places, name)(function)

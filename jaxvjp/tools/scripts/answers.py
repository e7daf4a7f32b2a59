"""What a script gets for names of torch's that have no meaning here: the table `answers.txt`, by torch's modules.

Below a module a line has the kind of answer, and the names that get it (`KINDS`), or is a row of `tensor.answers`: a
value, or what another module has. These names are seen where jaxvjp stands in for torch, and nowhere else; a public
name of jaxvjp goes before.
"""

from __future__ import annotations

import contextlib
import datetime
import re
import typing
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from jaxvjp.tensor.answers import define, rows_of
from jaxvjp.tools.scripts.small_things import foreach

SHORT = re.compile(r"(\w+): ([\w. ]+)")


NAMED = (
    "It is of torch's compilers, builds or downloads; under jaxvjp only its name is there, so that code which mentions "
    "it can be imported."
)


class Absence(type):
    """The class of names that are errors when they are used. Each is a class without instances, so that `isinstance`,
    annotations and subclasses can mention it."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{cls.__qualname__} has no attribute {name!r}")
        return absent(f"{cls.__qualname__}.{name}", cls.__doc__)

    def __getitem__(cls, kinds: Any) -> Any:
        return cls

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{_first_absent(cls).__qualname__} is not available.\n{cls.__doc__}")

    def __bool__(cls) -> bool:
        name = cls.__name__
        return bool((name[:1].isupper() and not name.isupper()) or cls())  # a class is true; a flag is not known


def _first_absent(cls: type) -> type:
    return next(each for each in cls.__mro__ if isinstance(each, Absence) and "absent" in vars(each))


def absent(name: str, why: str | None = NAMED) -> Any:
    """A name that is an error when it is used: called, asked whether it is true, or made an instance of.

    Args:
        name: as in "torch.fx.Tracer".
        why: the sentence that the error ends in.
    """
    place, _, last = name.rpartition(".")
    return Absence(last, (), {"__module__": place, "__qualname__": name, "__doc__": why, "absent": True})


class Partial:
    """A namespace of torch's of which a module here has a part; other names are errors when they are used."""

    def __init__(self, name: str, module: str) -> None:
        self.name, self.module = name, module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{self.name} has no attribute {name!r}")
        found = vars(import_module(self.module)).get(name)
        return absent(f"{self.name}.{name}") if found is None else operator_of(found)


def operator_of(function: Callable[..., Any]) -> Any:
    """A function as an operator has it: `default`, torch's name for the form without an overload, is the same."""
    own = partial(function)
    vars(own)["default"] = own
    return own


def _identity(name: str) -> Any:
    def given(function: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Gives back what it is given; as a decorator also with arguments."""
        return function if callable(function) else lambda decorated: decorated

    given.__name__ = given.__qualname__ = name.rpartition(".")[2]
    return given


KINDS: dict[str, Callable[[str], Any]] = {
    "identity": _identity,
    "decorator": lambda name: lambda *args, **kwargs: lambda function=None: function,
    "False": lambda name: lambda *args, **kwargs: False,
    "None": lambda name: lambda *args, **kwargs: None,
    "class": absent,
    "exception": lambda name: type(name.rpartition(".")[2], (RuntimeError,), {}),
    "error": absent,
}
"""By kind, what makes the answer for a name: a function that gives back what it is given, a decorator that does with
any arguments, a function that gives False or None, a class without instances, to ask `isinstance` of, an exception that
nobody raises, and an error when it is used. "same" has the names of another module."""


@cache
def places() -> dict[str, str]:
    """The rows of the table by torch's modules."""
    text = (Path(__file__).parent / "answers.txt").read_text(encoding="utf-8")
    parts = [each.partition("\n") for each in re.split(r"\n(?=\w)", text)]
    return {name: rows for name, _, rows in parts}


@cache
def kinds(place: str) -> dict[str, str]:
    """The kind of the answer for each name of a module; "" for what is no stand-in."""
    found: dict[str, str] = {}
    others = []
    for line in places().get(place, "").splitlines():
        short = SHORT.fullmatch(line.strip())
        if short is None:
            others.append(line)
        elif short[1] == "same":
            found |= kinds(short[2])
        elif short[1] == "foreach":
            found |= {f"_foreach_{each}": "" for each in short[2].split()}
        else:
            found |= dict.fromkeys(short[2].split(), short[1])
    return found | {each.name: "" if each.form.startswith("from ") else "value" for each in rows_of("\n".join(others))}


@cache
def answers(place: str) -> dict[str, Any]:
    """The answers for a module's names."""
    made: dict[str, Any] = {}
    lines = places().get(place, "").splitlines()
    for line in lines:
        if line.startswith("    same: "):
            made |= answers(line.removeprefix("    same: "))
    for name, kind in kinds(place).items():
        if name in made:
            continue
        if kind in KINDS:
            made[name] = KINDS[kind](f"{place}.{name}")
        elif name.startswith("_foreach_"):
            made[name] = foreach(name)
    rows = rows_of("\n".join(each for each in lines if not SHORT.fullmatch(each.strip())))
    space = {
        "__name__": place,
        "torch": import_module("jaxvjp"),
        "typing": typing,
        "contextlib": contextlib,
        "datetime": datetime,
        "resolve": resolve_name,
    }
    return made | (define(rows, space) if rows else {})

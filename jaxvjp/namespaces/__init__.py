"""torch's namespaces that mostly say what is not here, or pass on: modules that are made of the rows in `rows`.

`import jaxvjp.mps` or `from jaxvjp.backends import cudnn` finds them in `sys.modules`. One gets its names when one of
them is first asked for.
"""

from __future__ import annotations

import builtins
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from jaxvjp.namespaces.rows import SPACES
from jaxvjp.tensor.answers import define
from jaxvjp.tensor.docstrings import complete_all


class Namespace(ModuleType):
    """The module of a place such as "backends.cudnn"."""

    def __init__(self, place: str) -> None:
        super().__init__(f"jaxvjp.{place}", SPACES[place].doc)
        self.__spec__ = ModuleSpec(self.__name__, None)

    def __getattr__(self, name: str) -> Any:
        own, place = vars(self), self.__name__.removeprefix("jaxvjp.")
        if name == "__all__":
            return dir(self)
        rows, code = ({}, "") if name.startswith("__") else (SPACES[place].rows, SPACES[place].code)
        if name not in rows:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        written = {**own}
        if code:  # whose names the rows see, and who reads the module does not
            own["__builtins__"] = vars(builtins) | vars(import_module(code))
        own.update(define([*rows.values()], own) | written)
        complete_all(own, rows, place, "`jax.devices`" if code else "no JAX")
        return own[name]

    def __dir__(self) -> list[str]:
        place = self.__name__.removeprefix("jaxvjp.")
        inner = {each.rpartition(".")[2] for each in SPACES if each.rpartition(".")[0] == place}
        return sorted(inner.union(SPACES[place].rows))


def attach() -> None:
    """Makes the modules, each of which is an attribute of the one that it is in."""
    for place in SPACES:
        name = f"jaxvjp.{place}"
        sys.modules[name] = made = Namespace(place)
        setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], made)

"""torch's `nn`: modules, parameters, and the functions that they call. A module's file is imported at its first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from jaxvjp.nn import functional as functional
from jaxvjp.nn import init as init
from jaxvjp.nn import modules, parameter
from jaxvjp.nn.parameter import Buffer as Buffer
from jaxvjp.nn.parameter import Parameter as Parameter
from jaxvjp.tensor.docstrings import complete_all

ROOMS = ("grad", "parallel", "utils")
"""Modules that are imported at first use."""

complete_all(globals(), ("Buffer", "Parameter"), "nn")


@cache
def later() -> dict[str, str]:
    """By name, the module that has it, which is imported at first use."""
    return modules.later() | parameter.LATER | {"DataParallel": "jaxvjp.nn.parallel"}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in ROOMS:
        return import_module(f"jaxvjp.nn.{name}")
    if name not in later():
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    home = modules if name in modules.later() else import_module(later()[name])
    found = globals()[name] = getattr(home, name)
    return found


def __dir__() -> list[str]:
    return sorted(["Buffer", "Parameter", "functional", "init", "modules", "parameter", *ROOMS, *later()])

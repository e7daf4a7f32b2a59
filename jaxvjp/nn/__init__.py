"""torch's `nn`: modules, parameters, and the functions that they call. A module's file is imported at its first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from jaxvjp.nn import functional as functional
from jaxvjp.nn import init as init
from jaxvjp.nn import modules, parameter
from jaxvjp.nn.parameter import Buffer as Buffer
from jaxvjp.nn.parameter import Parameter as Parameter
from jaxvjp.tensor.docstrings import complete_all

LATER = modules.LATER | parameter.LATER | {"DataParallel": "jaxvjp.nn.parallel"}
"""Names whose modules are imported at first use."""
ROOMS = ("grad", "parallel", "utils")
"""Modules that are imported at first use."""

__all__ = sorted(["Buffer", "Parameter", "functional", "init", "modules", "parameter", *ROOMS, *LATER])


complete_all(globals(), ("Buffer", "Parameter"), "nn")


def __getattr__(name: str) -> Any:
    if name in ROOMS:
        return import_module(f"jaxvjp.nn.{name}")
    if name not in LATER:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    home = modules if name in modules.LATER else import_module(LATER[name])
    found = globals()[name] = getattr(home, name)
    return found


def __dir__() -> list[str]:
    return __all__

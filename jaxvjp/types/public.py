"""The public names of a module, which are what it defines, and of a package: what its `__init__.py` imports."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def public_names(space: dict[str, Any], *others: str, home: str = "jaxvjp") -> list[str]:
    """A module's `__all__`: of its namespace the functions and classes from `home`, and other names."""
    own = [name for name, each in space.items() if str(getattr(each, "__module__", "")).startswith(home)]
    return sorted([*others, *[each for each in own if not each.startswith("_")]])


def modules_later(package: str, *names: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package, which imports the modules of those names at their first use."""

    def getattr_(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return getattr_

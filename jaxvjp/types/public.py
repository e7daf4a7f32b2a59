"""The public names of a package, which are what its `__init__.py` imports."""

from __future__ import annotations

from typing import Any


def public_names(space: dict[str, Any], *modules: str) -> list[str]:
    """The functions and classes of jaxvjp in a namespace, and those of its modules that are named: its `__all__`."""
    own = [name for name, each in space.items() if str(getattr(each, "__module__", "")).startswith("jaxvjp")]
    return sorted([*modules, *[each for each in own if not each.startswith("_")]])

"""The modules of torch's `nn`. `LAYERS` says in which file each is; a file is imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from jaxvjp.tensor.docstrings import complete

LAYERS = {
    "container": "Sequential ModuleList ModuleDict ParameterList ParameterDict",
    "lazy": "",
    "module": "Module",
}
"""By file in this folder (torch's names of files), the names in it that `nn` and `nn.modules` have."""

LATER = {name: f"jaxvjp.nn.modules.{file}" for file, names in LAYERS.items() for name in names.split()}
__all__ = sorted(LATER)


def __getattr__(name: str) -> Any:
    if name in LAYERS:
        return import_module(f"jaxvjp.nn.modules.{name}")
    if name not in LATER:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(LATER[name]), name)
    complete(found, "nn", name)
    return found


def __dir__() -> list[str]:
    return __all__

"""Makes `import torch` give jaxvjp: modules with torch's names are put into `sys.modules`."""

from __future__ import annotations

import importlib
import sys
from collections import ChainMap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxvjp.tools.scripts.answers import absent, answers, kinds, places
from jaxvjp.tools.scripts.mentions import asks_whether, is_mentioned
from jaxvjp.tools.scripts.names import (
    ANOTHER_THING,
    advice,
    counterpart,
    counterpart_name,
    covered,
    covers,
    holder_of,
    is_module,
    torch_names,
)
from jaxvjp.types.user_code import PACKAGE

SHOWN_AS_TORCHS = ("torch.Tensor", "torch.Size", "torch.dtype", "torch.device", "torch.nn.parameter.Parameter")
"""Classes that are printed with torch's name, as in `print(type(x))`."""


OF_OTHERS = {"safetensors.torch": "jaxvjp.serialization.safetensors", "functorch": "jaxvjp.func"}
"""Modules for torch's tensors that other libraries have, or of an older name, and ours in their place."""


IMPORTED = {"torch.nn.functional.grad": "torch.nn.grad"}
"""Modules that are attributes of another one, too."""


UNKNOWN = "jaxvjp does not have it; `python -m jaxvjp run --check` prints what it has."


class StandIn(ModuleType):
    """A stand-in for a module of torch's, such as `torch.autograd`, with the names that jaxvjp covers."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"jaxvjp in the place of {name}.")
        self.__path__: list[str] = []
        self.__file__ = f"{PACKAGE}__init__.py"  # its names are code of this package
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        if name == "torch":
            self.__version__ = f"{torch_names().version}+jaxvjp"

    def __getattr__(self, name: str) -> Any:
        try:
            value, holder = _answer(self.__name__, name)
        except AttributeError:
            place = self.__name__
            told = advice(place, name)
            if name.startswith("__") or not is_mentioned(place, name, bool(told), not is_module(place)):
                raise
            return absent(f"{place}.{name}", told.strip() or UNKNOWN)
        return value if holder is None else getattr(holder, name)

    def __setattr__(self, name: str, value: Any) -> None:
        place = self.__name__
        ours = None if name.startswith("__") else counterpart(place)
        # A setting, or a function that modules call: what counts operations puts its own in the place of `F.relu`.
        is_ours = ours is not None and (place.startswith("torch.backends.") or place == "torch.nn.functional")
        if (is_ours and covers(place, name)) or isinstance(getattr(type(ours), name, None), property):
            setattr(ours, name, value)
        else:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        place = self.__name__
        inner = [name for name in (*torch_names().modules, *places()) if name.rpartition(".")[0] == place]
        inner = [name.rpartition(".")[2] for name in inner if counterpart_name(name) or name in places()]
        return sorted({*covered(place), *kinds(place), *inner})

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        """Its names, for `vars`: what is written goes into the module, and other names are looked up."""
        own = vars(ModuleType)["__dict__"].__get__(self)
        return ChainMap(own, {name: getattr(self, name) for name in dir(self)})


@cache  # `torch.cat` takes a script 1.7 µs with it, 5.2 µs without
def _answer(place: str, name: str) -> tuple[Any, Any]:
    """What a module of torch's has by a name; or, beside None, what has it here, where it may be set to another."""
    if not name.startswith("__"):
        if f"{place}.{name}" in IMPORTED:
            return stand_in(IMPORTED[f"{place}.{name}"]), None
        counterpart(place)  # ImportError where it needs a library that is not installed
        if covers(place, name):
            # If a module and its main function have the same name (`autograd.gradcheck`), torch has the function.
            holder = holder_of(place, name)
            value = getattr(holder, name, None)
            absent = is_module(f"{place}.{name}") and (value is None or f"{place}.{name}" in ANOTHER_THING)
            inner = absent or isinstance(value, ModuleType)
            return (stand_in(f"{place}.{name}"), None) if inner else (value, holder)
        if name in (others := answers(place)):
            return others[name], None
    elif name == "__all__":
        return covered(place), None
    if f"{place}.{name}" in places():
        return stand_in(f"{place}.{name}"), None
    raise AttributeError(f"module '{place}' has no attribute '{name}'")


@cache  # one for each of torch's modules
def stand_in(module: str) -> StandIn:
    """The stand-in for a module of torch's that has a counterpart."""
    return StandIn(module)


class _Ours(Loader):
    """Puts one of our modules in the place of one of `OF_OTHERS`."""

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(OF_OTHERS[module.__name__])


class _Mentioned(Loader):
    """Gives a module of torch's, which a library imports and jaxvjp lacks, with names that fail when they are used."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return stand_in(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: its names are looked up."""


class _Metadata(Distribution):
    """What the metadata of installed packages say of torch."""

    def read_text(self, filename: str) -> str | None:
        told = {
            "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {torch_names().version}\n",
            "top_level.txt": "torch\n",
        }
        return told.get(filename)

    def locate_file(self, path: Any) -> Any:
        return Path(PACKAGE) / path


class _Finder(DistributionFinder):
    """Finds ours for `OF_OTHERS`. It refuses a module of torch's without a counterpart: the error says what to use."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name in OF_OTHERS:
            return ModuleSpec(name, _Ours())
        if name.partition(".")[0] == "torch":
            parent, _, last = name.rpartition(".")
            told = advice(parent, last)
            if asks_whether():
                return None
            if is_mentioned(parent, last, bool(told)):
                return ModuleSpec(name, _Mentioned(), is_package=True)
            if told and not is_module(name):
                raise ImportError(f"cannot import name '{last}' from '{parent}'{told}")
            # If `name` were set, `from torch import fft` would replace this error by one without the advice.
            raise ModuleNotFoundError(f"No module named '{name}'{told}", name=None if told else name)
        return None

    def find_distributions(self, context: Any = None) -> Iterator[Distribution]:
        """The metadata of torch, by which libraries ask whether it is there."""
        return iter([_Metadata()] if getattr(context, "name", None) in (None, "torch") else [])


@contextmanager
def as_torch() -> Iterator[ModuleType]:
    """Makes `import torch`, in all its forms, give jaxvjp in this block; restores what was there.

    Modules imported in the block stay usable after it. A name of torch's that jaxvjp lacks raises AttributeError (for a
    module, ModuleNotFoundError); `advise` names the nearest one. The whole process is affected: other threads that
    import torch meanwhile get jaxvjp, too. Gives the module in torch's place.

    No counterpart in torch. Underneath: `sys.modules` and `sys.meta_path`.
    """
    before = _torch_modules()
    finder = _Finder()
    classes = [each for each in map(_shown, SHOWN_AS_TORCHS) if each is not None]
    called = [each.__module__ for each, _ in classes]
    for name in before:
        del sys.modules[name]
    for name in torch_names().modules:
        if counterpart_name(name) is not None:
            sys.modules[name] = stand_in(name)
    for name in places():
        sys.modules[name] = stand_in(name)
    sys.meta_path.insert(0, finder)
    for each, module in classes:
        each.__module__ = module
    try:
        yield sys.modules["torch"]
    finally:
        sys.meta_path.remove(finder)
        for (each, _), own in zip(classes, called, strict=True):
            each.__module__ = own
        for name in _torch_modules():
            del sys.modules[name]
        sys.modules.update(before)


def _shown(qualified: str) -> tuple[type, str] | None:
    """A class of ours, and the module that torch shows for it; None if there is no such class yet."""
    module, _, name = qualified.rpartition(".")
    if not covers(module, name):
        return None
    return getattr(counterpart(module), name), module


def _torch_modules() -> dict[str, ModuleType]:
    """Those of torch's modules that were imported, and `OF_OTHERS`."""
    return {name: each for name, each in sys.modules.items() if name.partition(".")[0] == "torch" or name in OF_OTHERS}

"""Which names torch has, and which of them jaxvjp covers.

torch need not be installed: its names are in `torch_names.txt` (written by `tools/list_torch_names.py`), which is read
when first asked for. The public names of jaxvjp are looked up in its namespaces, one by one.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

TABLE = "`python -m jaxvjp run --check` prints the table of what is covered; docs/operators.md has the operators"
TENSOR = "torch.Tensor"
ANOTHER_THING = {"torch.storage", "torch.Tensor.storage"}
"""Names of torch's that are ours for something else."""
ELSEWHERE = {
    "torch.autograd.grad_mode": "jaxvjp.autograd.modes",
    "torch.autograd.variable": "jaxvjp.library.creation",
    "torch.utils.dlpack": "jaxvjp.library.crossing",
}
"""torch's modules whose names are in a module of ours with another name."""


class TorchNames(NamedTuple):
    """torch's public names: its version, and for each of its modules (and `torch.Tensor`) what is in there."""

    version: str
    modules: dict[str, frozenset[str]]


@lru_cache(maxsize=1)
def torch_names() -> TorchNames:
    """The list, read once."""
    lines = (Path(__file__).parent / "torch_names.txt").read_text(encoding="utf-8").splitlines()
    entries = dict(line.split(":", 1) for line in lines)
    version = entries.pop("version").strip()
    return TorchNames(version, {name: frozenset(names.split()) for name, names in entries.items()})


def is_module(name: str) -> bool:
    """Whether `name`, such as "torch.nn", is one of torch's modules."""
    return name in torch_names().modules and name != TENSOR


def counterpart(module: str) -> ModuleType | None:
    """Our module with the names of one of torch's modules; None where there is none."""
    if module in ANOTHER_THING or not is_module(module):
        return None
    ours = ELSEWHERE.get(module, "jaxvjp" + module.removeprefix("torch"))
    try:
        return importlib.import_module(ours) if importlib.util.find_spec(ours) else None
    except ModuleNotFoundError:  # the package around it is not there
        return None


def owner_of(place: str) -> Any:
    """What of ours has the names of `place`, a module of torch's or "torch.Tensor"."""
    return importlib.import_module("jaxvjp").Tensor if place == TENSOR else counterpart(place)


def covers(place: str, name: str) -> bool:
    """Whether ours has the name `name` that torch has in `place`, a module or "torch.Tensor"."""
    if is_module(f"{place}.{name}") and counterpart(f"{place}.{name}") is not None:
        return True
    if name not in torch_names().modules.get(place, ()) or f"{place}.{name}" in ANOTHER_THING:
        return False
    found = getattr(owner_of(place), name, None)
    # A module of ours may have a name of torch's and other contents: `torch.storage`.
    return found is not None and not isinstance(found, ModuleType)


def covered(place: str) -> list[str]:
    """The names of `place` that are covered, sorted."""
    return [name for name in sorted(torch_names().modules.get(place, ())) if covers(place, name)]


def nearest(place: str, name: str) -> str | None:
    """The covered name that comes nearest to one that is not: the same elsewhere, or nearly the same in its place."""
    for other in torch_names().modules:
        if other != place and covers(other, name):
            return f"{other}.{name}"
    close = difflib.get_close_matches(name, covered(place), n=1, cutoff=0.8)
    return f"{place}.{close[0]}" if close else None


def advice(place: str, name: str) -> str:
    """What an error about a missing name goes on with: nothing unless the name is torch's."""
    if name not in torch_names().modules.get(place, ()) and not is_module(f"{place}.{name}"):
        return ""
    near = nearest(place, name)
    return (
        f"\n{place}.{name} is torch's, and jaxvjp does not cover it."
        + (f" The nearest name that it covers: {near}." if near else "")
        + f"\n{TABLE}."
    )


def advise(error: BaseException) -> None:
    """Notes on an error that is about to be shown, where a name of torch's is missing, what there is instead."""
    if isinstance(error, AttributeError) and error.name is not None:
        tensor = isinstance(error.obj, importlib.import_module("jaxvjp").Tensor)
        owner = TENSOR if tensor else getattr(error.obj, "__name__", "")
        told = advice(f"torch{owner.removeprefix('jaxvjp')}" if owner.startswith("jaxvjp") else owner, error.name)
        if told:
            error.add_note(told.lstrip())


def table() -> str:
    """The table of what is covered: for each module, how many of torch's names, which, and which not."""
    names = torch_names()
    lines = [f"The public names of torch {names.version} that jaxvjp covers, by module."]
    for place, listed in names.modules.items():
        have = covered(place)
        if have:
            missing = sorted(listed.difference(have))
            lines += ["", f"{place}: {len(have)} of {len(listed)}", f"  covered: {' '.join(have)}"]
            lines += [f"  not covered: {' '.join(missing)}"] * bool(missing)
    return "\n".join(lines)

"""Which names torch has, and which of them jaxvjp covers.

torch need not be installed: its names are in `torch_names.txt`, written by `tools/list_torch_names.py`. The public
names of jaxvjp are looked up in its namespaces.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from jaxvjp.namespaces.rows import SPACES
from jaxvjp.tools.scripts.answers import kinds, places

TABLE = "`python -m jaxvjp run --check` prints the table of what is covered; docs/operators.md has the operators"
ROOT = Path(__file__).parent.parent.parent
TENSOR = "torch.Tensor"
ANOTHER_THING = {"torch.functional", "torch.storage"}
"""Names of torch's that mean something else in jaxvjp, even if a module of torch's is behind one."""
ELSEWHERE = {
    "torch.autograd.grad_mode": "jaxvjp.autograd.modes",
    "torch.autograd.variable": "jaxvjp.autograd",
    "torch.cuda.amp.autocast_mode": "jaxvjp.cuda.amp",
    "torch.cuda.amp.grad_scaler": "jaxvjp.cuda.amp",
    "torch.cuda.memory": "jaxvjp.cuda",
    "torch.cuda.random": "jaxvjp.cuda",
    "torch.distributions.utils": "jaxvjp.distributions.distribution",
    "torch.functional": "jaxvjp",
    "torch.nn.modules.instancenorm": "jaxvjp.nn.modules.batchnorm",
    "torch.nn.parallel.data_parallel": "jaxvjp.nn.parallel",
    "torch.nn.parallel.distributed": "jaxvjp.nn.parallel",
    "torch.nn.utils.spectral_norm": "jaxvjp.nn.utils.old_norms",
    "torch.nn.utils.weight_norm": "jaxvjp.nn.utils.old_norms",
}
"""torch's modules whose counterpart in jaxvjp has another name."""
OF_NUMPY = {"axis", "keepdims", "x", "x1", "x2"}
"""NumPy's names of arguments, which many functions take beside their own."""
FLAT = {"torch.distributions", "torch.nn.modules", "torch.optim"}
"""torch's packages with a module for each kind of class, `torch.optim.adam`: ours has what is in no module of ours."""


class TorchNames(NamedTuple):
    """torch's version, and the public names of each of its modules and of `torch.Tensor`."""

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
    return (name in torch_names().modules and name != TENSOR) or name in places()


@cache
def counterpart_name(module: str) -> str | None:
    """The name of our counterpart of one of torch's modules, or None. It looks for its file, and imports nothing."""
    if (module in ANOTHER_THING and module not in ELSEWHERE) or not is_module(module):
        return None
    ours = ELSEWHERE.get(module, "jaxvjp" + module.removeprefix("torch"))
    path = ROOT.joinpath(*ours.split(".")[1:])
    if ours.removeprefix("jaxvjp.") in SPACES or path.with_suffix(".py").is_file() or (path / "__init__.py").is_file():
        return ours
    package = module.rpartition(".")[0]
    return counterpart_name(package) if package in FLAT else None


@cache
def counterpart(module: str) -> ModuleType | None:
    """Our counterpart of one of torch's modules, or None."""
    ours = counterpart_name(module)
    return None if ours is None else importlib.import_module(ours)


def lacks(place: str) -> str:
    """What our counterpart of a module says that it needs, if that is not installed; else nothing."""
    try:
        counterpart(place)
    except Exception as error:  # a broken install of a library raises anything
        return str(error) or type(error).__name__
    return ""


def owner_of(place: str) -> Any:
    """Our counterpart of `place`, a module of torch's or "torch.Tensor"."""
    return importlib.import_module("jaxvjp").Tensor if place == TENSOR else counterpart(place)


def holder_of(place: str, name: str) -> Any:
    """What has `name` here: the counterpart of `place` or, for a module in `FLAT`, of its package; None if neither."""
    package = place.rpartition(".")[0]
    owners = [owner_of(place), owner_of(package) if package in FLAT else None]
    return next((each for each in owners if each is not None and hasattr(each, name)), None)


def covers(place: str, name: str) -> bool:
    """Whether jaxvjp has torch's `name` in `place`, a module or "torch.Tensor"."""
    if is_module(f"{place}.{name}") and counterpart_name(f"{place}.{name}") is not None:
        return True
    if name not in torch_names().modules.get(place, ()) or f"{place}.{name}" in ANOTHER_THING or lacks(place):
        return False
    owner = holder_of(place, name)
    if owner is None:
        return False
    return not isinstance(getattr(owner, name), ModuleType)  # ours may have a name of torch's by chance: `storage`


def stand_in_kind(place: str, name: str) -> str | None:
    """The kind of the answer that a script gets for a name which jaxvjp does not have; None without one, "" if that is
    no mere stand-in."""
    if covers(place, name):
        return None
    return "module" if f"{place}.{name}" in places() else kinds(place).get(name)


def ours(qualified: str) -> Any:
    """Our object for one of torch's by its whole name, such as "torch.optim.Adam"; None if it is not covered."""
    place, _, name = qualified.rpartition(".")
    return getattr(holder_of(place, name), name, None) if covers(place, name) else None


def takes(qualified: str, argument: str) -> bool:
    """Whether our function or class of that name takes a keyword argument; True also where that is not known."""
    try:
        parameters = inspect.signature(ours(qualified)).parameters
    except (TypeError, ValueError):
        return True
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return open_ended or argument in parameters or argument in OF_NUMPY


def covered(place: str) -> list[str]:
    """The names of `place` that are covered, sorted."""
    return [name for name in sorted(torch_names().modules.get(place, ())) if covers(place, name)]


def nearest(place: str, name: str) -> str | None:
    """The covered name nearest to one that is not: the same name in another place, or a similar one in the same."""
    for other in torch_names().modules:
        if other != place and covers(other, name):
            return f"{other}.{name}"
    close = difflib.get_close_matches(name, covered(place), n=1, cutoff=0.8)
    return f"{place}.{close[0]}" if close else None


def advice(place: str, name: str) -> str:
    """The advice in an error about a missing name; empty unless the name is torch's."""
    if name not in torch_names().modules.get(place, ()) and not is_module(f"{place}.{name}"):
        return ""
    near = nearest(place, name)
    return (
        f"\n{place}.{name} is torch's, and jaxvjp does not cover it."
        + (f" The nearest name that it covers: {near}." if near else "")
        + f"\n{TABLE}."
    )


def advise(error: BaseException) -> None:
    """Adds a note to an error about a missing name of torch's: what to use instead."""
    if isinstance(error, AttributeError) and error.name is not None:
        tensor = isinstance(error.obj, importlib.import_module("jaxvjp").Tensor)
        owner = TENSOR if tensor else getattr(error.obj, "__name__", "")
        told = advice(f"torch{owner.removeprefix('jaxvjp')}" if owner.startswith("jaxvjp") else owner, error.name)
        if told:
            error.add_note(told.lstrip())


def table() -> str:
    """A table of coverage: for each module of torch the number of covered names, which, and which not."""
    names = torch_names()
    lines = [f"The public names of torch {names.version} that jaxvjp covers, by module."]
    for place in dict.fromkeys((*names.modules, *places())):
        have, listed = covered(place), names.modules.get(place, frozenset())
        stand_ins = [name for name, kind in kinds(place).items() if kind and not covers(place, name)]
        if have or stand_ins:
            missing = sorted(listed.difference(have, stand_ins))
            lines += ["", f"{place}: {len(have)} of {len(listed)}"] + [f"  covered: {' '.join(have)}"] * bool(have)
            lines += [f"  stand-ins: {' '.join(sorted(stand_ins))}"] * bool(stand_ins)
            lines += [f"  not covered: {' '.join(missing)}"] * bool(missing)
    return "\n".join(lines)

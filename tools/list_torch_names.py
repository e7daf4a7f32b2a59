"""Writes the public names of the installed torch, a line for each of its modules, to `torch_names.txt` of `scripts`.

Run it where torch is installed, when the torch that jaxvjp follows changes: `python tools/list_torch_names.py`
(`--print` to look first). With the list a name can be told to be torch's where no torch is.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import re
import sys
import typing
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

TARGET = Path(__file__).parent.parent / "jaxvjp" / "tools" / "scripts" / "torch_names.txt"
LISTED = [
    "torch",
    "torch.accelerator",
    "torch.amp",
    "torch.amp.autocast_mode",
    "torch.amp.grad_scaler",
    "torch.autograd",
    "torch.autograd.forward_ad",
    "torch.autograd.function",
    "torch.autograd.functional",
    "torch.autograd.grad_mode",
    "torch.autograd.gradcheck",
    "torch.autograd.graph",
    "torch.autograd.profiler",
    "torch.autograd.variable",
    "torch.backends",
    "torch.backends.cpu",
    "torch.backends.cuda",
    "torch.backends.cudnn",
    "torch.backends.mkl",
    "torch.backends.mkldnn",
    "torch.backends.mps",
    "torch.backends.openmp",
    "torch.compiler",
    "torch.cpu",
    "torch.cpu.amp",
    "torch.cuda",
    "torch.cuda.amp",
    "torch.cuda.amp.autocast_mode",
    "torch.cuda.amp.grad_scaler",
    "torch.cuda.memory",
    "torch.cuda.random",
    "torch.distributed",
    "torch.distributed.checkpoint",
    "torch.distributed.checkpoint.state_dict",
    "torch.distributed.device_mesh",
    "torch.distributed.fsdp",
    "torch.distributed.tensor",
    "torch.distributions",
    "torch.fft",
    "torch.func",
    "torch.functional",
    "torch.jit",
    "torch.linalg",
    "torch.masked",
    "torch.mps",
    "torch.multiprocessing",
    "torch.nn",
    "torch.nn.attention",
    "torch.nn.functional",
    "torch.nn.grad",
    "torch.nn.init",
    "torch.nn.modules",
    "torch.nn.parallel",
    "torch.nn.parallel.data_parallel",
    "torch.nn.parallel.distributed",
    "torch.nn.parameter",
    "torch.nn.utils",
    "torch.optim",
    "torch.overrides",
    "torch.profiler",
    "torch.quasirandom",
    "torch.random",
    "torch.return_types",
    "torch.serialization",
    "torch.signal",
    "torch.signal.windows",
    "torch.sparse",
    "torch.special",
    "torch.testing",
    "torch.utils",
    "torch.utils.benchmark",
    "torch.utils.checkpoint",
    "torch.utils.data",
    "torch.utils.data.dataloader",
    "torch.utils.data.dataset",
    "torch.utils.data.distributed",
    "torch.utils.data.sampler",
    "torch.utils.deterministic",
    "torch.utils.dlpack",
    "torch.utils.hooks",
    "torch.version",
]
"""The modules whose names are listed; of the others only that they are there."""
INNER = re.compile(r"torch\.((nn\.(modules|utils)|distributions|optim)\.|nn\.init$)")
"""Modules whose names are listed, too, with the private ones that are theirs: `torch.nn.modules.loss._Loss`."""


OF_EXTRAS = {"torch.utils.tensorboard": ["FileWriter", "SummaryWriter"]}
"""Modules that need another library, which need not be installed, with the names that programs use."""
TYPES = {"torch.nn.common_types": re.compile(r"_\w+_t"), "torch.types": re.compile(r"_[a-z]+|Number|Device")}
"""Modules that have types for annotations, which say of no module that it is theirs; what their names look like."""
OF_SOME_BUILDS = {"torch.distributed": ["ProcessGroupNCCL"]}
"""Names that a build of torch for a CPU alone does not have."""
PYTHONS = (itertools.count, typing.TypeVar, type(getattr(typing, "NoDefault", None)))
"""Types of Python's own objects that modules of torch have, and that say of no module that it is theirs."""


def public_names(owner: Any) -> list[str]:
    """The names that belong to a module or class: no private ones, nothing that it imported from outside of torch."""
    stated = set(getattr(owner, "__all__", ()))
    found = {*dir(owner)}
    if type(owner) is not ModuleType and isinstance(owner, ModuleType):  # as `torch.backends.cudnn`, around the module
        settings = {name for name in vars(type(owner)) if not name.startswith("_")}
        found |= {*dir(getattr(owner, "m", owner))} | settings
        stated |= settings
    return sorted(name for name in found if name.isidentifier() and (name in stated or _owned(owner, name)))


def _owned(owner: Any, name: str) -> bool:
    if name.startswith("_"):
        inner = isinstance(owner, ModuleType) and INNER.match(owner.__name__) and not name.startswith("__")
        value = getattr(owner, name)
        return bool(inner) and (isinstance(value, dict) or getattr(value, "__module__", None) == owner.__name__)
    if not isinstance(owner, ModuleType):
        return True
    value = getattr(owner, name, None)
    if inspect.ismodule(value) or isinstance(value, PYTHONS):
        return False  # a module has a line of its own, once it was imported; the others are Python's, on some versions
    return str(getattr(value, "__module__", None) or "torch").partition(".")[0] == "torch"


def modules_of(package: ModuleType) -> list[str]:
    """Every public module below a package, by name; nothing is imported but packages named in `LISTED`."""
    found = []
    for each in pkgutil.iter_modules(package.__path__):
        if not each.name.startswith("_"):
            name = f"{package.__name__}.{each.name}"
            found.append(name)
            if each.ispkg and name in LISTED:
                found += modules_of(importlib.import_module(name))
    return found


def text() -> str:
    """The whole file."""
    import torch

    warnings.simplefilter("ignore")
    lines = [f"version: {torch.__version__.partition('+')[0]}"]
    every = modules_of(torch)
    names = {name: public_names(importlib.import_module(name)) for name in [*LISTED, *filter(INNER.match, every)]}
    names |= OF_EXTRAS
    for name, pattern in TYPES.items():
        names[name] = sorted(filter(pattern.fullmatch, dir(importlib.import_module(name))))
    for name, more in OF_SOME_BUILDS.items():
        names[name] = sorted({*names[name], *more})
    for name in sorted({*names, *every}):
        lines.append(f"{name}: {' '.join(names.get(name, ()))}".rstrip())
    lines.append(f"torch.Tensor: {' '.join(public_names(torch.Tensor))}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        print(text(), end="")
    else:
        TARGET.write_text(text(), encoding="utf-8")

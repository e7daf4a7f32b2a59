"""Every public signature that torch has, too: the names, places and defaults of parameters.

torch's are in `tests/torch_signatures.txt`, which `tools/list_torch_signatures.py` writes.
"""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from enum import EnumMeta
from functools import cache
from pathlib import Path

import pytest
from oracle import needs_torch
from torch_signatures import RECORD, UNKNOWN, theirs

import jaxvjp
from jaxvjp.tensor.signatures import OTHER_NAMES
from jaxvjp.tools.scripts.names import torch_names
from tools.stubs import forms_of

ROOT = Path(__file__).parents[2]
PLACES = {
    "torch": "function",
    "torch.Tensor": "method",
    "torch.fft": "fft",
    "torch.linalg": "linalg",
    "torch.nn.functional": "nn.functional",
    "torch.special": "special",
}
"""Modules whose functions are made of rows, and their places in the registry."""
Parameter = inspect.Parameter

GPU = "torch has it on a GPU only: on a CPU it raises NotImplementedError"
STUB = "torch's stub says so, and torch refuses it"
SCHEMA = "an overload of torch's operator that its function in Python does not take"
OWN = "its objects are not made by users, in torch neither"
EXCEPTIONS = {
    **dict.fromkeys(["torch.mm", "torch.bmm", "torch.addmm", "torch.baddbmm"], GPU),
    **dict.fromkeys([f"torch.Tensor.{name}" for name in ("add", "sub", "mul", "floor_divide", "true_divide")], STUB),
    **dict.fromkeys(["torch.tensor", "torch.Tensor.new_tensor"], STUB),
    **dict.fromkeys(["torch.linspace", "torch.logspace", "torch.Tensor.requires_grad_", "torch.Tensor.to"], STUB),
    **dict.fromkeys(["torch.set_num_threads", "torch.set_num_interop_threads"], STUB),
    **dict.fromkeys(
        [
            *("torch.linalg.matrix_exp", "torch.nn.functional.adaptive_avg_pool1d", "torch.nn.functional.avg_pool1d"),
            *("torch.nn.functional.channel_shuffle", "torch.nn.functional.conv_tbc"),
            *("torch.nn.functional.pixel_shuffle", "torch.nn.functional.pixel_unshuffle"),
        ],
        SCHEMA,
    ),
    **dict.fromkeys(["torch.dtype", "torch.layout", "torch.memory_format", "torch.autograd.graph.Node"], OWN),
    "torch.autograd.graph.RemovableHandle": OWN,
    **dict.fromkeys(
        [f"torch.{name}" for name in ("rsub", "subtract", "Tensor.subtract", "Tensor.subtract_")],
        "`alpha` by place is taken, as torch's older forms of calls are, which are not shown",
    ),
    **dict.fromkeys(
        ["torch.trapezoid", "torch.trapz", "torch.cumulative_trapezoid"],
        "`dx` is None where it is left out, so that it is refused beside `x`; it counts as 1",
    ),
    **dict.fromkeys(
        ["torch.expand_copy", "torch.Tensor.expand"],
        "`implicit` tells torch's tracer that a broadcast wrote the call",
    ),
    "torch.nn.functional.elu_": "`scale` and `input_scale` are of torch's kernel; elsewhere those of `selu`",
    "torch.enable_grad": "the decorator without parentheses is a call of its metaclass",
}
"""Names whose signature is meant to differ, and why."""


def live(name):
    """What jaxvjp has under torch's name; None if it has nothing."""
    found = jaxvjp
    for part in name.split(".")[1:]:
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(f"{found.__name__}.{part}")
            except (AttributeError, ImportError):
                return None
    return found


def ours(name, found):
    owner, _, own = name.rpartition(".")
    if owner in PLACES and not isinstance(found, type):
        return list(forms_of(PLACES[owner], own, found))
    return [inspect.signature(found)]


def calls(form):
    """How a form can be called, as (positional arguments, named ones): with everything and with what is required, by
    place and by name. Each argument is the name of its parameter, None if that cannot be given by name."""
    for whole in (True, False):
        taken = [each for each in form if not each.name.startswith("_") and (whole or each.default is Parameter.empty)]
        several = [f"{each.name}{number}" for each in taken if each.kind is each.VAR_POSITIONAL for number in (1, 2)]
        plain = [each for each in taken if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
        for by_place in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.POSITIONAL_ONLY):
            if any(each.name.startswith("_") for each in form) and whole and by_place:
                continue  # torch's private parameters stand between
            placed = [each.name if each.kind else None for each in plain if each.kind <= by_place]
            yield (*placed, *several), {each.name: each.name for each in plain if each.kind > by_place and not several}


def fits(signature, arguments, named):
    """Whether a call gives each argument to the parameter of its name."""
    parameters = signature.parameters
    known = {each: each if each in parameters else OTHER_NAMES.get(each, each) for each in named}
    spread = next((each.name for each in parameters.values() if each.kind is each.VAR_POSITIONAL), None)
    if spread in known.values():  # a size by name, where sizes may be spread out
        arguments = (*arguments, *[each for each in named if known[each] == spread])
        known = {each: known[each] for each in known if known[each] != spread}
    try:
        bound = signature.bind(*arguments, **{known[each]: each for each in named if each in known}).arguments
    except TypeError:
        return False
    if spread is not None:
        return True
    return all(name in (given, OTHER_NAMES.get(given)) for name, given in bound.items() if isinstance(given, str))


def equal(one, other):
    if isinstance(one, list | tuple) or isinstance(other, list | tuple):  # one number stands for all dimensions
        one, other = (set(each) if isinstance(each, list | tuple) else {each} for each in (one, other))
        return one == other or {*one, *other} == {None}
    return one == other


def faults(name, forms, signatures):
    method = name.startswith("torch.Tensor.")
    if method:
        kept = [[*each.parameters.values()] for each in signatures]
        kept = [each[each[0].kind is not each[0].VAR_POSITIONAL :] for each in kept]  # without the tensor itself
        signatures = [inspect.Signature(each) for each in kept]
    defaults = {}
    for form in forms:
        form = form[method:]
        for each in form:
            defaults.setdefault(each.name, []).append(each.default)
        for arguments, named in calls(form):
            if not any(fits(each, arguments, named) for each in signatures):
                shown = ", ".join([*arguments, *[f"{each}={each}" for each in named]])
                yield f"{name}({shown}) does not fit {' or '.join(map(str, signatures))}"
    for each, values in defaults.items():
        own = [one.parameters[each].default for one in signatures if each in one.parameters]
        own = [one for one in own if one is not Parameter.empty]
        known = [one for one in values if one not in (Parameter.empty, UNKNOWN)]
        if own and known and not any(equal(one, other) for one in own for other in known):
            yield f"{name}: the default of {each} is {own[0]!r}, torch's is {known[0]!r}"


def shared():
    for name, forms in theirs().items():
        found = live(name)
        # Python's versions differ in how an `Enum` is called.
        if callable(found) and found is not NotImplemented and not isinstance(found, EnumMeta):
            yield name, forms, found


@cache
def differing():
    return {name: told for name, forms, found in shared() if (told := list(faults(name, forms, ours(name, found))))}


def test_signatures_are_torchs():
    told = [line for name, lines in differing().items() if name not in EXCEPTIONS for line in lines]
    assert not told, "\n".join(told)


def test_what_is_excepted_differs():
    assert not EXCEPTIONS.keys() - differing().keys()


def test_most_of_torchs_signatures_are_compared():
    compared = {name.rpartition(".")[0] for name, _, _ in shared()}
    assert compared >= {*PLACES, "torch.nn", "torch.optim", "torch.autograd", "torch.func", "torch.utils.data"}
    assert compared >= {"torch.distributions", "torch.random", "torch.nn.init", "torch.nn.utils", "torch.nn.Linear"}
    assert len(list(shared())) > 2300


@needs_torch
def test_the_record_is_torchs():
    import torch

    if torch.__version__.partition("+")[0] != torch_names().version:
        pytest.skip("another torch than the one that jaxvjp follows")
    command = [sys.executable, str(ROOT / "tools" / "list_torch_signatures.py"), "--print"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == RECORD.read_text(encoding="utf-8"), "run `python tools/list_torch_signatures.py`"

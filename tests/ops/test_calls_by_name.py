"""Calls of torch's functions with arguments by name: on a sample of torch's database each gives what it gives by place.

A call is tried with torch's names for each of its forms, and with those of NumPy; what torch takes jaxvjp has to take.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch's database needs it: pip install 'jaxvjp[test]'")

import torch
from torch_signatures import theirs

import jaxvjp
from tools.opinfo.check import Missing, counterpart, database, samples_of, title
from tools.opinfo.conversion import Conversion, Unsupported, array_of, is_tensor, leaves
from tools.opinfo.table import UNDEFINED_VALUES

DTYPES = (torch.float32, torch.float16, torch.int64, torch.bool, torch.complex64)
NUMPY = {"dim": "axis", "keepdim": "keepdims", "input": "x", "other": "x2"}
POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def found(module, name):
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def ops():
    for op in database():
        try:
            counterpart(op)
        except Missing:
            continue
        if callable(found(torch, op.name)) and f"torch.{op.name}" in theirs():
            yield pytest.param(op, id=title(op))


def by_name(form, arguments, named):
    """How a call of a form may be written with names, as (positional, named); nothing if it is not of that form."""
    signature = inspect.Signature(form)
    try:
        bound = signature.bind(*arguments, **named)
    except TypeError:
        return
    kinds = {each.name: each.kind for each in form}
    given = bound.arguments
    if not given or not {kinds[name] for name in given} <= {POSITIONAL, POSITIONAL.KEYWORD_ONLY}:
        return
    first = next(iter(given))
    yield (), given
    yield (given[first],), {name: each for name, each in given.items() if name != first}
    if not NUMPY.keys().isdisjoint(given):
        yield (), {NUMPY.get(name, name): each for name, each in given.items()}


def values(function, arguments, named):
    jaxvjp.manual_seed(0)
    return [array_of(each) if is_tensor(each) else each for each in leaves(function(*arguments, **named))]


OPS = list(ops())


def check(op, count):
    dtype = next((each for each in DTYPES if each in op.supported_dtypes("cpu")), None)
    if dtype is None:
        pytest.skip("not on a CPU")
    function, own = found(torch, op.name), found(jaxvjp, op.name)
    tried = 0
    for _, sample in samples_of(op, repr(dtype)[6:], count, False):
        theirs_given = (sample.input, *sample.args), sample.kwargs
        try:
            mirrored = Conversion().sample(sample)
            function(*theirs_given[0], **theirs_given[1])  # some samples are for another function around it
        except (Unsupported, TypeError, ValueError, RuntimeError):
            continue
        own_given, expected = ((mirrored.input, *mirrored.args), mirrored.kwargs), None
        for form in theirs()[f"torch.{op.name}"]:
            for call, own_call in zip(by_name(form, *theirs_given), by_name(form, *own_given), strict=True):
                try:
                    function(*call[0], **call[1])
                except (TypeError, ValueError, RuntimeError):
                    continue
                tried += 1
                expected = values(own, *own_given) if expected is None else expected
                for one, other in zip(values(own, *own_call), expected, strict=True):
                    if op.name not in UNDEFINED_VALUES:
                        np.testing.assert_array_equal(one, other, ", ".join(call[1]))
    if not tried:
        pytest.skip("no sample that torch takes by name")


@pytest.mark.parametrize("op", OPS)
@pytest.mark.filterwarnings("ignore")
def test_one_sample(op):
    check(op, 1)


@pytest.mark.long
@pytest.mark.parametrize("op", OPS)
@pytest.mark.filterwarnings("ignore")
def test_several_samples(op):
    check(op, 5)

"""One program, run under live torch and under jaxvjp, and everything it gives compared.

A program is a function of the module that plays torch. What it returns (tensors, Python values, tuples, lists and
dicts of them) or raises (class and first sentence) has to be the same under both.
"""

from __future__ import annotations

import gc
import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxvjp
from jaxvjp.core.graph import Node

try:
    import torch as live
except ImportError:
    live = None

needs_torch = pytest.mark.skipif(live is None, reason="torch is not installed: pip install 'jaxvjp[compare]'")

Program = Callable[[Any], Any]


class Outcome:
    """What a program did: returned a value, or raised."""

    def __init__(self, program: Program, module: Any) -> None:
        self.value: Any = None
        self.error: Exception | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.value = plain(program(module))
            except Exception as error:
                self.error = error

    @property
    def sentence(self) -> str:
        """The first line of the error's text: what torch says; jaxvjp goes on with what to write instead."""
        return str(self.error).partition("\n")[0].rstrip(". ")


def plain(value: Any) -> Any:
    """Tensors as (shape, dtype, requires_grad, elements), so that both modules' can be compared; the rest as it is."""
    if isinstance(value, jaxvjp.Tensor) or (live is not None and isinstance(value, live.Tensor)):
        return ("tensor", tuple(value.shape), repr(value.dtype), value.requires_grad, value.detach().tolist())
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value


def same(a: Any, b: Any, rtol: float = 2e-6, atol: float = 1e-6) -> bool:
    """Whether two plain values are equal, floats within tolerance."""
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=rtol, abs_tol=atol)
    if isinstance(a, complex) and isinstance(b, complex):
        return same(a.real, b.real, rtol, atol) and same(a.imag, b.imag, rtol, atol)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y, rtol, atol) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key], rtol, atol) for key in a)
    return type(a) is type(b) and a == b


def agree(program: Program, rtol: float = 2e-6, atol: float = 1e-6) -> Outcome:
    """Runs `program` under both and asserts that they agree; returns what happened under jaxvjp."""
    expected, given = Outcome(program, live), Outcome(program, jaxvjp)
    if expected.error is not None or given.error is not None:
        assert given.error is not None, f"torch raises {expected.error!r}, jaxvjp returns {given.value}"
        if expected.error is None:
            raise given.error
        assert type(given.error) is type(expected.error), f"{expected.error!r} and {given.error!r}"
        assert given.sentence == expected.sentence
    else:
        assert same(given.value, expected.value, rtol, atol), f"torch {expected.value}\njaxvjp {given.value}"
    return given


def programs_of(module: dict[str, Any], *others: Any) -> list[Program]:
    """The programs that a test module defines: its functions of one parameter, `torch`; all but `others`."""
    return [
        each
        for each in list(module.values())
        if inspect.isfunction(each)
        and each.__module__ == module["__name__"]
        and list(inspect.signature(each).parameters) == ["torch"]
        and each not in others
    ]


def agreement_of(programs: list[Program]) -> Callable[..., None]:
    """A test that runs each program under both: `test_agrees_with_torch = agreement_of(PROGRAMS)`."""

    @needs_torch
    @pytest.mark.parametrize("function", programs, ids=lambda function: function.__name__)
    def test_agrees_with_torch(function: Program) -> None:
        agree(function)

    return test_agrees_with_torch


def live_nodes(collected: bool = True) -> int:
    """How many nodes there are, once cycles are collected. In the compiled form their search knows most nodes only
    through others."""
    if collected:
        gc.collect()
    pending, nodes = gc.get_objects(), set()
    seen = {id(each) for each in pending}
    while pending:
        nodes.update(id(each) for each in pending if type(each) is Node)
        onward = [each for each in gc.get_referents(*pending) if type(each) is Node or type(each) is tuple]
        pending = list({id(each): each for each in onward if id(each) not in seen}.values())
        seen.update(map(id, pending))
    return len(nodes)

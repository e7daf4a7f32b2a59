"""Runs a program under jaxvjp and under torch, and compares everything that it gives.

A program is a function of a parameter `torch`, which is either module. What it returns (tensors, Python values, tuples,
lists and dicts of them) or raises (class and first sentence) has to be the same under both. The results of live torch
are recorded (`recording.py`), so that torch need not be installed; if it is, it has to give the recorded results.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from recording import VERSION, decoded, encoded, session

import jaxvjp
from jaxvjp.core.record.graph import Node
from jaxvjp.types.compiled import CYTHONIZED
from tools.fuzz import outcomes

try:
    import torch as live
except ImportError:
    live = None

needs_torch = pytest.mark.skipif(live is None, reason="what live torch itself does here: pip install 'jaxvjp[compare]'")
"""For tests of what crosses to torch and back, or runs it; what can be said as a program is recorded instead."""

Program = Callable[[Any], Any]


class Outcome(outcomes.Outcome):
    """What a program did, which can be recorded."""

    @classmethod
    def recorded(cls, line: Any) -> Outcome:
        """What a program did once, under live torch."""
        outcome = cls.__new__(cls)
        raised = line.get("raises") if isinstance(line, dict) else None
        outcome.value, outcome.error = (None if raised else decoded(line)), None
        outcome.raised = tuple(raised) if raised else None
        return outcome

    def encoded(self) -> Any:
        return {"raises": list(self.raised)} if self.raised else encoded(self.value)


def theirs(program: Program, rtol: float = 2e-6, atol: float = 1e-6) -> Outcome:
    """What torch makes of a program: what is recorded of it and, where torch is installed, what live torch gives; the
    two have to agree."""
    line = session.next()
    if live is None and line == ():
        raise session.lacking("nothing is recorded, and torch is not installed")
    known = None if line == () else Outcome.recorded(line)
    if live is None:
        return known
    outcome = Outcome(program, live)
    stale = "nothing is recorded" if known is None else known.difference(outcome, rtol, atol)
    if session.recording:
        session.new.append(outcome.encoded() if stale else line)
    elif stale and live.version.cuda is not None and (outcome.raised or known.raised):
        return known  # torch's build for CUDA says other things of devices
    elif stale and outcome.raised and outcome.raised[1].startswith("could not create a primitive"):
        return known  # torch's kernel, such as that of an LSTM in bfloat16, needs another CPU
    elif stale and live.__version__.partition("+")[0] == VERSION:
        raise session.lacking(f"the record is not what live torch gives: {stale}")
    return outcome


SLIPS = frozenset(
    ["NameError", "UnboundLocalError", "AttributeError", "SyntaxError", "ImportError", "ModuleNotFoundError"]
)
"""What a slip of the pen in a program raises, under both modules alike."""


def raises(kind: type[Exception]) -> Callable[[Program], Program]:
    """Declares that a program of `agreement_of` ends in an error: `@raises(RuntimeError)`."""

    def declared(program: Program) -> Program:
        program.raises = kind  # type: ignore[attr-defined]
        return program

    return declared


def agree(
    program: Program,
    rtol: float = 2e-6,
    atol: float = 1e-6,
    recorded: bool = True,
    raises: type[Exception] | None = None,
) -> Outcome:
    """Runs `program` under jaxvjp and asserts that torch agrees; returns what happened under jaxvjp.

    What is not `recorded` needs live torch: programs that are others each time. With `raises` the program has to end in
    an error of that class. Without, it may end in any but those of `SLIPS`.
    """
    expected = theirs(program, rtol, atol) if recorded else Outcome(program, live)
    given = compare(Outcome(program, jaxvjp), expected, rtol, atol)
    if raises is not None:
        assert isinstance(given.error, raises), f"{raises.__name__} is declared: {given}"
    elif given.raised is not None:
        assert given.raised[0] not in SLIPS, f"declare it, `raises={given.raised[0]}`, if it is meant: {given}"
    return given


def compare(given: Outcome, expected: Outcome, rtol: float = 2e-6, atol: float = 1e-6) -> Outcome:
    """Asserts that what happened under jaxvjp is what torch makes of it, and returns it."""
    if given.error is not None and expected.raised is None:
        raise given.error
    difference = expected.difference(given, rtol, atol)
    assert not difference, f"torch, and then jaxvjp:\n{difference}"
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


def agreement_of(programs: list[Program], **tolerance: float) -> Callable[..., None]:
    """A test that runs each program under both: `test_agrees_with_torch = agreement_of(PROGRAMS)`."""

    @pytest.mark.parametrize("function", programs, ids=lambda function: function.__name__)
    def test_agrees_with_torch(function: Program) -> None:
        declared = getattr(function, "raises", None)
        outcome = agree(function, raises=declared, **tolerance)
        assert outcome.raised is None or declared is not None, f"declare it, `@raises(...)`, if it is meant: {outcome}"

    return test_agrees_with_torch


def live_nodes(collected: bool = True) -> int:
    """How many nodes there are, once cycles are collected. In the compiled form their search knows most nodes only
    through others."""
    if collected:
        gc.collect()
    if not CYTHONIZED:
        return sum(type(each) is Node for each in gc.get_objects())
    pending, nodes = gc.get_objects(), set()
    seen = {id(each) for each in pending}
    while pending:
        nodes.update(id(each) for each in pending if type(each) is Node)
        onward = [each for each in gc.get_referents(*pending) if type(each) is Node or type(each) is tuple]
        pending = list({id(each): each for each in onward if id(each) not in seen}.values())
        seen.update(map(id, pending))
    return len(nodes)

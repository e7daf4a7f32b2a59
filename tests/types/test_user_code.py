"""Warnings are told for the user's line, whichever modules are compiled, and whether JAX stands between."""

from __future__ import annotations

import warnings

import pytest

import jaxvjp as torch
from jaxvjp.nn import functional
from jaxvjp.utils import checkpoint

WARNING = {
    "a function": lambda: torch.range(0, 3),
    "a method": lambda: torch.ones(1).std(),
    "a property": lambda: (torch.ones(1, requires_grad=True) * 2).grad,
    "a given result": lambda: torch.add(torch.ones(3), 1, out=torch.ones(2)),
    "a loss": lambda: functional.mse_loss(torch.ones(3), torch.ones(1)),
    "a layer": lambda: torch.nn.LSTM(2, 2, dropout=0.5),
    "an old name": lambda: torch.nn.init.uniform(torch.ones(3)),
    "a schedule": lambda: torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.ones(1)], 0.1), 1).step(),
    "a context": lambda: checkpoint.checkpoint(torch.sin, torch.ones(2), use_reentrant=True),
    "a backward": lambda: torch.autograd.backward(torch.ones(1, requires_grad=True), create_graph=True),
}


@pytest.mark.parametrize("given", WARNING.values(), ids=WARNING)
def test_a_warning_is_told_for_the_line_that_asked_for_it(given):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        given()
    assert told
    assert {(each.filename, each.lineno) for each in told} == {(__file__, given.__code__.co_firstlineno)}


def test_a_warning_is_told_once_for_each_line():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            torch.range(0, 3)
        torch.range(0, 3)
    assert len(told) == 2

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


CALLS = {
    "F.softmax(x)": "UserWarning Implicit dimension choice for softmax has been deprecated.",
    "F.log_softmax(x[0], dtype=torch.float64)": "UserWarning Implicit dimension choice for log_softmax has been",
    "torch.nn.Softmin()(x.t())": "UserWarning Implicit dimension choice for softmin has been deprecated.",
    "F.softmax(x, 0)": "",
    "F.mse_loss(x, x[:1])": "UserWarning Using a target size (torch.Size([1, 2])) that is different to the input size",
    "F.kl_div(x, x)": "UserWarning reduction: 'mean' divides the total loss by both the batch size",
    "torch.tensor(x)": "UserWarning To copy construct from a tensor, it is recommended to use sourceTensor.detach()",
    "x.new_tensor(x, dtype=torch.float64)": "UserWarning To copy construct from a tensor, it is recommended to use",
    "torch.tensor([x[0, 0].detach(), 2.0])": "",
    "torch.as_tensor(x)": "",
    "torch.autograd.Function()": "DeprecationWarning <class 'torch.autograd.function.Function'> should not be",
}

PROGRAM = """\
results = [
    {0},
    {0},
]
for _ in range(2):
    results.append({0})
if getattr(results[0], "requires_grad", False):
    torch.autograd.grad(sum(each.sum() for each in results), x)[0].tolist()
"""


@pytest.mark.parametrize("call", CALLS)
def test_each_call_warns_at_its_line_and_nothing_else_does(call):
    space = {"torch": torch, "F": functional, "x": torch.ones(2, 2, requires_grad=True), "__name__": "__main__"}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("error")
        warnings.filterwarnings("always", module="__main__")
        exec(compile(PROGRAM.format(call), "script.py", "exec"), space)
    assert [each.lineno for each in told] == ([2, 3, 6, 6] if CALLS[call] else [])
    found = {f"{each.category.__name__} {each.message}" for each in told}
    assert all(each.replace("jaxvjp.", "torch.").startswith(CALLS[call]) for each in found), found


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

"""Schedules of an optimizer that passes its steps on to another one, and does not call `super().__init__`."""

from __future__ import annotations

import types
import warnings

import pytest
from oracle import agree


def wrapper_of(torch, optimizer):
    class Wrapper(torch.optim.Optimizer):
        def __init__(self, optimizer):
            self.optimizer = optimizer

        param_groups = property(lambda self: self.optimizer.param_groups)
        state = property(lambda self: self.optimizer.state)
        defaults = property(lambda self: self.optimizer.defaults)

        def step(self, closure=None):
            return self.optimizer.step(closure)

    return Wrapper(optimizer)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_a_step_before_the_schedule_was_made_does_not_count(own, after):
    def program(torch):
        class Own(torch.optim.Optimizer):
            def step(self, closure=None):
                pass

        p = torch.nn.Parameter(torch.ones(2))
        optimizer = Own([p], {"lr": 0.1}) if own else torch.optim.SGD([p], lr=0.1)
        optimizer.step()
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        if after:
            optimizer.step()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            schedule.step()
        return [str(each.message) for each in told]

    agree(program)


@pytest.mark.parametrize("order", ["step", "schedule first", "overridden", "overridden before", "two schedules"])
def test_what_a_schedule_warns_of(order):
    def program(torch):
        p = torch.nn.Parameter(torch.ones(2))
        p.grad = torch.ones(2)
        outer = wrapper_of(torch, torch.optim.SGD([p], lr=0.1))
        if order == "overridden before":
            outer.step = types.MethodType(lambda self, closure=None: self.optimizer.step(closure), outer)
        schedules = [torch.optim.lr_scheduler.StepLR(outer, 1) for _ in range(1 + (order == "two schedules"))]
        if order == "overridden":
            outer.step = lambda closure=None: None
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(2):
                if order != "schedule first":
                    outer.step()
                for schedule in schedules:
                    schedule.step()
        return [str(each.message).partition(".")[0] for each in told], outer.param_groups[0]["lr"], p.detach()

    agree(program)

"""Whole steps with a module, an optimizer and a schedule, staged by `jit`."""

from __future__ import annotations

import jaxvjp
from jaxvjp import nn


def losses(jit, dispatched=None):
    jaxvjp.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
    optimizer = jaxvjp.optim.Adam(model.parameters(), lr=1e-2)
    schedule = jaxvjp.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
    x = jaxvjp.randn(16, 4)

    def step(x):
        optimizer.zero_grad()
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    staged, found = jit(step), []
    for _ in range(12):
        before = jaxvjp.counters.dispatches
        found.append(staged(x).item())
        if dispatched is not None:
            dispatched.append(jaxvjp.counters.dispatches - before)
        schedule.step()
    model.eval()
    return [*found, jit(model.forward)(x)[0].item(), jit(model.forward)(x)[0].item()]


def test_a_staged_step_sees_the_schedule(counted):
    dispatched = []
    expected, given = losses(lambda step: step), losses(jaxvjp.jit, dispatched)
    jaxvjp.testing.assert_close(jaxvjp.tensor(given), jaxvjp.tensor(expected))
    assert dispatched[1:] == [1] * 11


def test_a_staged_call_sees_that_a_model_is_evaluated():
    model, x = nn.Dropout(0.5), jaxvjp.ones(64)
    staged = jaxvjp.jit(lambda: model(x).min())
    assert [staged().item() for _ in range(3)] == [0.0] * 3
    model.eval()
    assert [staged().item() for _ in range(3)] == [1.0] * 3


def test_a_training_loop_that_is_not_staged_compiles_nothing_after_its_first_steps(counted):
    x, y = jaxvjp.ones(4, 3), jaxvjp.zeros(4, 2)
    model = jaxvjp.nn.Sequential(jaxvjp.nn.Linear(3, 5), jaxvjp.nn.Tanh(), jaxvjp.nn.Linear(5, 2))
    optimizer = jaxvjp.optim.Adam(model.parameters())
    for step in range(120):  # some 6,000 operations without a gradient: each 2,039th of them is where it may be cut
        if step == 4:
            counted()
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()
    compiles, dispatches = counted()
    assert (compiles, dispatches) == (0, 116)

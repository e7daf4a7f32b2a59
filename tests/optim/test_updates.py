"""An optimizer's update as one operation: what it comes to is what the rule gives operation by operation."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from oracle import agree
from test_optimizers import CASES, plainly

import jaxvjp
from jaxvjp.optim import elementwise
from jaxvjp.staging.updates import Rate
from jaxvjp.tensor import apply
from jaxvjp.types import devices

RATES = (0.05, 0.05, 0.02, 0.3, 0.02, 0.001, 0.1, 0.07)


pytestmark = pytest.mark.usefixtures("one_device")


def at_once(optimizer):
    """Whether steps were made as one operation."""
    return any(each is not None for each in getattr(optimizer, "__updates__", {}).values())


def trained(torch, name, options):
    """The parameters and the optimizer after steps with ever other rates."""
    parameters = [torch.linspace(-1, 1, size, requires_grad=True) for size in (3, 4)]
    groups = [{"params": parameters[:1]}, {"params": parameters[1:], "lr": 0.2}]
    optimizer = getattr(torch.optim, name)(groups, **options)
    for rate in RATES:
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        sum((each.sin() * each).sum() for each in parameters).backward()
        optimizer.step()
    return parameters, optimizer


@pytest.mark.parametrize(("name", "options"), CASES)
def test_it_is_what_the_rule_gives(name, options, monkeypatch):
    parameters, optimizer = trained(jaxvjp, name, options)
    assert at_once(optimizer)
    assert len(optimizer.__updates__) <= 2  # of the step that makes the state it knows that it cannot be
    monkeypatch.setattr(elementwise, "update_at_once", lambda optimizer: False)
    expected, plain = trained(jaxvjp, name, options)
    assert not at_once(plain)
    jaxvjp.testing.assert_close([parameters, *plainly(optimizer)[:1]], [expected, *plainly(plain)[:1]])
    assert [each._version for each in parameters] == [each._version for each in expected]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_rates_that_change_are_torchs(name, options):
    agree(lambda torch: trained(torch, name, options)[0], rtol=1e-4, atol=2e-5)


def test_another_rate_compiles_nothing(counted):
    x = jaxvjp.linspace(-1, 1, 5, requires_grad=True)
    optimizer = jaxvjp.optim.Adam([x])
    for step in range(30):
        if step == 5:
            counted()
        optimizer.param_groups[0]["lr"] = 0.1 / (step + 1)
        optimizer.zero_grad()
        (x * x).sum().backward()
        optimizer.step()
    assert counted() == (0, 25)


def test_tensors_elsewhere_change_nothing_at_home(monkeypatch, counted):
    """Where one was made on another device, such as `meta`, what is recorded and updated at home is so as before."""
    monkeypatch.setattr(devices.Elsewhere, "used", True)
    parameters, optimizer = trained(jaxvjp, "AdamW", {})
    assert at_once(optimizer)
    counted()
    calls = list(apply.remembered)
    for _ in range(3):
        optimizer.zero_grad()
        sum((each.sin() * each).sum() for each in parameters).backward()
        optimizer.step()
    assert counted() == (0, 3)
    assert list(apply.remembered) == calls


def test_what_is_elsewhere_stays_there_when_calls_repeat():
    def program(torch):
        here, there = torch.ones(()), torch.ones(3, device="meta")
        results = [torch.add(*pair) for pair in [(there, here), (here, there), (there, there)] * 2]
        with torch.device("meta"):
            layer = torch.nn.Linear(3, 2)
        return [(each.device.type, each.shape) for each in (*results, layer(there), layer(there))]

    agree(program)


def shared_memory(torch):
    base = torch.ones(4)
    parameters = [base[:3].requires_grad_(), base[1:].requires_grad_()]
    return parameters, torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def a_rate_in_a_tensor(torch):
    parameters = [torch.ones(3, requires_grad=True)]
    return parameters, torch.optim.Adam(parameters, lr=torch.tensor(0.1))


def complex_numbers(torch):
    parameters = [torch.ones(3, dtype=torch.complex64, requires_grad=True)]
    return parameters, torch.optim.Adam(parameters, lr=0.1)


def one_is_the_grad_of_another(torch):
    parameters = [torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)]
    parameters[0].grad = parameters[1].detach()
    return parameters, torch.optim.SGD(parameters, lr=0.1)


REFUSED = [shared_memory, a_rate_in_a_tensor, complex_numbers, one_is_the_grad_of_another]


@pytest.mark.parametrize("made", REFUSED)
def test_what_is_updated_operation_by_operation(made):
    def program(torch):
        parameters, optimizer = made(torch)
        for _ in range(4):
            sum((each * each.conj()).real.sum() for each in parameters).backward()
            optimizer.step()
        return parameters, at_once(optimizer)

    agree(program)


def test_a_momentum_that_a_schedule_cycles():
    def program(torch):
        x = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([x], lr=0.1, momentum=0.9)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, total_steps=20)
        for _ in range(20):
            optimizer.zero_grad()
            (x * x).sum().backward()
            optimizer.step()
            schedule.step()
        return x

    agree(program)


def test_a_copy_and_a_pickle_go_on():
    parameters, optimizer = trained(jaxvjp, "Adam", {})
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        assert plainly(other)[0].keys() == plainly(optimizer)[0].keys()
        (p, *_) = other.param_groups[0]["params"]
        p.grad = jaxvjp.ones_like(p)
        before = p.tolist()
        other.step()
        assert at_once(other)
        assert p.tolist() != before
    assert parameters[0].tolist() != p.tolist()


@pytest.mark.parametrize(
    "formula", [lambda lr: lr**2, lambda lr: float(str(lr)), lambda lr: min(lr, 0.07), lambda lr: np.sqrt(lr)]
)
def test_a_rate_that_is_used_otherwise_is_not_taken_for_a_number(formula):
    class Other(elementwise.Elementwise):
        __counts__ = ()

        def __rule__(self, p, grad, state, group, numbers):
            p.add_(grad, alpha=-float(formula(group["lr"])))

    x = jaxvjp.zeros(2, requires_grad=True)
    optimizer = Other([x], {"lr": 0.1, "eps": 0.0, "weight_decay": 0.0})
    expected = 0.0
    for lr in (0.1, 0.05, 0.06, 0.5):
        optimizer.param_groups[0]["lr"] = lr
        x.grad = jaxvjp.ones(2)
        optimizer.step()
        expected -= float(formula(lr))
    assert np.allclose(x.tolist(), expected)


def test_a_rate_knows_what_was_computed_from_it():
    rate = Rate(0.1, 3)
    for formula in (lambda lr: 1 - lr * 0.5, lambda lr: -lr / 2 + 1, lambda lr: 2 / lr - 1, lambda lr: 0.5 * lr + lr):
        found = formula(rate)
        assert type(found) is Rate
        assert found.group == 3
        assert found == formula(0.1)
        if formula(0.3) != found.of(0.3):  # it adds a rate to a rate, of which only one is followed
            assert found.of(0.3) == 0.5 * 0.3 + rate


def test_a_setting_is_part_of_the_update():
    def program(torch):
        x = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.Adam([x], lr=0.1)
        for number in range(8):
            optimizer.param_groups[0]["weight_decay"] = 0.1 * (number % 2)
            optimizer.param_groups[0]["maximize"] = number > 5
            x.grad = torch.ones(3)
            optimizer.step()
        return x

    agree(program)

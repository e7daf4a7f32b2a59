"""NumPy's pullbacks, operation by operation: they give torch's gradients, and each operation is traced once."""

from __future__ import annotations

import pytest
from oracle import agreement_of, programs_of

import jaxvjp
from jaxvjp.core.derive import chain_rule
from jaxvjp.core.derive.chain_rule import step_of
from jaxvjp.core.run.tiers import Compiling, set_compiling
from jaxvjp.ops import tracing


@pytest.fixture(autouse=True)
def _by_numpy(monkeypatch):
    monkeypatch.setattr(Compiling, "when", Compiling.when)
    set_compiling("never")


def leaf(torch, *shape):
    size = torch.Size(shape).numel()
    numbers = torch.arange(size, dtype=torch.float64) / size - 0.3
    return numbers.reshape(shape).requires_grad_()


def gradients(torch, y, *leaves):
    return torch.autograd.grad(y.sum(), leaves, allow_unused=True)


def what_is_read_twice(torch):
    x = leaf(torch, 3)
    return gradients(torch, x.sin() * x + x * x, x)


def several_results_of_which_some_are_wanted(torch):
    x = leaf(torch, 3, 4)
    values, positions = (x * 2).sort(1)
    return gradients(torch, values[:, 1:] * x[:, :1] + positions[:, 1:], x)


def all_results_at_once(torch):
    x, y = leaf(torch, 2, 3), leaf(torch, 3)
    first, second = torch.linalg.slogdet(x @ x.t() + torch.eye(2, dtype=x.dtype))
    return gradients(torch, first * second * y, x, y)


def a_gradient_that_is_always_zero_meets_no_infinity(torch):
    x = leaf(torch, 4)
    y = x.detach().clone().requires_grad_()
    return gradients(torch, (x * 0).floor() + y, y), gradients(torch, x.sign() * x, x)


def nothing_flows_through_what_is_detached(torch):
    x = leaf(torch, 3)
    return gradients(torch, x * x.detach() + x.exp().detach(), x)


def integers_and_masks_between(torch):
    x = leaf(torch, 5)
    return gradients(torch, torch.where(x > 0, x * 2, x.exp()) * x.argsort(), x)


def complex_numbers(torch):
    x = leaf(torch, 3)
    z = torch.complex(x, x * 2).requires_grad_()
    return gradients(torch, (z * z.conj() * (1 + 2j)).abs() + z.exp().real, x, z)


def gradients_of_gradients(torch):
    x, w = leaf(torch, 3, 2), leaf(torch, 2, 2)
    (first,) = torch.autograd.grad((x @ w).tanh().pow(3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((first * first).sum(), x, create_graph=True)
    return first.detach(), second.detach(), gradients(torch, second.cos(), x, w)


def gradients_of_gradients_through_a_rule_of_jax(torch):
    x = leaf(torch, 3, 2)
    (first,) = torch.autograd.grad(torch.linalg.pinv(x).sum(), x, create_graph=True)
    return gradients(torch, first * first, x)


def a_batch_of_cotangents(torch):
    x = leaf(torch, 3)
    y = (x * x).cumsum(0) * x.max()
    return torch.autograd.grad(y, x, torch.eye(3, dtype=x.dtype), is_grads_batched=True)


def a_batch_of_cotangents_of_what_does_not_arrive(torch):
    x, w = leaf(torch, 3), leaf(torch, 3)
    y = x * 2 + (w * 0).round()
    return torch.autograd.grad(y, (x, w), torch.eye(3, dtype=x.dtype), is_grads_batched=True)


def sixteen_bits(torch):
    x = torch.tensor([0.5, -1.0, 2.0, 0.25], dtype=torch.bfloat16, requires_grad=True)
    return gradients(torch, (x * x + x).relu() * x.sum(), x)


test_agrees_with_torch = agreement_of(programs_of(globals()), rtol=1e-5)


@pytest.fixture
def traced(monkeypatch):
    """The operations whose derivatives the lines of the test traced."""
    names = []

    def noted(function, structs, operation):
        names.append(operation.name)
        return tracing.trace(function, structs, operation)

    monkeypatch.setattr(chain_rule, "trace", noted)
    step_of.cache_clear()
    return names


def recurrence(rounds):
    w = jaxvjp.full((3, 3), 0.1, requires_grad=True)
    h = jaxvjp.ones(2, 3)
    for _ in range(rounds):
        h = (h @ w).tanh() * 1.5
    h.sum().backward()
    return w.grad


def test_an_operation_is_traced_once_for_all_rounds_and_lengths(traced):
    recurrence(7)
    assert sorted(traced) == ["matmul", "matmul", "mul", "sum", "tanh"]  # the first matmul has no gradient for h
    recurrence(20)
    recurrence(21)
    assert len(traced) == 5


def test_a_gradient_that_no_operation_passes_on_is_not_computed(traced):
    x = jaxvjp.ones(3, requires_grad=True)
    y = jaxvjp.ones(3, requires_grad=True)
    (x.exp().floor() + y).sum().backward()
    assert sorted(traced) == ["add", "floor", "sum"]  # and not that of exp
    assert x.grad.tolist() == [0, 0, 0]

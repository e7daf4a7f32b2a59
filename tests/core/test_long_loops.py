"""Long graphs from loops, in pieces of whole rounds: the values equal those in one piece, and torch's."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import agree, agreement_of, programs_of

import jaxvjp
from jaxvjp.core.derive import engine, remembered_walks
from jaxvjp.core.run import evaluation, pieces
from jaxvjp.core.run.tiers import Compiling
from tools.fuzz.outcomes import plain, same

PIECE = 12
"""As many operations are a piece here, so that graphs of some hundred operations are long."""


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", PIECE)
    monkeypatch.setattr(engine, "PIECE", PIECE)


def leaf_of(torch, size=3, dtype=None):
    return torch.tensor(np.linspace(-0.5, 0.75, size).tolist(), dtype=dtype, requires_grad=True)


def again(torch, step):
    """What a step gives at first, and once it is known."""
    return [step(torch) for _ in range(3)]


# They are called with a number of rounds.


def numbers_that_differ(torch, rounds):
    y = x = leaf_of(torch)
    for step in range(rounds):
        y = y * 0.99 + 0.01 * step
    (y * y).sum().backward()
    return y.detach(), x.grad


def what_each_round_began_with(torch, rounds):
    y = x = leaf_of(torch, 4)
    for _ in range(rounds):
        y = torch.sin(y) * 1.1 - torch.exp(-y) * 0.2
    y.sum().backward()
    return y.detach(), x.grad


def carried_across(torch, rounds):
    x = leaf_of(torch, 5)
    a, b = x, x * 2
    for _ in range(rounds):
        a, b = b, a * 0.5 + torch.sin(b)
    (a * b).sum().backward()
    return x.grad


def parameters(torch, rounds):
    x, w, b = leaf_of(torch, 2), torch.tensor([[0.5, 0.1], [0.2, 0.4]], requires_grad=True), leaf_of(torch, 2)
    h, loss = x, 0
    for step in range(rounds):
        h = torch.tanh(h @ w + b)
        loss = loss + (h * h).sum() * (0.1 * step)
    loss.backward()
    return loss.detach(), x.grad, w.grad, b.grad


def doubles(torch, rounds):
    y = x = leaf_of(torch, 6, torch.float64)
    for step in range(rounds):
        y = torch.sin(y) + 0.1 * step
    y.sum().backward()
    return y.detach(), x.grad


def integers(torch, rounds):
    count = torch.zeros(6, dtype=torch.int64)
    for step in range(rounds):
        count = count * 3 + (step << 33)
    return count, count.tolist()


def rows_of_a_sequence(torch, rounds):
    rows = torch.tensor(np.linspace(-1, 1, 2 * rounds).reshape(rounds, 2).tolist())
    w = torch.tensor([[0.5, 0.1], [0.2, 0.4]], requires_grad=True)
    h, weight = torch.zeros(2), torch.ones(2)
    for step in range(rounds):
        weight = weight * 0.9 + 0.1
        h = torch.tanh(rows[step] + h @ w) * weight
    h.sum().backward()
    return h.detach(), w.grad


LOOPS = [
    numbers_that_differ,
    what_each_round_began_with,
    carried_across,
    parameters,
    doubles,
    integers,
    rows_of_a_sequence,
]


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_a_long_loop_is_what_it_is_in_one_piece(loop, monkeypatch):
    agree(lambda torch: again(torch, lambda torch: loop(torch, 48)), rtol=2e-5, atol=1e-5)
    before = jaxvjp.counters.dispatches
    given = plain(loop(jaxvjp, 48))
    dispatches = jaxvjp.counters.dispatches - before
    assert dispatches > 4
    monkeypatch.setattr(pieces, "PIECE", 1000)
    monkeypatch.setattr(engine, "PIECE", 1000)
    evaluation.plans.known.clear()
    remembered_walks.memory.known.clear()
    before = jaxvjp.counters.dispatches
    expected = plain(loop(jaxvjp, 48))
    assert jaxvjp.counters.dispatches - before < dispatches
    assert same(given, expected, rtol=2e-5, atol=1e-5)


def held_in_the_middle(torch):
    def step(torch):
        y = x = leaf_of(torch, 7)
        kept = []
        for number in range(150):
            y = y * 0.98 + 0.01
            if number in (61, 64, 90):
                kept.append(y)
        (y * y + kept[0]).sum().backward()
        return x.grad, kept

    return again(torch, step)


def two_steps_back(torch):
    def step(torch):
        x = leaf_of(torch, 8)
        before, y = x * 0.5, x
        values = []
        for _ in range(90):
            values.append(y)
            before, y = y, torch.sin(y) * 0.7 + before * 0.2
        ((y * values[40]).sum() + values[7].sum()).backward()
        return x.grad

    return again(torch, step)


def a_gradient_of_a_gradient(torch):
    def step(torch):
        y = x = leaf_of(torch, 9)
        for _ in range(40):
            y = torch.sin(y) * 1.01
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (g * g).sum().backward()
        return g.detach(), x.grad

    return again(torch, step)


def hooks_and_retained_gradients(torch):
    def step(torch):
        y = x = leaf_of(torch, 10)
        seen = []
        for number in range(120):
            y = y * 0.97 + x * 0.01
            if number == 60:
                y.register_hook(lambda gradient: gradient * 2)
            if number == 30:
                y.retain_grad()
                middle = y
        y.sum().backward()
        seen += [middle.grad, x.grad]
        return seen

    return again(torch, step)


def python_behind_the_target(torch):
    def step(torch):
        x, called = leaf_of(torch, 15), []
        begun = x * 2
        begun.grad_fn.register_hook(lambda inputs, outputs: called.append(len(outputs)))
        y = middle = torch.sin(begun)
        scale = torch.ones(15)
        for _ in range(60):
            scale = scale * 0.99
            y = y * scale
        return torch.autograd.grad(y.sum(), middle), called

    return again(torch, step)


def no_gradient_at_all(torch):
    def step(torch):
        y = torch.ones(11)
        for number in range(200):
            y = y * 0.5 + number
        return y, y.tolist()

    return again(torch, step)


def test_another_length_is_the_same_programs(counted):
    def step(rounds):
        y = x = leaf_of(jaxvjp, 12)
        for _ in range(rounds):
            y = jaxvjp.sin(y)
        y.sum().backward()
        return x.grad.tolist()

    for _ in range(3):
        step(9 * PIECE)
    for rounds in (15 * PIECE, 10 * PIECE, 12 * PIECE):
        step(rounds)  # which is cut into short pieces, as it may be the only one
        counted()
        first = step(rounds)
        assert counted()[0] == 0
        assert step(rounds) == first


def test_ten_thousand_adds_are_few_programs(monkeypatch, counted):
    monkeypatch.undo()
    monkeypatch.setattr(Compiling, "when", "always")
    x = leaf_of(jaxvjp, 13)
    for most in (10_000, 80, 80):
        x.grad = None
        y = x
        for _ in range(10_000):
            y = y + 1
        counted()
        y.sum().backward()
        compiles, dispatches = counted()
        assert x.grad.tolist() == [1.0] * 13
        assert compiles <= 4
        assert dispatches <= most


def test_a_staged_loop_gives_the_same_each_time():
    x = leaf_of(jaxvjp, 14)

    @jaxvjp.jit
    def step():
        y = x
        for number in range(96):
            y = jaxvjp.sin(y) * (1 + 0.001 * number)
        x.grad = None
        y.sum().backward()
        return y.detach()

    first = step().tolist(), x.grad.tolist()
    for _ in range(17):
        step()
    assert same([step().tolist(), x.grad.tolist()], list(first), rtol=2e-5)


test_agrees_with_torch = agreement_of(programs_of(globals()))

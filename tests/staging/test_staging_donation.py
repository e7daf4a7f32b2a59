"""A staged step donates large state that nothing else refers to, and no other."""

from __future__ import annotations

import threading

import jax
import numpy as np
import pytest
from steps import MANY, large

import jaxvjp


@pytest.fixture(autouse=True)
def arrays_of_a_quarter_of_a_mebibyte_are_donated(monkeypatch):
    """On every backend, as they are on an accelerator."""
    monkeypatch.setitem(jaxvjp.staging.warm.DONATED, jax.default_backend(), 1 << 18)


def donated_by(call):
    before = jaxvjp.counters.donated
    call()
    return jaxvjp.counters.donated - before


@pytest.mark.accelerated("warm path")
def test_large_state_that_nobody_else_holds_is_donated():
    w, step = large()
    target = jaxvjp.tensor(1.0)
    place = w.value.unsafe_buffer_pointer()
    assert donated_by(lambda: [step(target) for _ in range(3)]) == 3
    assert w.value.unsafe_buffer_pointer() == place
    expected = 1.0
    for _ in range(len(MANY) + 3):
        expected *= 0.8
    assert abs(1 - w[0].item() - expected) < 1e-5
    _, step = large(10)
    assert donated_by(lambda: step(target)) == 0


@pytest.mark.parametrize(
    "hold",
    [
        lambda w: w.value,
        lambda w: np.array(w.detach()),
        lambda w: np.asarray(w.value)[3:],
        lambda w: w.clone().detach(),
        lambda w: w.clone().detach().numpy().reshape(2, -1),
        lambda w: np.from_dlpack(w.value),
    ],
)
def test_what_the_user_holds_is_never_overwritten(hold):
    w, step = large()
    held = hold(w)
    before = np.array(held)
    for _ in range(3):
        step(jaxvjp.tensor(1.0))
    assert np.array_equal(before, np.array(held))
    assert not np.array_equal(before.ravel()[:3], w.tolist()[:3])


@pytest.mark.accelerated("warm path")
def test_what_is_only_read_is_not_donated():
    w, x = jaxvjp.zeros(100_000), jaxvjp.ones(100_000)

    @jaxvjp.jit
    def step():
        w.add_(x)
        return x * 2

    for _ in MANY:
        step()
    assert donated_by(step) == 1
    assert (x[0].item(), w[0].item()) == (1.0, len(MANY) + 1.0)


@pytest.mark.parametrize("alias", [lambda w: w.detach(), lambda w: w.data, lambda w: w[3:], lambda w: w.view(2, -1)])
def test_what_shares_the_storage_sees_the_new_contents(alias):
    w, step = large()
    other = alias(w)
    before = other.detach().tolist()
    for _ in range(3):
        step(jaxvjp.tensor(1.0))
    assert other.detach().tolist() == alias(w).detach().tolist() != before


def test_steps_that_share_state_may_both_overwrite_it():
    w, step = large()
    double = jaxvjp.jit(lambda: w.data.mul_(2))
    with jaxvjp.no_grad():
        halve = jaxvjp.jit(w.mul_)
    for _ in MANY:
        step(jaxvjp.tensor(1.0))
        double()
        with jaxvjp.no_grad():
            halve(0.5)
    assert w.isfinite().all()


@pytest.mark.accelerated("warm path")
def test_nothing_is_donated_while_another_thread_runs():
    _, step = large()
    target = jaxvjp.tensor(1.0)
    ending = threading.Event()
    other = threading.Thread(target=ending.wait)
    other.start()
    try:
        assert donated_by(lambda: step(target)) == 0
    finally:
        ending.set()
        other.join()
    assert donated_by(lambda: step(target)) == 1


@pytest.mark.accelerated("warm path")
def test_a_call_that_fails_leaves_everything_as_it_was(monkeypatch):
    w, step = large()
    before, version = w[:3].tolist(), w._version

    def broken(*operands):
        raise RuntimeError("out of memory")

    for name in ("run", "run_over"):
        monkeypatch.setitem(step._hot.__globals__, name, broken)
    with pytest.raises(RuntimeError, match="out of memory"):
        step(jaxvjp.tensor(1.0))
    monkeypatch.undo()
    assert (w[:3].tolist(), w._version, w.grad) == (before, version, None)
    step(jaxvjp.tensor(1.0))
    assert w._version == version + 1

"""Later calls of a staged step: they record and compile nothing, and notice what has changed."""

from __future__ import annotations

import math
import threading
from contextlib import contextmanager

import pytest
from steps import MANY, network

import jaxvjp
from jaxvjp.core.record.versions import next_serial


def test_threads_may_share_a_step():
    w = jaxvjp.zeros(3)
    step = jaxvjp.jit(lambda x: (w + x) * 2)
    results = {}

    def work(number):
        results[number] = [step(jaxvjp.full((3,), float(number))).tolist() for _ in range(40)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert results == {number: [[2.0 * number] * 3] * 40 for number in range(4)}


@pytest.mark.accelerated("warm path")
def test_later_calls_record_nothing_and_compile_nothing():
    x, y, w = network(jaxvjp)

    @jaxvjp.jit
    def step():
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        with jaxvjp.no_grad():
            w.sub_(0.1 * w.grad)
        w.grad = None
        return loss.detach()

    losses = [step().item() for _ in range(13)]  # from here on it is hot
    before = jaxvjp.counters.compiles, jaxvjp.counters.dispatches
    begin = next_serial()
    results = [step() for _ in range(5)]
    assert next_serial() - begin - 1 == 5  # the losses; the contents of w are changed in its node
    assert (jaxvjp.counters.compiles, jaxvjp.counters.dispatches) == (before[0], before[1] + 5)
    losses += [each.item() for each in results]
    assert losses == sorted(losses, reverse=True)


def test_a_long_step_without_a_loop_is_one_program(counted):
    lines = [f"y = y.{['sin', 'exp', 'tanh', 'cos', 'sigmoid'][at * at % 5]}() * {at + 1}" for at in range(200)]
    namespace = {"x": jaxvjp.ones(2, requires_grad=True)}
    exec(
        "\n    ".join(["def step():", "x.grad, y = None, x", *lines, "y.sum().backward()", "return y.detach()"]),
        namespace,
    )
    step = jaxvjp.jit(namespace["step"])
    for _ in range(3):
        step()
    counted()
    step()
    assert counted() == (0, 1)


@pytest.mark.accelerated("warm path")
def test_numbers_that_come_again_have_their_warm_paths(monkeypatch):
    x = jaxvjp.tensor([0.5, 1.0], requires_grad=True)

    @jaxvjp.jit
    def step(depth, rate=1.0):
        x.grad = None
        z = x
        for _ in range(depth):
            z = z * z
        (rate * z).sum().backward()
        return x.grad

    calls = [((depth,), named) for depth in range(1, 7) for named in ({}, {"rate": 2.0})]
    expected = [step(*given, **named).tolist() for given, named in calls]
    for _ in range(20):
        for given, named in calls:
            step(*given, **named)
    monkeypatch.setattr(type(step), "_stage", None)
    monkeypatch.setattr("jaxvjp.staging.variant.Variant.run", None)
    assert [step(*given, **named).tolist() for given, named in calls] == expected
    monkeypatch.undo()
    assert step(1, float("nan")).isnan().all()
    assert step(True).tolist() == expected[0]


def test_a_zero_is_not_the_other_zero():
    """Neither as an argument nor as what the step's code names."""
    scale = 1.0
    step = jaxvjp.jit(lambda x, number: jaxvjp.stack([x * number, x * scale]))
    for number, scale in ((0.0, 1.0), (-0.0, 1.0), (1.0, 0.0), (1.0, -0.0)):
        for _ in MANY:
            found = step(jaxvjp.tensor(1.0), number).tolist()
            assert [math.copysign(1, each) for each in found] == [math.copysign(1, each) for each in (number, scale)]


def test_its_programs_are_bounded(monkeypatch):
    monkeypatch.setattr("jaxvjp.staging.VARIANTS", 3)
    step = jaxvjp.jit(lambda x, number: x * number)
    for number in range(8):
        assert step(jaxvjp.tensor([2.0]), number).tolist() == [2.0 * number]
        assert sum(len(each) for each in step._variants.values()) <= 3


def test_a_step_is_staged_anew_for_another_precision_of_products():
    weights, step = jaxvjp.ones(2, 2), jaxvjp.jit(lambda a: a @ weights)
    for _ in range(12):
        step(jaxvjp.ones(2, 2))
    before = jaxvjp.counters.compiles
    jaxvjp.set_float32_matmul_precision("high")
    try:
        step(jaxvjp.ones(2, 2))
        assert jaxvjp.counters.compiles == before + 1
    finally:
        jaxvjp.set_float32_matmul_precision("highest")
    step(jaxvjp.ones(2, 2))
    assert jaxvjp.counters.compiles == before + 1


@contextmanager
def in_double_precision():
    jaxvjp.set_default_dtype(jaxvjp.float64)
    try:
        yield
    finally:
        jaxvjp.set_default_dtype(jaxvjp.float32)


@pytest.mark.parametrize(
    "mode", [jaxvjp.no_grad, jaxvjp.inference_mode, in_double_precision], ids=lambda each: each.__name__
)
def test_a_hot_step_sees_in_which_mode_it_is_called(mode):
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)

    def step():
        y = x * 2
        found = jaxvjp.autograd.grad(y.sum(), x)[0] if y.requires_grad else y * 2
        return found * jaxvjp.ones(2)

    def told(result):
        return result.tolist(), result.dtype, result.is_inference()

    def in_mode(ready=lambda: None):
        with mode():
            ready()
            found.append(told(hot()))

    def elsewhere():
        """In another thread, which is in that mode already when this one calls the step."""
        turns = threading.Barrier(2)
        thread = threading.Thread(target=in_mode, args=(lambda: turns.wait() + turns.wait(),))
        thread.start()
        turns.wait()
        hot()
        turns.wait()
        thread.join()

    hot = jaxvjp.jit(step)
    usual = [told(hot()) for _ in range(20)][-1]
    assert usual == told(step())
    with mode():
        expected = told(step())
    found = []
    for run in (in_mode, in_mode, elsewhere):
        run()
        assert found[-1] == expected
        assert told(hot()) == usual


def test_a_hot_step_runs_as_it_is_where_it_is_transformed_or_told_of():
    x = jaxvjp.tensor([1.0, 2.0])
    doubled, drawn = jaxvjp.jit(lambda: x * 2), jaxvjp.jit(lambda: jaxvjp.rand(()))
    for _ in range(20):
        doubled(), drawn()
    for _ in range(2):
        with jaxvjp.explain.recording() as story:
            y = doubled()
        assert "y = x * 2" in str(story)
        assert y.tolist() == doubled().tolist()
        each = jaxvjp.func.vmap(lambda z: z + drawn(), randomness="different")(jaxvjp.zeros(3))
        assert len(set(each.tolist())) == 3
        drawn()

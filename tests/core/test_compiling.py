"""When programs are compiled, and compiled again: tested by counts, never by time."""

from __future__ import annotations

from functools import partial

import functions
import jax
import numpy as np
import pytest
from oracle import agreement_of, live_nodes, programs_of

import jaxvjp
from jaxvjp.core.derive import remembered_walks
from jaxvjp.core.record.record import constant
from jaxvjp.core.run import choosing, compilation
from jaxvjp.core.run.evaluation import evaluate
from jaxvjp.ops.op import Aval

leaf = partial(functions.leaf, jaxvjp)


def links(torch, z, depth):
    for _ in range(depth):
        z = torch.sin(z) * 1.1 + torch.exp(-z)
    return z


# Ways of compiling.


@pytest.fixture
def choosy(monkeypatch):
    """Every program is worth measuring."""
    monkeypatch.setattr(choosing, "WORTHWHILE", 0.0)
    monkeypatch.setattr(choosing.Choosing, "enabled", True)


def choices():
    """How the programs of all remembered walks are compiled."""
    walks = [each for each in remembered_walks.memory.known.values() if isinstance(each, remembered_walks.ComputedWalk)]
    return [dispatch.executable.choice for walk in walks for dispatch in walk.plan.dispatches]


def forced(monkeypatch, way):
    """Makes `way` seem the fastest."""
    monkeypatch.setitem(choosing.WAYS, "cpu", (way,))
    monkeypatch.setattr(choosing, "GAIN", float("inf"))


@pytest.mark.parametrize("way", [choosing.apart, choosing.unfused])
@pytest.mark.accelerated("remembered walks")
def test_every_way_gives_the_same(choosy, monkeypatch, way):
    forced(monkeypatch, way)
    x = leaf(*np.linspace(-1, 1, 7 if way is choosing.apart else 9))
    losses, grads = [], []
    for _ in range(14):
        loss = links(jaxvjp, x, 3).sum()
        loss.backward()
        losses.append(loss.item())
        grads.append(x.grad.tolist())
        x.grad = None
    assert way.__name__ in {each.way for each in choices()}
    assert losses == pytest.approx([losses[0]] * 14)
    assert np.allclose(grads, grads[0], rtol=1e-5)


def grads_of(x, steps=14):
    """The gradients of as many steps, by which a program is hot and settled."""
    grads = []
    for _ in range(steps):
        links(jaxvjp, x, 3).sum().backward()
        grads.append(x.grad.tolist())
        x.grad = None
    return grads


@pytest.mark.accelerated("remembered walks")
def test_settings_that_help_are_kept_on_top_of_each_other_and_one_unknown_to_xla_is_passed_over(choosy, monkeypatch):
    monkeypatch.setitem(choosing.WAYS, "cpu", (choosing.apart,))
    wide, alone = choosing.SETTINGS["cpu"]
    unknown = choosing.Setting("unknown", {"xla_cpu_no_such_option": True})
    monkeypatch.setitem(choosing.SETTINGS, "cpu", (wide, unknown, alone))
    monkeypatch.setattr(choosing, "_seconds", lambda known, _: {each: 1 / (1 + n) for n, each in enumerate(known)})
    made = []

    def compiler(function, **options):
        made.append(options)
        return jax.jit(function, **options)

    step = alone(wide(compiler))
    assert choosing.unfused(lambda x: (x + 1,), choosing.ONE_GROUP, step)(1.0)[0] == 2
    assert made[0]["compiler_options"] == {
        **wide.options,
        **alone.options,
        choosing.PASSES: f"fusion,{alone.without}",
    }
    x = leaf(*np.linspace(-1, 1, 13))
    grads = grads_of(x)
    assert "apart, wide, alone" in {str(each) for each in choices()}
    assert np.allclose(grads, grads[0], rtol=1e-5)
    assert "compiled apart, wide, alone (" in jaxvjp.explain_program()
    assert "wide and alone 333333 µs)" in jaxvjp.explain_program()
    before = compilation.counters.compiles
    grads_of(x)
    assert compilation.counters.compiles == before


@pytest.mark.parametrize(("gain", "told", "uses"), [(1e9, "together, fake", 2), (0.0, "together", 1)])
@pytest.mark.accelerated("remembered walks")
def test_a_setting_is_taken_if_it_gains_by_what_is_staged_too(choosy, monkeypatch, gain, told, uses):
    compiled = []

    class Fake:
        name, most, spares = "fake", float("inf"), False

        def __call__(self, compiler):
            return lambda function, **options: compiled.append(function) or compiler(function, **options)

    monkeypatch.setitem(choosing.WAYS, "cpu", ())
    monkeypatch.setitem(choosing.SETTINGS, "cpu", (Fake(),))
    monkeypatch.setattr(choosing, "GAIN", gain)
    x = leaf(*np.linspace(-1, 1, 15 if gain else 16))
    grads_of(x)
    settled = next(each for each in last_walk().plan.dispatches if each.executable.choice.seconds).executable
    assert str(settled.choice) == told
    compiled[:] = compiled[-1:]  # what was pending before may be a program of its own
    settled.with_constants([x.value], [np.ones(len(each), own.numpy) for own, each in settled.packs.items()])
    assert len(compiled) == uses


def test_a_loss_that_nobody_reads_is_not_computed(choosy, monkeypatch, counted):
    forced(monkeypatch, choosing.apart)
    x = leaf(*np.linspace(-1, 1, 5))

    def step():
        loss = links(jaxvjp, x, 2).sum()
        loss.backward()
        x.grad = None
        return loss

    expected = step().item()
    for _ in range(12):
        step()
    counted()
    loss = step()
    assert loss.__node__.value is None
    assert loss.item() == pytest.approx(expected)
    assert step().__node__.value is not None  # somebody wanted it
    assert counted()[1] == 3


def test_losses_that_are_kept_are_those_of_their_time(choosy, monkeypatch):
    forced(monkeypatch, choosing.apart)
    x = leaf(*np.linspace(-1, 1, 6))
    kept, read = [], []
    for losses, look in ((kept, False), (read, True)):
        with jaxvjp.no_grad():
            x.copy_(jaxvjp.tensor(np.linspace(-1, 1, 6)))
        for _ in range(14):
            loss = links(jaxvjp, x, 2).sum()
            loss.backward()
            losses.append(loss.item() if look else loss)
            with jaxvjp.no_grad():
                x.sub_(0.1 * x.grad)
            x.grad = None
    assert [each.item() for each in kept] == pytest.approx(read)
    assert len(set(read)) == 14


def test_a_program_that_reads_only_numbers_is_chosen_for_too(choosy):
    for number in range(12):
        node = constant(number, Aval((5,), jaxvjp.float32))
        evaluate([node])
        assert node.value.tolist() == [number] * 5


@pytest.mark.accelerated("remembered walks")
def test_choosing_can_be_switched_off(choosy):
    jaxvjp.set_choosing(False)
    x = leaf(0.25, 0.5, 0.75, 1.0)
    for _ in range(12):
        links(jaxvjp, x, 2).sum().backward()
        x.grad = None
    assert not any(isinstance(each.executable.call, choosing.Trial) for each in last_walk().plan.dispatches)


def last_walk():
    return list(remembered_walks.memory.known.values())[-1]


# Programs that are seen once, and loops that are never the same.


def test_a_long_program_is_compiled_when_it_comes_again(counted):
    x = leaf(0.5, 0.25, 0.125)

    def step():
        x.grad = None
        y = x.sin() + x.cos() * x.exp() - x.tanh() / (x * x + 2)
        z = (y.exp() + y.sin()) * (y.cos() - y.abs()) + y.sqrt().log() - y.sigmoid() * y
        (z.tanh() * z + z.exp() / (z * z + 1) - z.sin()).sum().backward()
        return x.grad.tolist()

    first = step()
    compiles, dispatches = counted()
    assert compiles <= 2  # of rests that are quickly compiled
    assert dispatches <= 5
    second = step()
    assert counted() == (1, 1)
    assert step() == second == pytest.approx(first, rel=1e-5)
    assert counted() == (0, 1)


def test_a_loop_of_ever_new_lengths_stops_compiling(counted):
    x = leaf(0.5, -0.25)
    for length in range(1, 80):
        if length == 64:
            counted()
        x.grad = None
        z = x
        for _ in range(length):
            z = jaxvjp.sin(z) * 1.1 + z
        z.sum().backward()
    compiles, dispatches = counted()
    assert compiles <= 2
    assert dispatches <= 16 * 24


def a_loop_of_ever_new_lengths(torch):
    x = torch.tensor([0.5, -0.25], requires_grad=True)
    for length in (9, 10, 11, 23, 37, 12, 23):
        z, carried = x, x * 0
        for step in range(length):
            carried = carried * 0.5 + z if step % 2 else carried
            z = torch.sin(z) * 0.9 + carried
        (z * carried).sum().backward()
    return x.grad


def test_a_loop_that_never_calls_backward_stays_flat():
    mean, other = jaxvjp.zeros(3), jaxvjp.zeros(2)
    x = jaxvjp.ones(3)

    before = live_nodes()
    for _ in range(5_000):
        mean = 0.9 * mean + 0.1 * x
        other = other + 1
    assert live_nodes() - before < 4 * 2 * 2039 < 4 * 5_000
    assert mean.tolist() == pytest.approx([1.0] * 3)
    assert other.tolist() == [5_000.0] * 2


def test_numbers_that_stay_are_on_the_device_once(counted):
    x = leaf(*np.linspace(1, 2, 11))  # of a size that no other test has, so that its walk is the last one learned
    packs = []

    def step(number):
        x.grad = None
        (x * number).sum().backward()
        packs.append(last_walk().plan.dispatches[0].executable.repeated[0][1])
        return x.grad[0].item()

    assert [step(each) for each in (2.0, 2.0, 2.0, 3.0, -0.0, 0.0)] == [2, 2, 2, 3, 0, 0]
    assert [each is not None for each in packs][-4:] == [True, False, False, False]


# Recompiles.


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda x: (x[:9] * 2).sum(), "float32[9]"),
        (lambda x: (x * 2).sin().sum(), "5 operations where there were 4"),
        (lambda x: (x + 2).sum(), "add and was mul"),
        (lambda x: (x * 2).sum(0), "dim=0 and had None"),
    ],
)
def test_a_recompile_is_explained(change, told, capsys, monkeypatch):
    x = leaf(*map(float, range(1, 12)))  # a shape that no other test has

    def step(function):
        function(x).backward()

    for number in (1.5, 2.5):
        step(lambda x, number=number: (x * number).sum())
    jaxvjp.core.run.history.history.recompiles.clear()  # it is bounded, and may be full
    monkeypatch.setattr(jaxvjp.core.run.history.history, "told", True)
    step(change)
    made = jaxvjp.recompiles()
    assert len(made) == 1
    assert made[0].line.text == "function(x).backward()"
    assert "test_compiling.py" in str(made[0])
    error = capsys.readouterr().err
    assert error == f"jaxvjp: {made[0]}\n"
    assert error.count("\n") == 1


def test_a_program_tells_how_it_is_compiled(choosy):
    x = leaf(0.5, 0.25, 0.75, 0.125, 1.0)
    for _ in range(10):
        links(jaxvjp, x, 3).sum().backward()
    text = jaxvjp.explain_program()
    assert "test_compiling.py" in text
    assert "together" in text
    assert "apart" in text


test_agrees_with_torch = agreement_of(programs_of(globals()))

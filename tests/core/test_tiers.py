"""When a program changes from NumPy to XLA, and that its results stay the same."""

import os
import re
import threading
import time

import pytest

import jaxvjp
from jaxvjp.autograd import backward_pass
from jaxvjp.core.run import plan, tiers
from jaxvjp.core.run.tiers import Compiling, Waiting, expected, set_compiling
from tools.fuzz.comparing import COMPARED
from tools.fuzz.programs import program_of
from tools.fuzz.running import Run


@pytest.fixture
def when(monkeypatch):
    """Says for one test when programs are compiled."""
    monkeypatch.setattr(Compiling, "when", Compiling.when)
    monkeypatch.setattr(Compiling, "thread", Compiling.thread)
    return set_compiling


def a_step(number):
    """A step whose programs no other test has."""
    w = jaxvjp.tensor([0.5, -1.0, 2.0], requires_grad=True)

    def step():
        w.grad = None
        loss = ((w * number).sin() ** 2).sum() + sum([w[0] * each for each in range(int(number))])
        loss.backward()
        return loss.item(), w.grad.tolist()

    return step


def compiled(step, calls):
    """For each call how many programs it has compiled; all must give the same."""
    counts, results = [], []
    for _ in range(calls):
        before = jaxvjp.counters.compiles
        results.append(step())
        counts.append(jaxvjp.counters.compiles - before)
    for loss, grad in results:
        assert loss == pytest.approx(results[0][0], rel=1e-5)
        assert grad == pytest.approx(results[0][1], rel=1e-5)
    return counts


def test_always_and_never(when):
    when("never")
    step = a_step(3)
    assert not any(compiled(step, 20))
    when("always")
    assert [each > 0 for each in compiled(step, 4)] == [True, False, False, False]


def test_at_a_call(when):
    when(3)
    assert [each > 0 for each in compiled(a_step(4), 6)] == [False, False, True, False, False, False]


def test_when_what_was_spent_has_come_to_the_price(when, monkeypatch):
    when("when it pays", thread=False)
    monkeypatch.setattr(expected, "ratio", 1e9)
    step = a_step(5)
    assert not any(compiled(step, 20))
    monkeypatch.setattr(expected, "ratio", 0.0)
    assert [each > 0 for each in compiled(step, 3)] == [True, False, False]
    assert expected.ratio > 0  # it has learnt from what it took


def test_a_thread_compiles_and_the_program_changes_over(when, monkeypatch):
    when("when it pays")
    monkeypatch.setattr(expected, "ratio", 2e-3)  # some 50 µs: more than one run is thought to take, less than it does
    begun, goes_on = threading.Event(), threading.Event()
    compile_ = Waiting._compile

    def slowly(self, operands):
        begun.set()
        goes_on.wait(60)
        compile_(self, operands)

    monkeypatch.setattr(Waiting, "_compile", slowly)
    step = a_step(6)
    first = step()
    while not begun.is_set():
        assert step() == first
    before = jaxvjp.counters.compiles
    for _ in range(5):  # it runs on meanwhile
        assert step() == first
    assert jaxvjp.counters.compiles == before
    goes_on.set()
    until = time.monotonic() + 60
    while tiers.worker.locked() and time.monotonic() < until:
        time.sleep(0.01)
    assert jaxvjp.counters.compiles > before
    learnt = expected.ratio
    loss, grad = step()
    assert expected.ratio == learnt  # that call compiled nothing
    assert loss == pytest.approx(first[0], rel=1e-5)
    assert grad == pytest.approx(first[1], rel=1e-5)


def test_what_is_large_is_compiled_at_once(when):
    when("when it pays", thread=False)
    x = jaxvjp.ones(3000, 3000)
    before = jaxvjp.counters.compiles
    assert (x @ x)[0, 0].item() == 3000
    assert jaxvjp.counters.compiles > before


@pytest.mark.parametrize("wrong", ["often", 0, -1, 2.5, None])
def test_another_word_is_refused(wrong):
    before = Compiling.when
    with pytest.raises(ValueError, match="or the number of a call expected, not"):
        set_compiling(wrong)
    assert Compiling.when == before


def seen(seed, when_compiled):
    """All that can be seen of a random program after each of its statements, numbers to five digits."""
    set_compiling(when_compiled)
    jaxvjp.manual_seed(0)
    run = Run(jaxvjp)
    result = []
    program = program_of(seed)
    for statement in (*program.before, *program.inside, *program.inside, *program.inside):
        failed = run.execute(statement, compile(statement.text, "program", "exec"))
        result.append((statement.text, failed, [repr(each) for each in run.calls]))
        for name, x in run.variables().items():
            if x is not None:
                result.append([(name, each, run.tried(lambda _, see=see, x=x: see(x))) for each, (_, see) in SEEN])
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.5g}", repr(result))


SEEN = [*COMPARED.items()]


@pytest.mark.parametrize("seed", range(7000, 7012))
def test_a_random_program_means_the_same_in_every_tier(seed, when):
    expected = seen(seed, "never")
    for each in ("always", 2, "when it pays"):
        assert seen(seed, each) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_child_may_compile_though_its_parent_was_at_it():
    goes_on = threading.Event()
    tiers.worker.thread = threading.Thread(target=goes_on.wait, args=(60,))
    tiers.worker.thread.start()
    try:
        assert tiers.worker.locked()
        child = os.fork()
        if child == 0:
            os._exit(1 if tiers.worker.locked() else 0)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        goes_on.set()
        tiers.worker.thread.join()


@pytest.mark.accelerated("short pieces", "remembered walks", "plans")
@pytest.mark.parametrize(("now", "stays"), [("always", False), ("never", False), ("when it pays", True)])
def test_a_long_graph_stays_in_short_pieces_while_that_pays(when, monkeypatch, now, stays):
    """In pieces that graphs of other lengths have as well, and without being walked again."""

    def step(length):
        x = jaxvjp.ones(len(now), requires_grad=True)
        y = x
        for _ in range(length):
            y = (y * 1.25).sin() + y
        before = jaxvjp.counters.dispatches
        y.sum().backward()
        return jaxvjp.counters.dispatches - before

    when(now)
    monkeypatch.setattr(expected, "ratio", 1e9)
    monkeypatch.setattr(plan, "SHORT_RUNS", 1e9)
    lengths = range(31, 39)
    first = [step(each) for each in lengths]
    assert min(first) > 1
    with monkeypatch.context() as patched:
        if stays:
            patched.setattr(backward_pass, "walk_back", None)
        assert ([step(each) for each in lengths] == first) is stays
    monkeypatch.setattr(plan, "SHORT_RUNS", 0.0)
    assert [step(each) for each in lengths] == [1] * len(lengths)

"""Errors of staged steps: those of its ops at every call, and UnstageableError with the reason and the line."""

from __future__ import annotations

import functools
import sys
import types

import numpy as np
import pytest

import jaxvjp
from jaxvjp.staging import warm
from jaxvjp.staging.warm import cold
from jaxvjp.types.accelerators import is_on


def language_model(derived):
    """A training step on numbers of words; if `derived`, on parts of a text, which the step takes apart itself."""
    table = jaxvjp.tensor(np.random.default_rng(0).normal(size=(300, 300)), requires_grad=True, dtype=jaxvjp.float32)
    functional = jaxvjp.nn.functional

    def step(words, targets):
        if derived:
            words, targets = words[:-1], targets[1:]
        table.grad = None
        loss = functional.cross_entropy(functional.embedding(words, table) @ table, targets)
        loss.backward()
        with jaxvjp.no_grad():
            table.sub_(0.1 * table.grad)
        return loss.detach()

    return table, step


@pytest.mark.parametrize("derived", [False, True])
def test_numbers_out_of_range_raise_at_every_call(derived):
    table, step = language_model(derived)
    expected, eager = language_model(derived)
    staged = jaxvjp.jit(step)
    text, other = jaxvjp.tensor([1, 2, 3, 0]), jaxvjp.tensor([3, 299, 1, 4])
    for call in range(30):
        assert staged(text, other).item() == pytest.approx(eager(text, other).item(), abs=1e-5), call
        if call in (0, 5, 20):  # run as Python, as a program, as a warm one
            before, version = table.detach().clone().tolist(), table._version
            with pytest.raises(IndexError, match="Target 300 is out of bounds"):
                staged(text, jaxvjp.tensor([0, 1, 300, 2]))
            with pytest.raises(IndexError, match="index out of range in self"):
                staged(jaxvjp.tensor([0, -1, 1, 2]), text)
            assert (table.tolist(), table._version) == (before, version)
    assert np.allclose(table.tolist(), expected.tolist(), atol=1e-4)
    assert (staged._hot is not cold) == is_on("warm path")


def test_numbers_out_of_range_raise_where_a_result_is_differentiated():
    table = jaxvjp.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)

    @jaxvjp.jit
    def model(words):
        return jaxvjp.nn.functional.embedding(words[1:] * 1, table) + jaxvjp.nn.functional.embedding(words, table)[1:]

    for _ in range(12):
        model(jaxvjp.tensor([0, 1, 1])).sum().backward()
        for wrong in ([0, 1, 2], [0, -1, 1], [5, 1, 1]):
            with pytest.raises(IndexError, match="index out of range"):
                model(jaxvjp.tensor(wrong))
    assert table.grad.tolist() == [[0.0, 0.0], [48.0, 48.0]]


def test_random_numbers_out_of_range_raise_as_well():
    x = jaxvjp.tensor([1.0, 2.0, 3.0])

    @jaxvjp.jit
    def step():
        return x[jaxvjp.randint(0, 4, (4,))]

    raised = 0
    for seed in range(40):
        jaxvjp.manual_seed(seed)
        largest = jaxvjp.randint(0, 4, (4,)).max().item()
        jaxvjp.manual_seed(seed)
        if largest == 3:
            raised += 1
            with pytest.raises(IndexError, match="index 3 is out of bounds"):
                step()
        else:
            assert step().max().item() == largest + 1
    assert 20 < raised < 38


@pytest.mark.parametrize("fullgraph", [True, False])
def test_what_an_op_refuses_it_refuses_in_a_staged_step_as_well(fullgraph):
    @functools.partial(jaxvjp.jit, fullgraph=fullgraph)
    def step(matrix, divisor):
        ones = jaxvjp.ones(2, dtype=jaxvjp.int64)
        solved = jaxvjp.linalg.inv(matrix), ones // divisor, ones[divisor - 1]
        if not fullgraph:
            solved[0].sum().item()  # which only Python can do
        return solved

    good, one = jaxvjp.tensor([[2.0, 0.0], [0.0, 1.0]]), jaxvjp.tensor([1, 2])
    for _ in range(12):
        assert step(good, one)[1].tolist() == [1, 0]
        with pytest.raises(jaxvjp.linalg.LinAlgError, match="singular"):
            step(good * 0, one)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            step(good, one * 0)
        with pytest.raises(IndexError, match="out of bounds"):
            step(good, one + 2)


def test_a_step_that_runs_as_it_is_raises_where_it_is_wrong():
    total = jaxvjp.zeros(3)

    @jaxvjp.compile
    def step(place):
        total.add_(1)
        picked = total[place] + total[place * 1]
        total.add_(1)
        picked.sum().item()  # which only Python can do
        total.add_(1)
        return total[place + 2]

    for number in range(3):
        total.zero_()
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            step(jaxvjp.tensor([1]))
        assert total.tolist() == [3.0] * 3, number
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            step(jaxvjp.tensor([7]))  # while it is staged, which then changes nothing
        assert total.tolist() == [3.0] * 3, number


BATCHES = iter([1.0])


TABLE = np.zeros((200, 200))


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (lambda x: x.sum().item(), "reads the value of a tensor"),
        (lambda x: x.sum().backward() or x * 2, "whose gradient could still be asked for"),
        (lambda x: BATCHES and x.detach() * next(BATCHES), "names an iterator"),
        (lambda x: x.detach() * TABLE.sum(), "names a NumPy array"),
    ],
)
def test_what_cannot_be_staged_names_the_line(step, what):
    x = jaxvjp.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(jaxvjp.UnstageableError) as caught:
        jaxvjp.jit(step)(x)
    assert what in str(caught.value)
    assert "test_staging_errors.py" in str(caught.value)
    assert "fullgraph=False" in str(caught.value)
    with pytest.raises(jaxvjp.UnstageableError, match="takes a NumPy array"):
        jaxvjp.jit(lambda x, array: x + jaxvjp.tensor(array))(x, np.ones(2))


def test_what_says_the_line_is_no_part_of_the_step(monkeypatch):
    interactive = types.ModuleType("IPython")  # asked for its cells, it runs code that no step may name
    exec("def __getattr__(name):\n    raise AttributeError(name) if name else breakpoint()", vars(interactive))
    monkeypatch.setitem(sys.modules, "IPython", interactive)
    with pytest.raises(jaxvjp.UnstageableError, match="reads the value of a tensor"):
        jaxvjp.jit(lambda x: x.sum().item())(jaxvjp.ones(2))


def test_a_step_that_fails_changes_nothing():
    x = jaxvjp.tensor([1.0, 2.0])
    w = jaxvjp.tensor([1.0, 1.0], requires_grad=True)

    @jaxvjp.jit
    def step():
        x.add_(1)
        (w * x).sum().backward()
        return x.tolist()

    y = (w * x * x).sum()
    before, version = x.detach(), x._version
    with pytest.raises(jaxvjp.UnstageableError):
        step()
    assert x.tolist() == before.tolist() == [1.0, 2.0]
    assert (x._version, w.grad) == (version, None)
    y.backward()
    assert w.grad.tolist() == [1.0, 4.0]


def written(targets, array):
    targets[0] = 99


def written_by_numpy(targets, array):
    array[0] = 99


@pytest.mark.parametrize("write", [written, written_by_numpy])
@pytest.mark.parametrize("derived", [False, True])
def test_targets_that_passed_are_checked_again_once_they_were_written(write, derived):
    array = np.array([0, 1, 2, 0])
    targets, x = jaxvjp.from_numpy(array), jaxvjp.ones(4, 3, requires_grad=True)

    @jaxvjp.jit
    def step():
        x.grad = None
        loss = jaxvjp.nn.functional.cross_entropy(x, targets.flip(0) if derived else targets)
        loss.backward()
        return loss.detach()

    for _ in range(40):
        step()
    write(targets, array)
    for _ in range(3):
        with pytest.raises(IndexError, match="Target 99 is out of bounds"):
            step()


def test_targets_that_passed_are_not_read_again(monkeypatch):
    read = []
    monkeypatch.setitem(warm.NAMES, "asarray", lambda array: read.append(array) or np.asarray(array))
    table, words = jaxvjp.ones(4, 3), jaxvjp.tensor([0, 3])
    step = jaxvjp.jit(lambda words: jaxvjp.nn.functional.embedding(words, table))
    for words in [jaxvjp.tensor([0, 3])] * 40 + [jaxvjp.tensor([1, 2])] * 20:
        step(words)
    assert len(read) <= 4  # each once as it was given, and once on the device

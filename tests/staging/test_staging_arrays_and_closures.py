"""What a staged step notices: what NumPy writes into an argument's memory; and which of several closures it calls."""

from __future__ import annotations

import numpy as np
import pytest

import jaxvjp
from jaxvjp.core.run.tiers import Compiling


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setattr(Compiling, "when", "always")


@pytest.mark.parametrize("viewed", [False, True], ids=["whole", "view"])
def test_numpy_writes_into_an_argument(compiled, viewed):
    array = np.ones(4, np.float32)
    whole = jaxvjp.from_numpy(array)
    x = whole[1:] if viewed else whole
    step = jaxvjp.jit(lambda x: (x * 2).sum())
    for number in range(30):
        array[1] = number
        assert step(x).item() == 2 * array[4 - x.numel() :].sum()


def test_numpy_writes_into_a_grad_and_into_what_a_step_names(compiled):
    w = jaxvjp.ones(3, requires_grad=True)
    w.grad = jaxvjp.zeros(3)
    step = jaxvjp.jit(lambda: (w.detach() * 2 + w.grad).sum())
    for _ in range(20):
        assert step().item() == 6
    values, grads = w.detach().numpy(), w.grad.numpy()
    for number in range(10):
        values[0], grads[1] = number, 3 * number
        assert step().item() == 2 * number + 4 + 3 * number


def squares_of(library, other):
    """A step with a function that no name leads to; of two steps, one has a library that cannot be staged."""

    def loss(x):
        return library.square(x).sum() + other

    gradient = jaxvjp.func.vmap(loss)
    return lambda x: gradient(x)


class Clock:
    """Its `square` differs from call to call, so a step that calls it cannot be staged."""

    square = staticmethod(__import__("time").perf_counter)


def test_another_closure_of_the_same_code_is_no_part_of_the_step():
    beside = squares_of(Clock, 0)
    step = jaxvjp.jit(squares_of(jaxvjp, 1))
    for _ in range(3):
        assert step(jaxvjp.ones(2, 3)).tolist() == [4, 4]
    assert callable(beside)


def test_the_closure_that_runs_is_part_of_the_step():
    scale = [1.0]

    def made():
        def hook(gradient):
            return gradient * scale[0]

        return hook

    x = jaxvjp.ones(2, requires_grad=True)
    x.register_hook(made())

    @jaxvjp.jit
    def step():
        x.grad = None
        (x * 3).sum().backward()
        return x.grad

    for number in (1.0, 2.0, 2.0, 5.0):
        scale[0] = number
        assert step().tolist() == [3 * number] * 2

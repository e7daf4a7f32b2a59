"""Transforms, without torch: they compile once, run the function once, and keep nothing alive."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from oracle import live_nodes

import jaxvjp
from jaxvjp.core.record.modes import transforming
from jaxvjp.core.run.compilation import counters


def seen(work):
    before = counters.compiles, counters.dispatches
    result = work()
    return result, counters.compiles - before[0], counters.dispatches - before[1]


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: jaxvjp.func.grad(lambda x: f(x).sum()),
        jaxvjp.func.jacrev,
        jaxvjp.func.jacfwd,
        jaxvjp.vmap,
        lambda f: jaxvjp.vmap(jaxvjp.func.grad(f)),
        lambda f: jaxvjp.func.hessian(lambda x: f(x).sum()),
        lambda f: lambda x: jaxvjp.func.jvp(f, (x,), (x,))[1],
    ],
)
@pytest.mark.compiled
def test_a_transform_is_compiled_once_and_is_one_dispatch(transform):
    transformed = transform(lambda x: jaxvjp.sin(x) * x * 2)
    first, compiles, dispatches = seen(lambda: transformed(jaxvjp.tensor([1.0, 2.0])).tolist())
    assert (compiles, dispatches) == (1, 1)
    for value in (3.0, 4.0):
        again, compiles, dispatches = seen(lambda value=value: transformed(jaxvjp.tensor([1.0, value])).tolist())
        assert (compiles, dispatches) == (0, 1)
        assert again != first


def test_a_custom_function_goes_no_way_that_it_has_no_rule_for():
    class Crooked(jaxvjp.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 100

    class Unseparated(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    x = jaxvjp.tensor([1.0, 2.0])
    assert jaxvjp.func.grad(lambda x: Crooked.apply(x).sum())(x).tolist() == [100.0, 100.0]
    assert jaxvjp.func.jacrev(lambda x: Crooked.apply(x) * x)(x).tolist() == [[102.0, 0.0], [0.0, 204.0]]
    for refused in (
        lambda: jaxvjp.func.jvp(Crooked.apply, (x,), (x,)),
        lambda: jaxvjp.func.jacfwd(Crooked.apply)(x),
        lambda: jaxvjp.no_grad()(jaxvjp.func.jvp)(Crooked.apply, (x,), (x,)),
    ):
        with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
            refused()
    for transform in (jaxvjp.vmap, jaxvjp.func.grad, jaxvjp.func.jacfwd, lambda f: lambda x: jaxvjp.func.vjp(f, x)):
        with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod"):
            transform(Unseparated.apply)(x)


def test_an_example_that_escapes_has_no_value():
    escaped = []
    jaxvjp.vmap(lambda x: (escaped.append(x * 2), x)[1])(jaxvjp.tensor([1.0, 2.0]))
    with pytest.raises(RuntimeError, match=r"calling \.item\(\)"):
        escaped[0].tolist()
    with pytest.raises(RuntimeError, match=r"calling \.item\(\)"):
        repr(escaped[0] + 1)
    with pytest.raises(RuntimeError, match=r"calling \.item\(\)"):
        jaxvjp.vmap(jaxvjp.func.grad(lambda x: x * x.item()))(jaxvjp.ones(3))


def test_a_function_runs_once():
    runs = []

    def f(x):
        runs.append(x)
        return (x**2).sum()

    x = jaxvjp.ones(7)
    jaxvjp.func.hessian(f)(x).tolist()
    jaxvjp.vmap(f, chunk_size=2)(jaxvjp.ones(5, 2)).tolist()
    jaxvjp.func.jacrev(lambda x: (f(x), x), chunk_size=2)(x)
    assert len(runs) == 3


def test_a_long_function():
    def f(x):
        for _ in range(400):
            x = x * 0.99 + 0.01
        return x

    x = jaxvjp.tensor([1.0, 2.0])
    np.testing.assert_allclose(jaxvjp.func.grad(lambda x: f(x).sum())(x).numpy(), 0.99**400, rtol=1e-4)
    np.testing.assert_allclose(jaxvjp.func.jvp(f, (x,), (jaxvjp.ones(2),))[1].numpy(), 0.99**400, rtol=1e-4)


def test_a_transform_that_fails_leaves_nothing_behind():
    def fails(x):
        raise KeyError("mine")

    x = jaxvjp.ones(2)
    for work in (
        lambda: jaxvjp.func.grad(fails)(x),
        lambda: jaxvjp.func.jacfwd(fails)(x),
        lambda: jaxvjp.vmap(fails)(x),
        lambda: jaxvjp.func.linearize(fails, x),
    ):
        with pytest.raises(KeyError, match="mine"):
            work()
        assert (transforming().depth, transforming().forward, transforming().batches) == (0, 0, [])


def test_threads_transform_on_their_own():
    failures = []

    def work(number):
        try:
            for _ in range(5):
                x = jaxvjp.tensor([1.0 * number, 2.0])
                assert jaxvjp.func.jacfwd(jaxvjp.func.grad(lambda x: (x**3).sum()))(x).tolist() == [
                    [6.0 * number, 0.0],
                    [0.0, 12.0],
                ]
                assert jaxvjp.vmap(lambda x: x * 2)(x).tolist() == [2.0 * number, 4.0]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("name", ["grad", "jacfwd", "vmap", "hessian", "dual_level"])
def test_a_loop_of_transforms_does_not_grow(name):
    def f(x):
        return (x**3).sum()

    def tangent_of(x):
        with jaxvjp.autograd.forward_ad.dual_level():
            return jaxvjp.autograd.forward_ad.unpack_dual(f(jaxvjp.autograd.forward_ad.make_dual(x, x))).tangent

    transformed = tangent_of if name == "dual_level" else getattr(jaxvjp.func, name)(f)

    def nodes_after(count):
        x = jaxvjp.ones(2, 2)
        for _ in range(count):
            x = x * 0.5 + transformed(x).sum()
            x.tolist()
        return live_nodes()

    nodes_after(3)
    assert nodes_after(4) == nodes_after(20)

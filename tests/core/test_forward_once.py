"""What a step computes both for a gradient and by itself is in its program once (`program.replay`)."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jaxvjp


def returns_its_loss(x, w, seen):
    loss = (x @ w).tanh().sum()
    loss.backward()
    return loss.detach()


def keeps_a_statistic(x, w, seen):
    h = (x @ w).tanh()
    with jaxvjp.no_grad():
        seen.lerp_(h.mean(), 0.1)
    h.sum().backward()


def hooks_its_middle(x, w, seen):
    h = (x @ w).tanh()
    h.register_hook(lambda gradient: 2 * gradient)
    (h * h).sum().backward()
    return h.detach()


def penalizes_a_gradient(x, w, seen):
    loss = (x @ w).tanh().sum()
    (gradient,) = jaxvjp.autograd.grad(loss, w, create_graph=True)
    (loss + (gradient**2).sum()).backward()
    return gradient.detach()


def masks_by_what_it_computed(x, w, seen):
    h = (x @ w).tanh()
    (jaxvjp.where(h > 0.1, h, 0.5 * h) * h.detach()).sum().backward()
    return h.detach()


def weighs_its_gradient_by_its_loss(x, w, seen):
    loss = (x @ w).tanh().sum()
    loss.backward(loss.detach())
    return loss.detach()


def goes_back_twice(x, w, seen):
    loss = (x @ w).tanh().sum()
    loss.backward(retain_graph=True)
    loss.backward()
    return loss.detach()


STEPS = [
    (returns_its_loss, 1),
    (keeps_a_statistic, 1),
    (hooks_its_middle, 1),
    (penalizes_a_gradient, 1),
    (masks_by_what_it_computed, 2),  # the mask, which its pullback is given, is computed before
    (weighs_its_gradient_by_its_loss, 1),
    (goes_back_twice, 2),
]


@pytest.mark.parametrize(("step", "times"), STEPS, ids=lambda each: getattr(each, "__name__", ""))
def test_the_forward_pass_of_a_program_is_in_it_once(step, times):
    def given():
        w = jaxvjp.tensor([[0.3], [-0.2]], requires_grad=True)
        return jaxvjp.tensor([[1.0, 2.0], [2.0, -1.0]]), w, jaxvjp.zeros(())

    def numbers(result, w, seen):
        return [None if each is None else each.tolist() for each in (result, w.grad, seen)]

    x, w, seen = given()
    expected = numbers(step(x, w, seen), w, seen)
    staged, (x, w, seen) = jaxvjp.jit(step), given()
    got = numbers(staged(x, w, seen), w, seen)
    np.testing.assert_allclose(*[jax.tree.leaves(each) for each in (got, expected)], rtol=1e-6)
    ((variant,),) = staged._variants.values()
    (dispatch,) = variant.plan.dispatches
    avals = [dispatch.executable.program.arguments[each].struct for each in dispatch.executable.arrays]
    packs = [jax.ShapeDtypeStruct((len(places),), own) for own, places in dispatch.packs]
    with jax.enable_x64(True):
        text = str(jax.make_jaxpr(dispatch.executable.replayed)(*avals, *packs))
    assert text.count(" tanh ") == times

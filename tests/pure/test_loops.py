"""`scan`, `while_loop` and `cond`, beside torch's; a loop is compiled once, however long it is."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracle import agreement_of, raises

import jaxvjp
from jaxvjp.core.run.compilation import counters
from jaxvjp.utils.checkpoint import POLICIES, checkpoint

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def scan(torch, *arguments, **named):
    return getattr(torch, "scan", None)(*arguments, **named) if torch is jaxvjp else theirs()(*arguments, **named)


def theirs():
    from torch._higher_order_ops import scan

    return scan


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


@program
def a_scan_reads_what_is_outside_and_has_gradients(torch):
    w, x, start = leaf(torch, 0.5, -1.0), torch.arange(6.0).reshape(3, 2).requires_grad_(), leaf(torch, 1.0, 2.0)
    carry, outputs = scan(torch, lambda c, v: (c * w + v.sin(), (c * v).sum() * 2.0), start, x)
    (carry.sum() * outputs.sum()).backward()
    return carry, outputs, w.grad, x.grad, start.grad, carry.grad_fn.name(), x.is_leaf


@program
def a_scan_from_the_end_along_another_dimension(torch):
    return scan(
        torch, lambda c, v: (c + v, c * v), torch.zeros(3), torch.arange(12.0).reshape(3, 4), dim=1, reverse=True
    )


@program
def a_scan_of_structures(torch):
    def step(carry, each):
        h = (each["x"] + carry["h"]).tanh()
        return {"h": h, "n": carry["n"] + 1}, [h * 2, each["y"] + 0]

    xs = {"x": torch.arange(4.0), "y": torch.arange(4)}
    return scan(torch, step, {"h": torch.tensor(0.0), "n": torch.tensor(0)}, xs)


@program
def a_while_loop(torch):
    carried = (torch.tensor(0), torch.ones(2), {"a": torch.tensor(1.0)})
    return torch.while_loop(
        lambda i, v, d: i < 5, lambda i, v, d: (i + 1, v * 2 + d["a"], {"a": d["a"] * 0.5}), carried
    )


@program
def a_branch_that_was_not_taken_gets_zeros(torch):
    x, w = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, -4.0)
    found = []
    for limit in (0.0, 10.0):
        y = torch.cond(x.sum() > limit, lambda v: v * w, lambda v: v.sin(), (x,))
        found += [y, *torch.autograd.grad(y.sum(), [x, w]), y.grad_fn.name()]
    return found


@program
def a_python_number_picks_the_branch(torch):
    x = torch.ones(2)
    return [torch.cond(each, lambda v: v * 2, lambda v: v - 1, (x,)) for each in (True, False)]


@program
@raises(RuntimeError)
def a_condition_of_several_elements(torch):
    return torch.cond(torch.ones(3) > 0, lambda v: v + 1, lambda v: v + 2, (torch.ones(2),))


@program
@raises(RuntimeError)
def a_condition_that_is_a_word(torch):
    return torch.cond("x", lambda v: v + 1, lambda v: v + 2, (torch.ones(2),))


test_agrees_with_torch = agreement_of(PROGRAMS)


def recurrence(w, length):
    """tanh(h @ w + x), over and over."""
    x = jaxvjp.linspace(0, 1, length * 4).reshape(length, 4)
    last, _ = jaxvjp.scan(lambda h, each: ((h @ w + each).tanh(), None), jaxvjp.zeros(4), x)
    return last.sum()


@pytest.mark.compiled
def test_it_compiles_as_often_whatever_its_length_and_its_body_runs_once():
    w, compiles, texts = (jaxvjp.eye(4) * 0.5).requires_grad_(), [], []
    recurrence(w, 4).backward()  # what does not depend on a length, as `eye`, is compiled here
    recurrence(w, 4).backward()
    for length in (8, 64, 512):
        before = counters.compiles
        for _ in range(3):
            recurrence(w, length).backward()
        compiles.append(counters.compiles - before)
        texts.append(str(recurrence(w, length).jaxpr()).replace(str(length), "LENGTH"))
    assert {*compiles} == {1}
    assert len({*texts}) == 1


def test_it_has_the_gradients_of_the_loop_written_out():
    w = (jaxvjp.eye(4) * 0.5).requires_grad_()
    x, h = jaxvjp.linspace(0, 1, 64).reshape(16, 4), jaxvjp.zeros(4)
    for each in x:
        h = (h @ w + each).tanh()
    (expected,) = jaxvjp.autograd.grad(h.sum(), w)
    (given,) = jaxvjp.autograd.grad(recurrence(w, 16), w, create_graph=True)
    np.testing.assert_allclose(given.detach(), expected, rtol=1e-5)
    assert jaxvjp.autograd.gradcheck(
        lambda w: recurrence(w.float(), 3).double() * 1, [w.detach().double().requires_grad_()], eps=1e-2, atol=1e-2
    )
    hessian = jaxvjp.func.hessian(lambda w: recurrence(w, 3))(w.detach())
    expected = jax.hessian(jaxvjp.functional(lambda w: recurrence(w, 3)))(w.detach().jax())
    np.testing.assert_allclose(hessian, expected, rtol=1e-4, atol=1e-5)


def test_loops_are_batched_staged_and_nest():
    sums = jaxvjp.vmap(lambda v: jaxvjp.scan(lambda c, each: (c + each, c), jaxvjp.zeros(()), v)[0])
    assert sums(jaxvjp.arange(6.0).reshape(2, 3)).tolist() == [3, 12]
    halved = jaxvjp.vmap(lambda v: jaxvjp.while_loop(lambda u: u > 1, lambda u: (u / 2,), (v,))[0])
    assert halved(jaxvjp.tensor([8.0, 3.0])).tolist() == [1, 0.75]
    chosen = jaxvjp.vmap(lambda v: jaxvjp.cond(v > 2, lambda u: u * 2, lambda u: -u, (v,)))
    assert chosen(jaxvjp.tensor([1.0, 3.0])).tolist() == [-1, 6]
    staged = jaxvjp.jit(lambda v: jaxvjp.scan(lambda c, each: (c + each, c), jaxvjp.zeros(()), v)[1])
    for _ in range(3):
        assert staged(jaxvjp.arange(3.0)).tolist() == [0, 0, 1]

    def outer(carry, row):
        inner, _ = jaxvjp.scan(lambda c, v: (c * carry + v, c), jaxvjp.zeros(()), row)
        return carry + jaxvjp.cond(inner > 1, lambda: inner, lambda: -inner), inner

    x = jaxvjp.arange(6.0).reshape(2, 3).requires_grad_()
    last, _ = jaxvjp.scan(outer, jaxvjp.ones(()), x)
    last.backward()
    expected = jnp.arange(6.0).reshape(2, 3)

    def written_out(x):
        total = 1.0
        for row in x:
            inner = 0.0
            for each in row:
                inner = inner * total + each
            total = total + jnp.where(inner > 1, inner, -inner)
        return total

    assert last.item() == pytest.approx(float(written_out(expected)))
    np.testing.assert_allclose(x.grad, jax.grad(written_out)(expected), rtol=1e-5)


def test_no_grad_holds_in_a_body_and_around_a_loop():
    w = jaxvjp.tensor(2.0, requires_grad=True)

    def step(carry, each):
        with jaxvjp.no_grad():
            constant = carry * 3
        return carry * w + constant, None

    last, _ = jaxvjp.scan(step, jaxvjp.ones(()), jaxvjp.zeros(2))
    last.backward()
    assert (last.item(), w.grad.item()) == (25, 5 + 2)
    with jaxvjp.no_grad():
        assert not jaxvjp.scan(step, jaxvjp.ones(()), jaxvjp.zeros(2))[0].requires_grad


def test_a_while_loop_has_forward_mode_and_says_that_it_has_no_backward():
    def power(v):
        return jaxvjp.while_loop(lambda i, u: i < 3, lambda i, u: (i + 1, u * v), (jaxvjp.tensor(0), v))[1]

    x = jaxvjp.tensor(2.0)
    assert [each.item() for each in jaxvjp.func.jvp(power, (x,), (jaxvjp.ones(()),))] == [16, 32]
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        power(x.requires_grad_()).backward()


ZEROS = jaxvjp.zeros(3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: jaxvjp.scan(lambda c, v: (c.sum(), v), ZEROS, jaxvjp.ones(4, 3)),
            "init and carry to have same metadata",
        ),
        (lambda: jaxvjp.scan(lambda c, v: (c.double(), v), ZEROS, jaxvjp.ones(4, 3)), "Convert or reshape"),
        (lambda: jaxvjp.scan(lambda c, v: c, ZEROS, jaxvjp.ones(4, 3)), "to return the next carry"),
        (lambda: jaxvjp.scan(lambda c, v: ([c], v), ZEROS, jaxvjp.ones(4, 3)), "to return the next carry"),
        (lambda: jaxvjp.scan(lambda c, v: (c, v), ZEROS, [jaxvjp.ones(4), jaxvjp.ones(3)]), "of one length"),
        (lambda: jaxvjp.scan(lambda c, v: (c, v), ZEROS, []), "of one length"),
        (lambda: jaxvjp.scan(lambda c, v: (c, v), 1.0, ZEROS), "got float"),
        (lambda: jaxvjp.scan(lambda c, v: (c.add_(v), v), ZEROS, jaxvjp.ones(4, 3))[0].item(), "elements"),
        (lambda: jaxvjp.scan(lambda c, v: (ZEROS.add_(v), v), ZEROS, jaxvjp.ones(4, 3)), "mutate a captured"),
        (lambda: jaxvjp.scan(lambda c, v: (c + v.item(), v), ZEROS, ZEROS), "no value of its own"),
        (lambda: jaxvjp.scan(lambda c, v: (c + jaxvjp.rand(3), v), ZEROS, ZEROS), "random numbers"),
        (lambda: jaxvjp.while_loop(lambda v: v, lambda v: (v,), (ZEROS,)), "a truth value to have same metadata"),
        (
            lambda: jaxvjp.while_loop(lambda v: v.sum() < 1, lambda v: (v.sum(),), (ZEROS,)),
            "body_fn_output and carried",
        ),
        (lambda: jaxvjp.while_loop(lambda v: v.sum() < 1, lambda v: v, (ZEROS,)), "to return a tuple"),
        (lambda: jaxvjp.cond(ZEROS[0] > 0, lambda: ZEROS, lambda: ZEROS.sum()), "false_fn_output to have same"),
        (lambda: jaxvjp.cond(ZEROS[0] > 0, lambda: ZEROS, lambda: [ZEROS]), "one structure"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_changed(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()
    assert ZEROS.tolist() == [0, 0, 0]


def test_they_are_explained_as_jaxs_loops():
    w = jaxvjp.tensor([0.5, 0.25], requires_grad=True)
    carry, outputs = jaxvjp.scan(
        lambda c, v: (c * w + v * 2, c.sum()), jaxvjp.zeros(2), jaxvjp.ones(3, 2), reverse=True
    )
    y = jaxvjp.cond(carry.sum() > 1, lambda v: v * w, lambda v: v - w, (carry,)).sum() * outputs.sum()
    explanation = y.explain()
    for each in ("jax.lax.scan(", "reverse=True", "jax.lax.cond("):
        assert each in explanation.source
    explanation.check()
    i, v = jaxvjp.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), (jaxvjp.tensor(0), w))
    source = (v.sum() + i).explain(style="vjp").source
    assert "jax.lax.while_loop(" in source
    assert "(lambda x0, x1: (x0 + 1, x1 * 2))(carry[0], carry[1])" in source


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_of_jax_says_what_a_checkpoint_keeps(policy):
    w, x = jaxvjp.ones(3, 3, requires_grad=True), jaxvjp.ones(2, 3)

    def block(v):
        return ((v @ w).sin() @ w).tanh()

    block(x).sum().backward()
    expected, w.grad = w.grad, None
    y = checkpoint(block, x, use_reentrant=False, policy=policy).sum()
    y.backward(retain_graph=True)
    np.testing.assert_allclose(w.grad, expected, rtol=1e-6)
    text = str(jax.make_jaxpr(jax.grad(jaxvjp.as_function(y, [w])))(w.detach().jax()))
    saves = "everything" in policy or "dots" in policy
    assert (text.count("dot_general") < 7) is saves or policy == "nothing_saveable" or "batch" in policy
    assert f"policy=jax.checkpoint_policies.{policy}" in y.explain().source


def test_a_policy_that_jax_does_not_have_is_refused():
    with pytest.raises(ValueError, match=r"policy should be one of .*'dots_saveable'.* but got 'dots'"):
        checkpoint(lambda v: v, jaxvjp.ones(2), use_reentrant=False, policy="dots")

"""`utils.checkpoint`: the same gradients as without it, and less memory, by XLA's own account."""

from __future__ import annotations

import warnings
from itertools import product

import jax
import pytest
from oracle import agreement_of, raises

import jaxvjp
from jaxvjp.core.run import plan
from jaxvjp.core.run.compilation import Executable
from jaxvjp.utils.checkpoint import checkpoint, checkpoint_sequential

PROGRAMS = []


def program(function):
    PROGRAMS.append(function)
    return function


def leaf(torch, *values):
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def called(torch, function, *inputs, **named):
    return torch.utils.checkpoint.checkpoint(function, *inputs, **{"use_reentrant": False, **named})


@program
def gradients(torch):
    x, w = leaf(torch, 0.5, -1.5), leaf(torch, 2.0, 3.0)
    y = called(torch, lambda x, w: (x * w).sin() * x, x, w).exp()
    y.backward(torch.tensor([1.0, 10.0]))
    return y, x.grad, w.grad


@program
def gradients_of_gradients(torch):
    x = leaf(torch, 0.5, -1.5)
    y = called(torch, lambda x: (x.sin() * x).exp(), x).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad((first * first).sum(), x, create_graph=True)
    return first, second, torch.autograd.grad(second.sum(), x)


@program
def one_in_the_other(torch):
    def inner(x):
        return x.sin() * x

    x = leaf(torch, 0.5, -1.5)
    called(torch, lambda x: called(torch, inner, x).exp() * 2, x).sum().backward()
    return x.grad


@program
def the_reentrant_way(torch):
    x = leaf(torch, 0.5, -1.5)
    called(torch, lambda x: x.sin() * x, x, use_reentrant=True).sum().backward()
    return x.grad


@program
def tensors_that_the_function_holds_on_to(torch):
    w = leaf(torch, 2.0, 3.0)
    h, x = w.exp(), leaf(torch, 0.5, -1.5)
    called(torch, lambda x: (x * h + w).sin(), x).sum().backward()
    return x.grad, w.grad


@program
def nested_outputs(torch):
    x, w = leaf(torch, 0.5, -1.5), leaf(torch, 2.0, 3.0)
    outputs = called(torch, lambda x, w: {"a": (x.sin(), [x * w]), "n": 3, "x": x}, x, w)
    (outputs["a"][0].sum() + (outputs["a"][1][0] ** 2).sum() + outputs["x"].sum()).backward()
    return outputs, x.grad, w.grad


@program
def an_output_depends_on_what_it_is_made_from(torch):
    x, w = leaf(torch, 0.5, -1.5), leaf(torch, 2.0, 3.0)
    a, b = called(torch, lambda x, w: (x.sin() * x, w.exp() * w), x, w)
    return [torch.autograd.grad(each.sum(), [x, w], retain_graph=True, allow_unused=True) for each in (a, b)]


@program
def a_gradient_inside_depends_on_what_it_is_made_from(torch):
    def function(x, w):
        (of_w,) = torch.autograd.grad((2 * x + w**3).sum(), w, create_graph=True)
        return of_w

    x, w = leaf(torch, 0.5, -1.5), leaf(torch, 2.0, 3.0)
    return torch.autograd.grad(called(torch, function, x, w).sum(), [x, w], allow_unused=True)


@program
def keywords_and_numbers(torch):
    x = leaf(torch, 0.5, -1.5)
    y = called(torch, lambda x, n, *, scale: (x**n).sin() * scale, x, 3, scale=0.5)
    y.sum().backward()
    return y, x.grad


@program
def what_is_cut_off_inside_stays_cut_off(torch):
    x = leaf(torch, 0.5, -1.5)

    def function(x):
        with torch.no_grad():
            scale = x.exp()
        return x.detach() * x.sin() * scale

    called(torch, function, x).sum().backward()
    return x.grad


@program
def a_branch_on_a_value(torch):
    def function(x):
        h = x.sin()
        return h * x if h.sum().item() > 0 else h

    x = leaf(torch, 0.5, 1.5)
    y = called(torch, function, x)
    y.sum().backward()
    return y, x.grad


@program
def writes_and_views_inside(torch):
    def function(x):
        h = x.sin()
        h[0] = 2 * h[1]
        h.mul_(x)
        return h[:1], h.unsqueeze(0)

    x = leaf(torch, 0.5, 1.5)
    first, second = called(torch, function, x)
    ((first**2).sum() + (second**3).sum()).backward()
    return first, second, x.grad


@program
def a_write_to_the_result(torch):
    x = leaf(torch, 0.5, 1.5)
    y = called(torch, lambda x: x.exp() * x, x)
    part = y[0]
    y.mul_(3)
    (y.sin().sum() + part).backward()
    return y, part, x.grad


@program
def a_view_of_the_input_is_a_view(torch):
    x = leaf(torch, 0.5, 1.5)
    h = x * 1
    part = called(torch, lambda h: h[0], h)
    part.mul_(2)
    h.exp().sum().backward()
    return h, x.grad


@program
def nothing_requires_a_gradient(torch):
    y = called(torch, lambda x: x.sin(), torch.tensor([1.0, 2.0]))
    with torch.no_grad():
        z = called(torch, lambda x: x.sin(), leaf(torch, 1.0))
    w = leaf(torch, 2.0)
    reentrant = called(torch, lambda x: x * w, torch.tensor([1.0]), use_reentrant=True)
    return y, z, reentrant


@program
def random_numbers_are_drawn_once(torch):
    torch.manual_seed(3)
    x = leaf(torch, 0.5, 1.5)
    y = called(torch, lambda x: (x * torch.rand(2)).sin(), x)
    y.sum().backward()
    return y, x.grad, torch.rand(1)


@program
def a_second_backward(torch):
    x = leaf(torch, 0.5, 1.5)
    y = called(torch, lambda x: x.sin() * x, x).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@program
def a_custom_function_inside(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 5 * g

    x = leaf(torch, 0.5, 1.5)
    called(torch, lambda x: Twice.apply(x.sin()).exp(), x).sum().backward()
    return x.grad


@program
def a_chain(torch):
    layers = [lambda h: h.sin(), lambda h: h * h, lambda h: h.exp(), lambda h: h + 1, lambda h: h.cos()]
    x = leaf(torch, 0.5, 1.5)
    y = torch.utils.checkpoint.checkpoint_sequential(layers, 2, x, use_reentrant=False)
    y.sum().backward()
    return y, x.grad


@program
@raises(RuntimeError)
def an_error_inside(torch):
    return called(torch, lambda x: x + torch.ones(3), leaf(torch, 1.0, 2.0))


@program
@raises(ValueError)
def reentrant_takes_no_keywords(torch):
    return called(torch, lambda x, scale: x * scale, leaf(torch, 1.0), use_reentrant=True, scale=2)


@program
@raises(ValueError)
def reentrant_takes_no_debug(torch):
    return called(torch, lambda x: x, leaf(torch, 1.0), use_reentrant=True, debug=True)


@program
@raises(ValueError)
def an_unknown_determinism_check(torch):
    return called(torch, lambda x: x, leaf(torch, 1.0), determinism_check="some")


@program
@raises(ValueError)
def an_unknown_keyword_of_a_chain(torch):
    return torch.utils.checkpoint.checkpoint_sequential([lambda x: x], 1, leaf(torch, 1.0), True, other=1)


@program
def an_output_that_another_is_computed_from(torch):
    x = torch.tensor(1.0, requires_grad=True)

    def function(x):
        inner = x.sin().cos()
        return inner, inner.exp() * x

    inner, outer = called(torch, function, x, use_reentrant=False)
    of_inner = torch.autograd.grad(outer, inner, retain_graph=True)
    (inner * 2 + outer).backward()
    return inner is outer, of_inner, x.grad


@program
@raises(RuntimeError)
def reentrant_and_some_inputs(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.autograd.grad(called(torch, torch.exp, x, use_reentrant=True).sum(), x)


@program
@raises(RuntimeError)
def reentrant_and_no_result_has_a_gradient(torch):
    x = leaf(torch, 1.0)
    y = called(torch, lambda x: x.detach() * 2, x, use_reentrant=True)
    (x + y).sum().backward()


@program
def what_a_reentrant_call_without_a_gradient_returns(torch):
    x = leaf(torch, 1.0)
    y, number = called(torch, lambda x: (x.detach() * 2, x.long()), x, use_reentrant=True)
    return y.requires_grad, y.grad_fn.name(), y.detach(), number, number.requires_grad


@program
def hooks_pack_what_a_call_was_given(torch):
    """Also with hooks around it nothing of what happens inside is kept, and hooks may copy what will be written."""
    told = []
    hooks = {
        "same": (lambda saved: saved, lambda kept: kept),
        "other": (lambda saved: saved * 2, lambda kept: kept * 10),
        "lists": (lambda saved: saved.tolist(), lambda kept: torch.tensor(kept, dtype=torch.float64)),
    }
    for reentrant, (pack, unpack) in product((False, True), hooks.values()):
        x, w = leaf(torch, 0.5, 1.5), leaf(torch, 2.0, 3.0)
        y, c = x * 1, torch.tensor([3.0, 4.0], dtype=torch.float64)
        with torch.autograd.graph.saved_tensors_hooks(
            lambda saved, pack=pack: told.append(saved.tolist()) or pack(saved),
            lambda kept, unpack=unpack: told.append("unpack") or unpack(kept),
        ):
            z = called(torch, lambda y, c, w=w: (y.sin().exp() * y * w * c).tanh(), y, c, use_reentrant=reentrant)
            z = z * z
        if pack(y) is not y:
            y.detach().add_(1)
        z.sum().backward()
        told.append((x.grad, w.grad))
    return told


@program
def hooks_around_a_call_that_is_differentiated_twice(torch):
    x = leaf(torch, 0.5, 1.5)
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda kept: kept):
        y = called(torch, lambda x: x.sin() * x.exp(), x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    first.sum().backward()
    return first, x.grad


test_agrees_with_torch = agreement_of(PROGRAMS)


@pytest.mark.parametrize("call", [checkpoint, lambda f, x: checkpoint_sequential([f, f], 2, x)])
def test_use_reentrant_is_to_be_passed(call):
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        call(lambda x: x * x, leaf(jaxvjp, 1.0))


def test_a_context_is_refused():
    with pytest.raises(NotImplementedError, match="context_fn"):
        called(jaxvjp, lambda x: x, leaf(jaxvjp, 1.0), context_fn=lambda: None)


def test_a_custom_function_inside_is_warned_of():
    class Same(jaxvjp.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.warns(UserWarning, match="custom Function"):
        called(jaxvjp, lambda x: Same.apply(x).sin(), leaf(jaxvjp, 1.0))


def test_hooks_around_a_call_leave_it_checkpointed():
    x, pairs = leaf(jaxvjp, 1.0), jaxvjp.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda kept: kept)
    with warnings.catch_warnings(), pairs:
        warnings.simplefilter("error")
        y = called(jaxvjp, lambda x: x.sin().exp(), x)
    assert y.grad_fn.name() == "CheckpointFunctionBackward"


LAYERS, SEGMENTS, SIZE = 64, 8, 1_000_000


def chain(wrapped):
    """The loss of a chain of layers, in segments that `wrapped` calls, and its backward pass."""
    x = jaxvjp.full((SIZE,), 0.5, requires_grad=True)
    h = x

    def segment(h):
        for _ in range(LAYERS // SEGMENTS):
            h = h.sin() * h
        return h

    for _ in range(SEGMENTS):
        h = wrapped(segment, h)
    loss = h.sum()
    loss.backward()
    return loss, x.grad


def test_the_peak_of_memory_falls(monkeypatch):
    """XLA's own account of the one program that computes the loss and the gradient."""
    temporary = []

    class Measured(Executable):
        def __init__(self, program):
            super().__init__(program)
            jitted = jax.jit(self.traced)

            def measuring(*operands):
                analysis = jitted.lower(*operands).compile().memory_analysis()
                temporary.append(analysis.temp_size_in_bytes)
                return jitted(*operands)

            self.call = measuring

    monkeypatch.setattr(plan, "executable", Measured)
    monkeypatch.setattr(plan, "LONG", 1000)
    plain = chain(lambda segment, h: segment(h))
    kept = chain(lambda segment, h: called(jaxvjp, segment, h))
    without, with_checkpoints = temporary
    array = 4 * SIZE
    assert without > LAYERS * 0.9 * array
    assert with_checkpoints < (SEGMENTS + 4) * array
    assert [each.sum().item() for each in plain] == pytest.approx([each.sum().item() for each in kept])


def test_a_checkpointed_step_is_one_dispatch():
    x = leaf(jaxvjp, 0.5, 1.5)
    before = jaxvjp.counters.dispatches
    loss = called(jaxvjp, lambda x: (x.sin() * x).exp(), x).sum()
    loss.backward()
    x.grad.tolist()
    loss.item()
    assert jaxvjp.counters.dispatches == before + 1


def test_a_checkpointed_call_is_a_step_of_the_graph():
    x = leaf(jaxvjp, 0.5, 1.5)
    y = called(jaxvjp, lambda x: (x.sin() * x).exp(), x)
    assert y.grad_fn.name() == "CheckpointFunctionBackward"


def test_a_long_function_is_cut_like_any_long_program():
    def function(h):
        for _ in range(200):
            h = h.sin() * h
        return h

    def gradient(wrapped):
        x = leaf(jaxvjp, 0.5, 1.5)
        wrapped(function, x).sum().backward()
        return x.grad.tolist()

    expected = gradient(lambda function, x: function(x))
    before = jaxvjp.counters.dispatches
    assert gradient(lambda function, x: called(jaxvjp, function, x)) == pytest.approx(expected)
    assert jaxvjp.counters.dispatches > before + 1

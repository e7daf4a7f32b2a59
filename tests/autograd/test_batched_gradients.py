"""`is_grads_batched` through Python: hooks and custom Functions see one cotangent, which stands for all rows."""

from __future__ import annotations

import pytest
from functions import custom, leaf, module
from oracle import agreement_of, programs_of, raises

import jaxvjp


def rows(torch):
    return torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def batched(torch, y, *inputs, **named):
    return torch.autograd.grad(y, inputs, rows(torch), is_grads_batched=True, **named)


def through_functions(torch):
    """Those whose backward saves, has a rule for vmap, writes in place, broadcasts, differentiates once or itself."""
    seen, found = [], []

    def saved(ctx, gradient):
        seen.append(tuple(gradient.shape))
        return gradient * ctx.saved_tensors[0] * 7

    def differentiates(ctx, gradient):
        with torch.enable_grad():
            z = ctx.saved_tensors[0].detach().requires_grad_()
            return torch.autograd.grad(z**3, z, gradient)[0]

    once = module(torch, "autograd.function").once_differentiable
    for backward in (
        saved,
        lambda ctx, gradient: gradient.mul_(2),
        lambda ctx, gradient: gradient.reshape(1, 2) * torch.ones(4, 2),
        once(lambda ctx, gradient: gradient * 5),
        differentiates,
    ):

        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        x = leaf(torch)
        found.append(batched(torch, custom(torch, forward, backward).apply(x * 1) * 3, x))
    generated = custom(
        torch,
        lambda x: x**2,
        saved,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        generate_vmap_rule=True,
    )
    x = leaf(torch)
    return [*found, batched(torch, generated.apply(x), x)], seen


def missing_cotangents_and_gradients(torch):
    seen, found = [], []

    def backward(ctx, g, h):
        seen.append(None if h is None else tuple(h.shape))
        return g * 2, None

    for materialize in (True, False):

        def forward(ctx, x, w, materialize=materialize):
            ctx.set_materialize_grads(materialize)
            return x * 1, w * 1

        x, w = leaf(torch), leaf(torch)
        y, _ = custom(torch, forward, backward).apply(x, w)
        found.append(batched(torch, y, x, w, allow_unused=True))
    return seen, found


def a_second_derivative(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    x = leaf(torch)
    y = custom(torch, forward, lambda ctx, gradient: gradient * ctx.saved_tensors[0] ** 2).apply(x * 1)
    (gradient,) = batched(torch, y, x, create_graph=True)
    return gradient, torch.autograd.grad(gradient.sum(), x)


def through_hooks(torch):
    seen = []

    def hook(name, replace):
        def called(gradient):
            seen.append((name, tuple(gradient.shape)))
            return replace(gradient)

        return called

    x = leaf(torch)
    y = x * 2
    y.register_hook(hook("first", lambda gradient: gradient * 10))
    y.register_hook(hook("second", lambda gradient: None))
    x.register_hook(hook("leaf", lambda gradient: gradient + 1))
    z = y**2
    z.grad_fn.register_prehook(lambda arrived: (arrived[0] * 3,))
    z.grad_fn.register_hook(lambda given, arrived: (given[0] * arrived[0],))
    graph = module(torch, "autograd.graph")
    graph.register_multi_grad_hook((y,), lambda gradients: seen.append([tuple(each.shape) for each in gradients]))
    accumulation = y.grad_fn.next_functions[0][0]
    accumulation.register_prehook(lambda arrived: seen.append("never"))
    return batched(torch, z, x), seen


def through_saved_tensor_hooks(torch):
    found = []
    graph = module(torch, "autograd.graph")
    for pack, unpack in ((lambda t: t * 1, lambda t: t * 3), (lambda t: t.detach().numpy(), torch.tensor)):
        x = leaf(torch)
        with graph.saved_tensors_hooks(pack, unpack):
            y = x**2
        found.append(batched(torch, y, x))
    return found


@raises(RuntimeError)
def a_hook_that_changes_the_size(torch):
    x = leaf(torch)
    y = x * 2
    y.register_hook(lambda gradient: gradient.sum())
    batched(torch, y**2, x)


@raises(RuntimeError)
def a_backward_of_the_wrong_shape(torch):
    x = leaf(torch)
    batched(torch, custom(torch, lambda ctx, x: x * 2, lambda ctx, g: g[:1] * torch.ones(3)).apply(x), x)


def a_pullback_under_vmap(torch):
    """How one had the whole Jacobian before there was `is_grads_batched`."""
    x = leaf(torch)
    y = x**2
    y.register_hook(lambda gradient: gradient * 2)
    z = y.sin()
    return torch.vmap(lambda v: torch.autograd.grad(z, x, v, retain_graph=True)[0])(rows(torch))


def a_vectorized_jacobian(torch):
    def forward(ctx, x):
        return x**2

    square = custom(torch, forward, lambda ctx, gradient: gradient * 7).apply
    return torch.autograd.functional.jacobian(square, torch.tensor([1.0, 2.0]), vectorize=True)


def intermediate_gradients_that_are_retained(torch):
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    z = y**2
    first = torch.autograd.grad(z.sum(), x, retain_graph=True)
    torch.autograd.grad(z.sum(), y, create_graph=True)
    w = leaf(torch)
    off = w * 2
    off.retain_grad()
    torch.autograd.grad((off * x).sum(), x)
    return first, y.grad, off.grad


test_agrees_with_torch = agreement_of(programs_of(globals(), leaf, module, rows))


@pytest.mark.parametrize("reads", [lambda g: g.numpy(), lambda g: g.sum() > 0 or 1, lambda g: bool(g.sum() > 0), repr])
def test_reading_a_value_is_refused(reads):
    """torch refuses it too, each in the words of whatever has no batching rule."""
    x = leaf(jaxvjp)
    y = x * 2
    y.register_hook(lambda gradient: reads(gradient) and None)
    with pytest.raises(RuntimeError, match="stands for every example of the batch"):
        batched(jaxvjp, y**2, x)

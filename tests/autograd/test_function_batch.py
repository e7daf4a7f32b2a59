"""A custom Function under `vmap`, under a derivative of `vmap`, and under `vmap` of a derivative.

The derivatives of these Functions are wrong on purpose, each by another factor, so that a result shows which one was
used.
"""

from __future__ import annotations

import pytest
from functions import custom, leaf, module
from oracle import agree, agreement_of, programs_of, raises

import jaxvjp


def cube(torch, own=False, seen=None, forward=False):
    """x³w, and x: with a generated rule, or with one whose values are another's."""

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[0])
        if forward or own:  # torch's generated rule forgets what is saved for backward where this is called too
            ctx.save_for_forward(*inputs)
        ctx.factor = 7.0

    def backward(ctx, gradient, other):
        x, w, y = ctx.saved_tensors
        if seen is not None:
            seen.append((tuple(x.shape), tuple(gradient.shape), ctx.needs_input_grad))
        return ctx.factor * gradient * 3 * x**2 * w + other, gradient * x**3 * 11 + 0 * y

    def jvp(ctx, x_tangent, w_tangent):
        x, _ = ctx.saved_tensors
        return 100 * x_tangent * x, w_tangent * 13 * x

    def vmap(info, in_dims, x, w):
        if seen is not None:
            seen.append((info.batch_size, in_dims, tuple(x.shape), tuple(w.shape)))
        return (1000 * x**3 * w, x * 1), (0, 0)

    rule = {"vmap": vmap} if own else {"generate_vmap_rule": True}
    return custom(torch, lambda x, w: (x**3 * w, x * 1), backward, setup_context=setup, jvp=jvp, **rule).apply


def data(torch):
    return torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.tensor([2.0, 3.0])


def every_derivative(torch, own):
    seen = []
    f = cube(torch, own, seen)
    func, (x, w) = torch.func, data(torch)

    def loss(x, w):
        y, z = f(x, w)
        return (y * z).sum()

    def batch(x, w):
        return func.vmap(loss, (0, None))(x, w)

    found = [
        func.grad(lambda x, w: batch(x, w).sum(), (0, 1))(x, w),
        func.vmap(func.grad(loss, (0, 1)), (0, None))(x, w),
        func.grad(lambda x, w: func.vmap(func.grad(loss), (0, None))(x, w).sum(), (0, 1))(x, w),
        func.vmap(func.grad(lambda x, w: func.grad(loss)(x, w).sum(), (0, 1)), (0, None))(x, w),
        func.jacrev(batch)(x, w),
        func.hessian(loss)(x[0], w) if not own else None,
        func.vmap(func.jacrev(loss), (0, None))(x, w),
        func.vmap(func.vmap(loss, (0, None)), (0, None))(x[None], w),
        func.grad(lambda x: func.vmap(func.vmap(loss, (0, None)), (0, None))(x[None], w).sum())(x),
        func.vmap(func.grad(lambda x: batch(x, w).sum()))(x[None]),
        func.vmap(lambda x: func.jvp(lambda x: loss(x, w), (x,), (torch.ones_like(x),)))(x) if own else None,
        func.grad(lambda x: batch(x, w).sum())(x)
        + func.grad(lambda x: func.grad(lambda x: batch(x, w).sum())(x).sum())(x),
    ]
    return found, sorted(map(str, set(seen)))


@raises(ValueError)
def derivatives_of_a_generated_rule(torch):
    return every_derivative(torch, False)


def derivatives_of_a_rule_of_one_s_own(torch):
    return every_derivative(torch, True)


def the_tangent_of_a_batch(torch):
    f, (x, w) = cube(torch, forward=True), data(torch)
    y = torch.func.jvp(torch.func.vmap(f), (x, x + 1), (x * 0 + 1, x * 0 + 2))
    with module(torch, "autograd.forward_ad").dual_level():
        dual = module(torch, "autograd.forward_ad").make_dual(x, x * 0 + 1)
        z, other = torch.func.vmap(cube(torch, own=True), (0, None))(dual, w)
        return y, [module(torch, "autograd.forward_ad").unpack_dual(each).tangent for each in (z, other)]


def backward_of_a_batch_twice(torch):
    f, (x, w) = cube(torch), data(torch)
    x.requires_grad_()
    w.requires_grad_()
    y, z = torch.func.vmap(f, (1, 0), (1, 0))(x, w)
    (gradient,) = torch.autograd.grad((y * z.t()).sum(), x, create_graph=True)
    gradient.sum().backward()
    return y, z, gradient, x.grad, w.grad


def what_is_saved_beside_inputs_and_outputs(torch):
    """Intermediate values, an unbatched tensor, None, and an output without a gradient."""

    def setup(ctx, inputs, output):
        (x, scale, power) = inputs
        ctx.save_for_backward(x * 2, scale, None, output[1], x)
        ctx.power = power
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    def backward(ctx, gradient, missing):
        double, scale, none, rounded, _ = ctx.saved_tensors
        return gradient * double * scale + rounded, None, None if none is None and missing is None else 5

    function = custom(
        torch,
        lambda x, scale, power: (x**power, x > 1),
        backward,
        setup_context=setup,
        generate_vmap_rule=True,
    ).apply
    x, scale = data(torch)[0].requires_grad_(), torch.tensor(3.0)
    y, rounded = torch.func.vmap(lambda x: function(x, scale, 2))(x)
    y.sum().backward()
    inside = torch.func.vmap(torch.func.grad(lambda x: function(x, scale, 2)[0].sum()))(x.detach())
    return y, rounded, x.grad, inside


def gradients_that_broadcast_or_are_the_same_for_all(torch):
    def setup(ctx, inputs, output):
        ctx.shape = inputs[0].shape

    x, w = data(torch)
    found = []
    for returned in (lambda g: (g, g[None]), lambda g: (torch.ones(2), torch.ones(2)), lambda g: (g[None] * 2, None)):
        function = custom(
            torch,
            lambda x, w: x * w,
            lambda ctx, gradient, returned=returned: returned(gradient),
            setup_context=setup,
            generate_vmap_rule=True,
        ).apply
        batch = torch.func.vmap(function, (0, None))
        found.append(torch.func.grad(lambda x, w, batch=batch: batch(x, w).sum(), 0 if found else 1)(x, w))
    return found


def second_derivatives_inside_through_a_saved_output(torch):
    found = []
    for rule in ({"generate_vmap_rule": True}, {"vmap": lambda info, in_dims, x: (x.exp(), in_dims[0])}):
        exp = custom(
            torch,
            lambda x: x.exp(),
            lambda ctx, gradient: gradient * ctx.saved_tensors[0] * 3,
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
            **rule,
        ).apply
        second = torch.func.grad(torch.func.grad(lambda x, exp=exp: exp(x).sum().exp()))
        x = torch.tensor([0.1, -0.2, 0.3])
        found += [torch.func.vmap(second)(x), torch.func.grad(lambda x, f=second: torch.func.vmap(f)(x).sum())(x)]
    return found


def per_sample_gradients(torch):
    """Of a parameter that all samples share, through a Function in the middle of a model."""
    relu = custom(
        torch,
        lambda x: x.clamp(min=0),
        lambda ctx, gradient: gradient * (ctx.saved_tensors[0] > 0) * 3,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
        generate_vmap_rule=True,
    ).apply
    x, weight = torch.tensor([[1.0, -2.0], [3.0, 4.0]]), torch.tensor([[1.0, 0.5], [-1.0, 1.0]])
    each = torch.func.vmap(torch.func.grad(lambda w, x: relu(x @ w).pow(2).sum()), (None, 0))(weight, x)
    whole = torch.func.grad(lambda w: torch.func.vmap(lambda x: relu(x @ w).pow(2).sum())(x).sum())(weight)
    return each, whole, each.sum(0) - whole


@raises(NotImplementedError)
def no_jvp_is_an_error_also_in_a_batch(torch):
    function = custom(
        torch, lambda x: x * 2, None, setup_context=lambda ctx, inputs, output: None, generate_vmap_rule=True
    )
    torch.func.vmap(lambda x: torch.func.jvp(function.apply, (x,), (x,)))(torch.ones(2))


test_agrees_with_torch = agreement_of(programs_of(globals(), module, data, leaf))


def test_a_dirty_input_is_refused_by_a_generated_rule():
    function = custom(
        jaxvjp,
        lambda x: x.mul_(2),
        lambda ctx, gradient: gradient,
        setup_context=lambda ctx, inputs, output: ctx.mark_dirty(output),
        generate_vmap_rule=True,
    )
    with pytest.raises(RuntimeError, match="mark_dirty cannot be batched"):
        jaxvjp.func.vmap(lambda x: function.apply(x * 1))(jaxvjp.ones(2))


def test_dimensions_of_nested_arguments_are_nested():
    def program(torch):
        seen = []

        class Pair(torch.autograd.Function):
            @staticmethod
            def forward(x, listed, others):
                raise AssertionError("the rule is called instead")

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def vmap(info, in_dims, x, listed, others):
                seen.append(in_dims)
                return (x * 2, listed), in_dims[:2]

        x = torch.tensor([1.0, 2.0])
        return torch.vmap(lambda x, y: Pair.apply(x, [x, y], [torch.ones(3), 3]))(x, x + 1), seen

    agree(program)

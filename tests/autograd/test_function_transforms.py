"""A custom Function in transforms: `setup_context`, `once_differentiable`, `jvp` and `vmap`."""

from __future__ import annotations

import numpy as np
import pytest
from functions import custom, leaf, module
from oracle import agree, agreement_of, programs_of, raises

import jaxvjp


def once_differentiable(torch):
    return module(torch, "autograd.function").once_differentiable


def forward_ad(torch):
    return module(torch, "autograd.forward_ad")


def tangents_of(torch, jvp, forward=lambda ctx, x: x * 2):
    """The tangents of what a Function with this `jvp` returns for a dual tensor."""
    fw = forward_ad(torch)
    function = custom(torch, forward, lambda ctx, *gradients: gradients[0], jvp=jvp)
    with fw.dual_level():
        outputs = function.apply(fw.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0])))
        listed = outputs if isinstance(outputs, tuple) else (outputs,)
        return [fw.unpack_dual(each).tangent for each in listed]


def batched_by(torch, vmap):
    """What `torch.func.vmap` makes of a Function with this `vmap`."""
    function = custom(torch, lambda x: x * 2, None, setup_context=lambda ctx, inputs, output: None, vmap=vmap)
    return torch.func.vmap(function.apply)(torch.ones(2, 2))


def keyword_arguments_with_setup_context(torch):

    def setup(ctx, inputs, output):
        ctx.n = inputs

    def backward(ctx, gradient):
        return (gradient * ctx.n[1], None)

    function = custom(torch, lambda x, n=3: x * n, backward, setup_context=setup)
    x = leaf(torch)
    function.apply(x, n=4).sum().backward()
    function.apply(x).sum().backward()
    return x.grad


@raises(TypeError)
def a_keyword_only_argument_with_setup_context(torch):

    def setup(ctx, inputs, output):
        ctx.n = len(inputs)

    def backward(ctx, gradient):
        return gradient * ctx.n

    def forward(x, *, n=3):
        return x * n

    function = custom(torch, forward, backward, setup_context=setup)
    x = leaf(torch)
    function.apply(x, n=4).sum().backward()
    return x.grad


def setup_context_sees_inputs_and_output(torch):
    given = []

    def setup(ctx, inputs, output):
        given.append((inputs, output, type(inputs).__name__, torch.is_grad_enabled()))
        ctx.save_for_backward(*inputs, output)
        return 5

    def backward(ctx, gradient):
        x, _ = ctx.saved_tensors
        return gradient * x

    function = custom(torch, lambda x: x.exp(), backward, setup_context=setup)
    x = leaf(torch)
    function.apply(x).sum().backward()
    return (given, x.grad)


@raises(RuntimeError)
def an_input_returned_and_saved_by_setup_context(torch):

    def setup(ctx, inputs, output):
        ctx.save_for_backward(output)

    function = custom(torch, lambda x: x, lambda ctx, gradient: gradient, setup_context=setup)
    x = leaf(torch)
    function.apply(x).sum().backward()
    return x.grad


def setup_context_marks_outputs(torch):

    def setup(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    function = custom(
        torch, lambda x: (x * 2, x * 3), lambda ctx, gradient, h: gradient * 3 if h is None else h, setup_context=setup
    )
    x = leaf(torch)
    a, b = function.apply(x)
    a.sum().backward()
    return (b.requires_grad, x.grad)


def setup_context_marks_a_dirty_input(torch):

    def setup(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    function = custom(torch, lambda x: x.mul_(2), lambda ctx, gradient: gradient * 3, setup_context=setup)
    x = leaf(torch)
    h = x * 1
    y = function.apply(h)
    h.sum().backward()
    return (y is h, x.grad)


@raises(NotImplementedError)
def the_default_jvp(torch):
    return torch.autograd.Function.jvp(None, 1)


@raises(NotImplementedError)
def the_default_vmap(torch):
    return torch.autograd.Function.vmap(None, (0,), 1)


@raises(NotImplementedError)
def the_default_setup_context(torch):
    return torch.autograd.Function.setup_context(None, (0,), 1)


def once_differentiable_goes_back(torch):
    once = once_differentiable(torch)
    function = custom(torch, lambda ctx, x: x * 2, once(lambda ctx, gradient: gradient * 2))
    x = leaf(torch)
    function.apply(x).sum().backward()
    return x.grad


def once_differentiable_with_create_graph(torch):
    once = once_differentiable(torch)
    function = custom(torch, lambda ctx, x: x**2, once(lambda ctx, gradient: gradient * 2))
    x = leaf(torch)
    (gradient,) = torch.autograd.grad(function.apply(x).sum(), x, create_graph=True)
    return gradient


def once_differentiable_gives_a_result_that_refuses(torch):
    once = once_differentiable(torch)
    function = custom(torch, lambda ctx, x: x**2, once(lambda ctx, gradient: (gradient * 2,)))
    x = leaf(torch)
    v = leaf(torch)
    (gradient,) = torch.autograd.grad(function.apply(x), x, v, create_graph=True)
    return (gradient, gradient.grad_fn.name(), repr(gradient))


@raises(RuntimeError)
def once_differentiable_twice(torch):
    once = once_differentiable(torch)
    function = custom(torch, lambda ctx, x: x**2, once(lambda ctx, gradient: gradient * 2))
    x = leaf(torch)
    v = leaf(torch)
    (gradient,) = torch.autograd.grad(function.apply(x), x, v, create_graph=True)
    gradient.sum().backward()


@raises(RuntimeError)
def once_differentiable_leads_nowhere(torch):
    once = once_differentiable(torch)
    function = custom(torch, lambda ctx, x, y: x**2, once(lambda ctx, gradient: (gradient * 2, None)))
    x = leaf(torch)
    y = function.apply(x, x) ** 2
    (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    torch.autograd.grad(gradient.sum(), x)


@raises(RuntimeError)
def once_differentiable_of_a_constant_gradient(torch):
    once = once_differentiable(torch)
    function = custom(torch, lambda ctx, x: x**2, once(lambda ctx, gradient: gradient * 2))
    x = leaf(torch)
    (gradient,) = torch.autograd.grad(function.apply(x).sum(), x, create_graph=True)
    gradient.sum().backward()


@raises(RuntimeError)
def too_many_tangents(torch):
    return tangents_of(torch, lambda ctx, t: (t, t))


@raises(RuntimeError)
def too_few_tangents(torch):
    return tangents_of(torch, lambda ctx, t: t, lambda ctx, x: (x * 2, x * 3))


@raises(RuntimeError)
def a_tangent_of_the_wrong_shape(torch):
    return tangents_of(torch, lambda ctx, t: torch.ones(3))


@raises(RuntimeError)
def a_tangent_that_is_a_number(torch):
    return tangents_of(torch, lambda ctx, t: 3.0)


def a_tangent_without_zeros(torch):

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    return tangents_of(torch, lambda ctx, t: t, forward)


@raises(RuntimeError)
def a_tangent_that_is_too_small(torch):
    return tangents_of(torch, lambda ctx, t: torch.ones(1))


@raises(RuntimeError)
def a_tangent_of_a_view_that_is_none(torch):
    return tangents_of(torch, lambda ctx, t: t, lambda ctx, x: x)


def a_tangent_of_a_view(torch):
    return tangents_of(torch, lambda ctx, t: t.view_as(t), lambda ctx, x: x)


@raises(NotImplementedError)
def a_function_without_jvp(torch):
    return tangents_of(torch, torch.autograd.Function.jvp)


@raises(RuntimeError)
def a_list_of_tangents(torch):
    return tangents_of(torch, lambda ctx, t: [t])


@raises(RuntimeError)
def a_tangent_of_a_non_differentiable_output(torch):

    def forward(ctx, x):
        y = x * 3
        ctx.mark_non_differentiable(y)
        return (x * 2, y)

    return tangents_of(torch, lambda ctx, t: (t, t), forward)


def a_boolean_output_without_tangent(torch):
    return tangents_of(torch, lambda ctx, t: (t, None), lambda ctx, x: (x * 2, x > 1))


@raises(RuntimeError)
def a_tangent_of_a_boolean_output(torch):
    return tangents_of(torch, lambda ctx, t: (t, t), lambda ctx, x: (x * 2, x > 1))


def zeros_for_missing_tangents(torch):
    fw = forward_ad(torch)
    given = []

    def forward(ctx, x, w):
        return x * w

    def jvp(ctx, a, b):
        given.append((a, b))
        return a

    function = custom(torch, forward, None, jvp=jvp)
    with fw.dual_level():
        d = fw.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
        fw.unpack_dual(function.apply(d, torch.ones(2)))
    return given


@raises(RuntimeError)
def vmap_without_a_rule(torch):
    function = custom(torch, lambda x: x * 2, None, setup_context=lambda ctx, i, found: None)
    return torch.func.vmap(function.apply)(torch.ones(2, 2))


@raises(RuntimeError)
def vmap_with_two_rules(torch):
    function = custom(
        torch,
        lambda x: x * 2,
        None,
        setup_context=lambda ctx, i, found: None,
        vmap=lambda info, d, x: (x, 0),
        generate_vmap_rule=True,
    )
    return torch.func.vmap(function.apply)(torch.ones(2, 2))


@raises(RuntimeError)
def vmap_without_setup_context(torch):
    function = custom(torch, lambda ctx, x: x * 2, None, generate_vmap_rule=True)
    return torch.func.vmap(function.apply)(torch.ones(2, 2))


def vmap_by_its_own_rule(torch):
    given = []

    def v(info, d, x):
        given.append((tuple(info), d, type(info).__name__))
        return (x * 3, 0)

    return (batched_by(torch, v), given)


@raises(RuntimeError)
def a_vmap_of_three_results(torch):
    return batched_by(torch, lambda i, d, x: (x, 0, 1))


@raises(RuntimeError)
def a_vmap_that_returns_a_list(torch):
    return batched_by(torch, lambda i, d, x: [x, 0])


def a_vmap_result_without_a_batch(torch):
    return batched_by(torch, lambda i, d, x: (x[0], None))


@raises(ValueError)
def a_vmap_result_that_is_no_tensor(torch):
    return batched_by(torch, lambda i, d, x: ((x, x * 2, "a"), 0))


def vmap_results_along_several_dimensions(torch):
    return batched_by(torch, lambda i, d, x: ((x, x * 2), (0, 1)))


def vmap_over_one_of_three_arguments(torch):
    given = []

    def v(info, d, *a):
        given.append((d, len(a)))
        return (a[0], d[0])

    function = custom(torch, lambda x, n, w: x * 2, None, setup_context=lambda ctx, i, found: None, vmap=v)
    results = torch.func.vmap(lambda x: function.apply(x, 3, torch.ones(2)), in_dims=1)(torch.ones(2, 3))
    return (results, given)


def vmap_over_none_of_the_arguments(torch):
    given = []

    def v(info, d, *a):
        given.append((d, len(a)))
        return (a[0], d[0])

    function = custom(torch, lambda x: x * 2, None, setup_context=lambda ctx, i, found: None, vmap=v)
    results = torch.func.vmap(lambda x: function.apply(torch.ones(2)) + x)(torch.ones(2))
    return (results, given)


def nothing_is_saved_yet_in_setup_context(torch):
    found = []

    def s(ctx, i, out):
        ctx.save_for_backward(*i)
        found.append(ctx.saved_tensors)

    function = custom(torch, lambda x: x * 2, lambda ctx, gradient: gradient, setup_context=s)
    function.apply(leaf(torch))
    return found


@raises(TypeError)
def a_missing_argument_with_setup_context(torch):
    function = custom(
        torch, lambda x, y: x * y, lambda ctx, gradient: gradient, setup_context=lambda ctx, i, found: None
    )
    function.apply(leaf(torch))


def square(torch, **more):
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    def backward(ctx, gradient):
        return gradient * 2 * ctx.saved_tensors[0]

    def jvp(ctx, tangent):
        return 2 * ctx.saved_tensors[0] * tangent

    return custom(torch, lambda x: x**2, backward, setup_context=setup, jvp=jvp, **more).apply


def func_jvp(torch):
    return torch.func.jvp(lambda x: square(torch)(x * 3) + x, (torch.ones(2),), (torch.tensor([1.0, 10.0]),))


def func_jacobians(torch):
    x = torch.tensor([1.0, 2.0])
    rule = {"generate_vmap_rule": True}
    return [
        torch.func.jacfwd(square(torch, **rule))(x),
        torch.func.jacrev(square(torch, **rule))(x),
        torch.func.grad(lambda x: square(torch)(x).sum())(x),
    ]


def func_vmap_of_grad(torch):
    function = square(torch, generate_vmap_rule=True)
    return torch.func.vmap(torch.func.grad(function))(torch.tensor([1.0, 2.0, 3.0]))


def func_vmap_generated(torch):
    return torch.func.vmap(square(torch, generate_vmap_rule=True))(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))


def func_grad_of_a_vmap_by_its_own_rule(torch):
    def vmap(info, in_dims, x):
        return square(torch)(x) * 10, in_dims[0]

    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    function = square(torch, vmap=vmap)
    return torch.func.grad(lambda x: torch.func.vmap(function, in_dims=1)(x).sum())(x)


def backward_of_a_vmap_by_its_own_rule(torch):
    def vmap(info, in_dims, x):
        return square(torch)(x) * 10, in_dims[0]

    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    torch.func.vmap(square(torch, vmap=vmap))(x).sum().backward()
    return x.grad


def a_tangent_through_numpy(torch):
    fw = forward_ad(torch)

    def forward(ctx, x):
        ctx.values = x.numpy()
        return torch.tensor(np.sin(ctx.values))

    function = custom(torch, forward, None, jvp=lambda ctx, tangent: torch.tensor(np.cos(ctx.values)) * tangent)
    with fw.dual_level():
        dual = fw.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
        return fw.unpack_dual(function.apply(dual * 2) * 3).tangent


def a_tangent_of_what_requires_a_gradient(torch):
    fw = forward_ad(torch)
    x = leaf(torch)
    with fw.dual_level():
        tangent = fw.unpack_dual(square(torch)(fw.make_dual(x, torch.ones(2)))).tangent
        tangent.sum().backward()
        return tangent, x.grad


test_agrees_with_torch = agreement_of(programs_of(globals(), module, square, forward_ad, once_differentiable))


def test_a_tangent_takes_its_output_s_dtype_and_none_is_zero():
    """torch lets the dtypes differ, and for None fails with an internal assertion."""
    assert tangents_of(jaxvjp, lambda ctx, tangent: tangent.double())[0].dtype is jaxvjp.float32
    assert tangents_of(jaxvjp, lambda ctx, tangent: None)[0].tolist() == [0.0, 0.0]


def test_a_vmap_that_returns_another_number_of_examples_is_refused():
    with pytest.raises(RuntimeError, match="returned 3 examples in dimension 0 of output 0, where the batch has 2"):
        batched_by(jaxvjp, lambda info, in_dims, x: (jaxvjp.ones(3, 2), 0))


def test_forward_may_use_numpy_inside_of_a_transform():
    def program(torch):
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return torch.tensor(x.numpy() ** 3)

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_backward(*inputs)

            @staticmethod
            def backward(ctx, gradient):
                return gradient * 3 * ctx.saved_tensors[0] ** 2

        x = torch.tensor(2.0)
        return torch.func.grad(Cube.apply)(x), torch.func.grad(torch.func.grad(Cube.apply))(x)

    agree(program)


def test_the_tangent_of_an_argument_that_is_returned():
    def program(torch):
        """It is a view of the tangent that was given, where `jvp` makes one."""
        fw = forward_ad(torch)
        found = []
        for jvp in (lambda x: x.view_as(x), lambda x: x, lambda x: x * 2):
            function = custom(torch, lambda ctx, x, y: (x + y, x), jvp=lambda ctx, x, y, of=jvp: (x + y, of(x)))
            for tracked in (True, False):
                x, tangent = torch.ones(2, requires_grad=tracked), torch.ones(2)
                with fw.dual_level():
                    try:
                        shown = fw.unpack_dual(function.apply(fw.make_dual(x, tangent), torch.ones(2))[1]).tangent
                        found.append((shown._base is tangent, shown))
                    except RuntimeError as error:
                        found.append(str(error).partition(".")[0])
        return found

    agree(program)


def test_the_step_of_what_is_differentiable_once():
    def program(torch):
        backward = once_differentiable(torch)(lambda ctx, gradient: (gradient * 2, None, gradient * 3))
        function = custom(torch, lambda ctx, x, k, y: x * k + y, backward)
        x, y, gradient = leaf(torch), leaf(torch), torch.ones(2, requires_grad=True)
        found, _ = torch.autograd.grad(function.apply(x, 2, y), (x, y), gradient, create_graph=True)
        return found, [edge and type(edge).__name__ for edge, _ in found.grad_fn.next_functions]

    agree(program)

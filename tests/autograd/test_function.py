"""`autograd.Function`, under torch and under jaxvjp: its methods, the code inside them, and the recorded step."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from functions import custom, leaf, times_saved
from oracle import agreement_of, programs_of, raises

import jaxvjp
from jaxvjp.core.run.compilation import counters


def cube(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * gradient

    return Cube.apply


def its_own_derivative_is_used(torch):
    x = leaf(torch)
    y = custom(torch, lambda ctx, x: x * 2, lambda ctx, gradient: gradient * 100).apply(x)
    y.backward(torch.tensor([1.0, 10.0]))
    return y, x.grad


def between_other_operations(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (cube(torch)(x * 2) + x).sum()
    y.backward()
    return y, x.grad


def double_backward(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (first,) = torch.autograd.grad(cube(torch)(x).sum(), x, create_graph=True)
    return first, torch.autograd.grad(first.sum(), x)


def numpy_inside(torch):
    def forward(ctx, x):
        ctx.values = x.detach().numpy()
        return torch.tensor(np.sin(ctx.values))

    x = leaf(torch)
    sine = custom(torch, forward, lambda ctx, gradient: torch.tensor(np.cos(ctx.values) * gradient.numpy()))
    sine.apply(x * 2).sum().backward()
    return x.grad


def two_outputs_and_a_number(torch):
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor, x + factor

    def backward(ctx, of_product, of_sum):
        return of_product * ctx.factor + of_sum * 10, None

    x = leaf(torch)
    product, total = custom(torch, forward, backward).apply(x, 3.0)
    product.sum().backward(retain_graph=True)
    first = x.grad.clone()
    (product + total).sum().backward()
    return first, x.grad


def the_output_may_be_saved(torch):
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    x = leaf(torch)
    (first,) = torch.autograd.grad(custom(torch, forward, times_saved).apply(x).sum(), x, create_graph=True)
    return first, torch.autograd.grad(first.sum(), x)


def its_name_is_printed(torch):
    return repr(cube(torch)(torch.tensor([1.0, 2.0], requires_grad=True)))


def without_gradients_nothing_is_recorded(torch):
    y = cube(torch)(torch.tensor([1.0]))
    with torch.no_grad():
        z = cube(torch)(torch.tensor([1.0], requires_grad=True))
    return y.requires_grad, z.requires_grad


@raises(RuntimeError)
def twice_without_retain_graph(torch):
    x = torch.tensor([1.0], requires_grad=True)
    y = cube(torch)(x)
    y.backward()
    y.backward()


@raises(TypeError)
def saving_a_number(torch):
    custom(torch, lambda ctx, x: (ctx.save_for_backward(3), x)[1]).apply(leaf(torch))


def the_gradient_given_to_the_root_gets_its_own(torch):
    x, v = leaf(torch), leaf(torch, 3.0, 4.0)
    (first,) = torch.autograd.grad(cube(torch)(x), x, v, create_graph=True)
    (first * first).sum().backward()
    return first, v.grad, x.grad


def hooks_on_a_step_of_two_outputs(torch):
    function = custom(torch, lambda ctx, x: (x * 2, x * 3), lambda ctx, g, h: g * 2 + h * 3)
    x = leaf(torch)
    first, second = function.apply(x)
    calls = []
    second.grad_fn.register_hook(lambda inputs, outputs: calls.append((inputs, outputs)))
    first.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10, outputs[1]))
    (first + second).sum().backward()
    return calls, x.grad


def the_step_is_walked(torch):
    function = custom(torch, lambda ctx, a, n, b, w: (a * b, a + b), lambda ctx, g, h: (g, None, h, None))
    x = leaf(torch)
    first, second = function.apply(x * 2, 3, x, torch.ones(2))
    steps = [(step and step.name(), place) for step, place in first.grad_fn.next_functions]
    steps += [(step.name(), place) for step, place in (first + second).grad_fn.next_functions]
    return steps, first.grad_fn == second.grad_fn, first.grad_fn == (x * 2).grad_fn


def grad_fn_has_the_attributes_of_ctx(torch):
    def forward(ctx, x):
        ctx.factor = 5
        ctx.save_for_backward(x)
        return x * 2

    y = custom(torch, forward, lambda ctx, gradient: gradient).apply(leaf(torch))
    return y.grad_fn.factor, y.grad_fn.saved_tensors, y.grad_fn.needs_input_grad


def a_hundred_in_a_row(torch):
    function = custom(torch, lambda ctx, x: x * 0.5, lambda ctx, gradient: gradient * 1.01)
    x = leaf(torch)
    y = x
    for _ in range(100):
        y = function.apply(y) + 0.5
    y.sum().backward()
    return y, x.grad


def instantiating_warns(torch):
    function = custom(torch, lambda ctx, x: x * 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [(each.category.__name__, str(each.message).partition("> ")[2]) for each in caught]


@raises(NotImplementedError)
def a_function_without_forward(torch):
    function = type("function", (torch.autograd.Function,), {})
    return function.apply(leaf(torch))


@raises(RuntimeError)
def calling_an_instance(torch):
    function = custom(torch, lambda ctx, x: x * 2)
    found = function()
    return found(leaf(torch))


def methods_that_are_not_static(torch):

    class F(torch.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, gradient):
            return gradient * 2

    x = leaf(torch)
    F.apply(x).sum().backward()
    return x.grad


def keyword_arguments(torch):
    function = custom(torch, lambda ctx, x, n=3: x * n, lambda ctx, gradient: gradient)
    return function.apply(leaf(torch), n=4)


@raises(KeyError)
def an_exception_in_forward(torch):

    def forward(ctx, x):
        raise KeyError("mine")

    custom(torch, forward).apply(leaf(torch))


def the_grad_mode_inside(torch):
    found = []

    def backward(ctx, gradient):
        found.append(torch.is_grad_enabled())
        return gradient

    def forward(ctx, x):
        found.append(torch.is_grad_enabled())
        found.append(x.requires_grad)
        return x * 2

    function = custom(torch, forward, backward)
    x = leaf(torch)
    y = function.apply(x).sum()
    y.backward(retain_graph=True)
    y.backward(create_graph=True)
    with torch.no_grad():
        y.backward(create_graph=True)
    return found


def grad_inside_backward(torch):

    def forward(ctx, x):
        with torch.enable_grad():
            t = x.detach().requires_grad_()
            y = t**3
        ctx.t, ctx.y = (t, y)
        return y.detach()

    def backward(ctx, gradient):
        return torch.autograd.grad(ctx.y, ctx.t, gradient)[0]

    function = custom(torch, forward, backward)
    x = leaf(torch)
    function.apply(x).sum().backward()
    return x.grad


def recording_inside_forward(torch):

    def forward(ctx, x):
        with torch.enable_grad():
            return x**3

    function = custom(torch, forward, lambda ctx, gradient: gradient * 100)
    x = leaf(torch)
    y = function.apply(x)
    y.sum().backward()
    return (y, x.grad)


def backward_inside_backward(torch):

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            t = x.detach().requires_grad_()
            (t**2).backward(gradient)
        return t.grad

    function = custom(torch, forward, backward)
    x = leaf(torch)
    function.apply(x * 2).sum().backward()
    return x.grad


def backward_inside_backward_into_an_outer_leaf(torch):
    w = torch.ones(2, requires_grad=True)

    def backward(ctx, gradient):
        with torch.enable_grad():
            (w * 3).sum().backward()
        return gradient

    function = custom(torch, lambda ctx, x: x * 2, backward)
    x = leaf(torch)
    (function.apply(x) * w).sum().backward()
    return (x.grad, w.grad)


def a_function_that_calls_another(torch):

    def sq_f(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    square = custom(torch, sq_f, lambda ctx, gradient: 2 * gradient * ctx.saved_tensors[0])

    def f(ctx, x):
        ctx.save_for_backward(x)
        return square.apply(x) * x

    def b(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * gradient * square.apply(x)

    function = custom(torch, f, b)
    x = leaf(torch)
    (gradient,) = torch.autograd.grad(function.apply(x).sum(), x, create_graph=True)
    return (gradient, torch.autograd.grad(gradient.sum(), x))


def no_arguments(torch):
    function = custom(torch, lambda ctx: torch.ones(2), lambda ctx, gradient: None)
    return function.apply()


def a_tensor_in_a_list(torch):
    function = custom(torch, lambda ctx, xs: xs[0] * 2, lambda ctx, gradient: None)
    return function.apply([leaf(torch)])


def backward_again_after_an_exception(torch):
    n = [0]

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, gradient):
        n[0] += 1
        if n[0] == 1:
            raise ValueError("first")
        return gradient * ctx.saved_tensors[0]

    function = custom(torch, forward, backward)
    x = leaf(torch)
    y = function.apply(x).sum()
    with contextlib.suppress(ValueError):
        y.backward()
    y.backward()
    return x.grad


def backward_of_another_graph_of_the_same_leaf(torch):
    inner = []

    def backward(ctx, gradient):
        inner[0].backward()
        return gradient

    other = custom(torch, lambda ctx, x: x * 2, backward)
    x = leaf(torch)
    z = (x * x).sum()
    inner.append(z)
    other.apply(x).sum().backward()
    return x.grad


def double_backward_through_an_output_that_is_gone(torch):

    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return (y, x * 2)

    function = custom(torch, forward, lambda ctx, gradient, h: gradient + h * ctx.saved_tensors[0])
    x = leaf(torch)
    z = function.apply(x)[1]
    (gradient,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    return (gradient, torch.autograd.grad(gradient.sum(), x))


@raises(RuntimeError)
def an_output_that_is_gone_is_freed(torch):

    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return (y, x * 2)

    function = custom(torch, forward, lambda ctx, gradient, h: gradient + h * ctx.saved_tensors[0])
    x = leaf(torch)
    z = function.apply(x)[1]
    z.sum().backward()
    z.sum().backward()


def a_function_of_a_function_class(torch):
    function = custom(torch, lambda ctx, x: x * 2, lambda ctx, gradient: gradient * 3)

    class Other(function):
        @staticmethod
        def backward(ctx, gradient):
            return function.backward(ctx, gradient) * 2

    x = leaf(torch)
    y = Other.apply(x)
    y.sum().backward()
    return (x.grad, y.grad_fn.name(), repr(y.grad_fn).partition(" object")[0], repr(y.sum().grad_fn).partition(" ")[0])


def class_methods(torch):

    class F(torch.autograd.Function):
        @classmethod
        def forward(cls, ctx, x):
            return x * 2

        @classmethod
        def backward(cls, ctx, gradient):
            return gradient * 2

    x = leaf(torch)
    F.apply(x).sum().backward()
    return x.grad


def gradients_of_an_intermediate_input(torch):
    function = custom(torch, lambda ctx, x: x * 2, lambda ctx, gradient: gradient * 3)
    x = leaf(torch)
    h = x * 4
    y = function.apply(h)
    return torch.autograd.grad(y.sum(), (h, x))


def layers_in_a_loop(torch):

    def f(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        return (y.log(), y)

    def b(ctx, gradient, h):
        _, y = ctx.saved_tensors
        return gradient + h * y

    function = custom(torch, f, b)
    x = leaf(torch)
    z = x
    for _ in range(5):
        a, c = function.apply(z * 0.1)
        z = a + c * 0.5
    (gradient,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    return (z, gradient, torch.autograd.grad((gradient * gradient).sum(), x))


def indexing_inside_both_methods(torch):

    def f(ctx, x, i):
        ctx.shape = x.shape
        ctx.i = i
        return x[i]

    def b(ctx, gradient):
        z = torch.zeros(ctx.shape)
        z[ctx.i] = gradient
        return (z, None)

    function = custom(torch, f, b)
    x = leaf(torch)
    function.apply(x, 1).backward()
    return x.grad


def grad_with_create_graph_inside_backward(torch):

    def f(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    def b(ctx, gradient):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            t = x.detach().requires_grad_()
            return torch.autograd.grad(t**3, t, gradient, create_graph=torch.is_grad_enabled())[0]

    function = custom(torch, f, b)
    x = leaf(torch)
    (gradient,) = torch.autograd.grad(function.apply(x).sum(), x)
    return gradient


test_agrees_with_torch = agreement_of(programs_of(globals(), cube))


def test_an_exception_in_backward_leaves_every_gradient_as_it_was():
    """torch has added to `w.grad` by then; here nothing changes before everything is computed."""

    def backward(ctx, gradient):
        raise KeyError("mine")

    function = custom(jaxvjp, lambda ctx, x: x * 2, backward)
    x, w = leaf(jaxvjp), leaf(jaxvjp)
    with pytest.raises(KeyError, match="mine"):
        (function.apply(x) + w).sum().backward()
    assert x.grad is None
    assert w.grad is None


def test_torch_s_names():
    names = jaxvjp.autograd.function
    assert issubclass(jaxvjp.autograd.Function._backward_cls, names.FunctionCtx)
    assert issubclass(names.BackwardCFunction, names.FunctionCtx)
    assert isinstance(jaxvjp.autograd.Function, names.FunctionMeta)
    assert issubclass(names.InplaceFunction, names.Function)
    assert custom(jaxvjp, None)._backward_cls.__name__ == "FBackward"


def test_a_chain_of_functions_that_only_compute_is_one_dispatch():
    x = leaf(jaxvjp)

    def step():
        cube(jaxvjp)(cube(jaxvjp)(x) * 0.1).sum().backward()

    step()
    x.grad = None
    before = counters.dispatches
    step()
    assert counters.dispatches == before + 1

"""`autograd.Function`, under torch and under jaxvjp."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import agree, needs_torch


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
    class Crooked(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 100

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Crooked.apply(x)
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
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.values = x.detach().numpy()
            return torch.tensor(np.sin(ctx.values))

        @staticmethod
        def backward(ctx, gradient):
            return torch.tensor(np.cos(ctx.values) * gradient.numpy())

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    Sine.apply(x * 2).sum().backward()
    return x.grad


def two_outputs_and_a_number(torch):
    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            ctx.wanted = ctx.needs_input_grad
            return x * factor, x + factor

        @staticmethod
        def backward(ctx, of_product, of_sum):
            return of_product * ctx.factor + of_sum * 10, None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    product, total = Split.apply(x, 3.0)
    product.sum().backward(retain_graph=True)
    first = x.grad.clone()
    (product + total).sum().backward()
    return first, x.grad


def the_output_may_be_saved(torch):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, gradient):
            (y,) = ctx.saved_tensors
            return gradient * y

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (first,) = torch.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
    return first, torch.autograd.grad(first.sum(), x)


def none_stops_the_gradient(torch):
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return x * w

        @staticmethod
        def backward(ctx, gradient):
            return gradient, None

    x, w = torch.tensor([1.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    Stop.apply(x, w).sum().backward()
    return x.grad, w.grad


def its_name_is_printed(torch):
    return repr(cube(torch)(torch.tensor([1.0, 2.0], requires_grad=True)))


def without_gradients_nothing_is_recorded(torch):
    y = cube(torch)(torch.tensor([1.0]))
    with torch.no_grad():
        z = cube(torch)(torch.tensor([1.0], requires_grad=True))
    return y.requires_grad, z.requires_grad


def twice_without_retain_graph(torch):
    x = torch.tensor([1.0], requires_grad=True)
    y = cube(torch)(x)
    y.backward()
    y.backward()


def too_many_gradients(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient, gradient

    Two.apply(torch.tensor([1.0], requires_grad=True)).backward()


def a_gradient_of_the_wrong_shape(torch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return torch.ones(3)

    Wrong.apply(torch.tensor([1.0, 2.0], requires_grad=True)).sum().backward()


def an_exception_inside_is_the_users(torch):
    class Raises(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            raise KeyError("mine")

    Raises.apply(torch.tensor([1.0], requires_grad=True)).backward()


def no_backward(torch):
    class Forward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    Forward.apply(torch.tensor([1.0], requires_grad=True)).backward()


def saving_a_number(torch):
    class Saves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)
            return x

    Saves.apply(torch.tensor([1.0], requires_grad=True))


PROGRAMS = [
    each for each in list(globals().values()) if getattr(each, "__module__", "") == __name__ and each is not cube
]


@needs_torch
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_agrees_with_torch(function):
    agree(function)

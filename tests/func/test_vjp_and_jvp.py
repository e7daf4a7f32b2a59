"""`func.vjp`, `func.jvp` and `func.linearize`, under torch and under jaxvjp: alone and nested."""

from __future__ import annotations

from oracle import agreement_of, programs_of
from vectors import matrix, vector


def pullback(torch):
    output, pull = torch.func.vjp(lambda x: x**2, vector(torch))
    return output, pull(torch.tensor([1.0, 10.0, 100.0])), pull(torch.ones(3))


def pullback_differentiated(torch):
    def f(x, v):
        _, pull = torch.func.vjp(lambda x: x**3, x)
        return pull(v)[0].sum()

    x = vector(torch)
    return torch.func.grad(f, argnums=(0, 1))(x, x + 1)


def pullback_to_a_closed_over_tensor(torch):
    w = vector(torch).requires_grad_()
    output, pull = torch.func.vjp(lambda x: x**2 * w, vector(torch))
    (pulled,) = pull(torch.ones(3))
    return output.requires_grad, torch.autograd.grad(pulled.sum() + output.sum(), w)


def pullback_of_vmap_and_vmap_of_pullback(torch):
    x = matrix(torch)
    _, pull = torch.func.vjp(torch.func.vmap(lambda row: (row**2).sum()), x)
    _, rows = torch.func.vjp(lambda v: v**2, vector(torch))
    return pull(torch.tensor([1.0, 10.0])), torch.func.vmap(rows)(matrix(torch))


def pushforward(torch):
    x, t = vector(torch), torch.tensor([1.0, 10.0, 100.0])
    return torch.func.jvp(lambda x: x**2, (x,), (t,))


def pushforward_of_pushforward(torch):
    def directional(f):
        return lambda x: torch.func.jvp(f, (x,), (torch.ones(3),))[1]

    x = vector(torch)
    return directional(lambda x: x**4)(x), directional(directional(lambda x: x**4))(x)


def perturbations_are_not_confused(torch):
    def inner(x):
        return torch.func.jvp(lambda y: x * y, (torch.tensor(2.0),), (torch.tensor(1.0),))[1]

    one = torch.tensor(1.0)
    return (
        torch.func.jvp(lambda x: x * inner(x), (one,), (one,)),
        torch.func.grad(lambda x: x * torch.func.grad(lambda y: x + y)(one))(one),
    )


def pushforward_of_gradient(torch):
    x = vector(torch)
    return torch.func.jvp(torch.func.grad(lambda x: (x**3).sum() * x[0]), (x,), (torch.ones(3),))


def gradient_of_pushforward(torch):
    def f(x, t):
        return torch.func.jvp(lambda x: x**3, (x,), (t,))[1].sum()

    return torch.func.grad(f, argnums=(0, 1))(vector(torch), vector(torch))


def pushforward_through_autograd_grad(torch):
    def f(x):
        x = x * 1
        y = x if x.requires_grad else x.clone()
        return torch.func.grad(lambda z: (z**3).sum())(y)

    return torch.func.jvp(f, (vector(torch),), (torch.ones(3),))


def an_output_that_does_not_depend_has_a_zero_tangent(torch):
    x = vector(torch)
    return torch.func.jvp(lambda x: (torch.ones(2), x > 1, x.long(), x), (x,), (x,))


def values_may_be_read_in_forward_mode(torch):
    def f(x):
        with torch.no_grad():
            h = x * 3
        if h.sum() > 1:
            return h * x
        return x

    x = vector(torch)
    return torch.func.jvp(f, (x,), (torch.ones(3),)), torch.func.jacfwd(f)(x)


def an_argument_written_in_forward_mode(torch):
    def f(x):
        x.mul_(2)
        x[0] = x[1]
        return x * x

    x = vector(torch)
    return torch.func.jvp(f, (x,), (torch.ones(3),)), x


def linearized(torch):
    x = vector(torch)
    output, push = torch.func.linearize(lambda x: {"s": x.sum(), "y": x**2}, x)
    return output, push(torch.ones(3)), push(x)


def linearized_after_reading(torch):
    output, push = torch.func.linearize(lambda x: x**2 * 3, vector(torch))
    return output.tolist(), push(torch.ones(3))


test_agrees_with_torch = agreement_of(programs_of(globals()), rtol=5e-6, atol=2e-6)

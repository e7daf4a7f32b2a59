"""`func.grad` and `func.grad_and_value`, under torch and under jaxvjp: results, and what the function may do."""

from __future__ import annotations

from oracle import agreement_of, programs_of
from vectors import matrix, vector


def gradient(torch):
    return torch.func.grad(lambda x: (x**3).sum())(vector(torch))


def gradient_in_float64(torch):
    return torch.func.grad(lambda x: (x**3).sum())(vector(torch, torch.float64))


def gradient_of_gradient(torch):
    f = torch.func.grad(lambda x: torch.sin(x) * x)
    return [torch.func.grad(f)(torch.tensor(0.5)), torch.func.grad(torch.func.grad(f))(torch.tensor(0.5))]


def gradient_and_value(torch):
    return torch.func.grad_and_value(lambda x: (x**2).sum())(vector(torch))


def gradient_with_aux(torch):
    def f(x):
        y = x**2
        return y.sum(), {"y": y, "n": [x.sum()]}

    return (
        torch.func.grad(f, has_aux=True)(vector(torch)),
        torch.func.grad_and_value(f, has_aux=True)(vector(torch)),
    )


def argnums(torch):
    def f(x, y, z):
        return (x * y**2 * z).sum()

    x, y, z = vector(torch), vector(torch) + 1, vector(torch) * 2
    results = [torch.func.grad(f, argnums=each)(x, y, z) for each in (0, 1, -1, (0,), (2, 0), (-1, 1))]
    return results, torch.func.grad_and_value(f, argnums=(1, 2))(x, y, z)


def what_is_not_used_has_a_zero_gradient(torch):
    return (
        torch.func.grad(lambda x, y: (x * x).sum(), argnums=(0, 1))(vector(torch), matrix(torch)),
        torch.func.grad(lambda x: torch.tensor(1.0))(vector(torch)),
    )


def results_require_no_gradient(torch):
    x = vector(torch)
    g, value = torch.func.grad_and_value(lambda x: (x**3).sum())(x)
    return g.requires_grad, value.requires_grad, x.requires_grad


def results_require_a_gradient_where_the_input_does(torch):
    x = vector(torch).requires_grad_()
    g, value = torch.func.grad_and_value(lambda x: (x**3).sum())(x)
    (g.sum() + value).backward()
    linear = torch.func.grad(lambda x: (2 * x).sum())(x)
    return g.requires_grad, value.requires_grad, x.grad, linear


def results_require_a_gradient_where_a_closed_over_tensor_does(torch):
    w, v = vector(torch).requires_grad_(), vector(torch).requires_grad_()
    g, value = torch.func.grad_and_value(lambda x: (x**2 * w + v).sum())(vector(torch))
    g.sum().backward()
    first = w.grad.clone()
    value.backward()
    return g.requires_grad, first, w.grad, v.grad


def under_no_grad(torch):
    x = vector(torch).requires_grad_()
    with torch.no_grad():
        g = torch.func.grad(lambda x: (x**3).sum())(x)
        h = torch.func.hessian(lambda x: (x**3).sum())(x)
        output, pullback = torch.func.vjp(lambda x: x**2, x)
        pulled = pullback(vector(torch))
    return g, h, output, pulled


def no_grad_inside(torch):
    def f(x):
        with torch.no_grad():
            c = x**2
        return (x - c).sum()

    x = vector(torch)
    return torch.func.grad(f)(x), torch.func.jvp(f, (x,), (x,)), torch.func.vmap(torch.func.grad(f))(matrix(torch))


def detach_inside(torch):
    def f(x):
        return (x * x.detach()).sum()

    x = vector(torch)
    return (
        torch.func.grad(f)(x),
        torch.func.jvp(f, (x,), (x,)),
        torch.func.grad(lambda x: torch.func.vmap(f)(x).sum())(matrix(torch)),
        torch.func.jacfwd(torch.func.vmap(f))(matrix(torch)),
    )


def grad_of_autograd_grad(torch):
    def f(x):
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return g.sum()

    return torch.func.grad(f)(vector(torch))


def a_leaf_inside(torch):
    def f(x):
        return x.is_leaf, x.requires_grad, (x * 2).is_leaf

    seen = []

    def g(x):
        seen.append(f(x))
        return x.sum()

    torch.func.grad(g)(vector(torch))
    return seen


def in_place_inside(torch):
    def f(x):
        y = x * 1
        y[0] = x[1] * x[2]
        y[1:] *= x[:2]
        y += x
        return y

    x = vector(torch)
    return (
        torch.func.jacrev(f)(x),
        torch.func.jacfwd(f)(x),
        torch.func.grad(lambda x: f(x).sum())(x),
        torch.func.hessian(lambda x: (f(x) ** 2).sum())(x),
        torch.func.vmap(f)(matrix(torch)),
        torch.func.vmap(torch.func.jacrev(f))(matrix(torch)),
    )


def indexed_writes_into_a_new_tensor(torch):
    def f(x):
        y = torch.zeros(4)
        y[1:] = x * x
        y[0] = x[0] * x[2]
        return y

    x = vector(torch)
    return torch.func.jacrev(f)(x), torch.func.jacfwd(f)(x), torch.func.jvp(f, (x,), (x,))


def an_argument_that_is_not_differentiated_may_be_written(torch):
    def f(x, y):
        y.add_(1)
        return (x * y).sum()

    x, y = vector(torch), vector(torch)
    return torch.func.grad(f)(x, y), y


test_agrees_with_torch = agreement_of(programs_of(globals()), rtol=5e-6, atol=2e-6)

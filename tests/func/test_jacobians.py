"""`func.jacrev`, `func.jacfwd` and `func.hessian`, under torch and under jaxvjp."""

from __future__ import annotations

from oracle import agreement_of, programs_of
from vectors import matrix, vector


def jacobians(torch):
    def f(x, y):
        return torch.sin(x) * y.sum(), {"m": x[:, None] * y[None]}

    x, y = vector(torch), torch.tensor([0.5, -0.5])
    return [
        transform(f, argnums=each)(x, y)
        for transform in (torch.func.jacrev, torch.func.jacfwd)
        for each in (0, 1, (0, 1), (1,))
    ]


def jacobians_with_aux(torch):
    def f(x):
        return x**2, {"s": x.sum()}

    return torch.func.jacrev(f, has_aux=True)(vector(torch)), torch.func.jacfwd(f, has_aux=True)(vector(torch))


def jacobian_in_chunks(torch):
    return [torch.func.jacrev(lambda x: x**2 * x[0], chunk_size=each)(vector(torch)) for each in (1, 2, 3, 5)]


def jacobians_of_jacobians(torch):
    def f(x):
        return torch.exp(x[0]) * x**3

    rev, fwd = torch.func.jacrev, torch.func.jacfwd
    return [outer(inner(f))(vector(torch, torch.float64)) for outer in (rev, fwd) for inner in (rev, fwd)]


def jacobians_in_memory(torch):
    x, functional = vector(torch), torch.autograd.functional
    found = [transform(torch.sin)(x) for transform in (torch.func.jacrev, torch.func.jacfwd)]
    found += [torch.func.hessian(lambda x: (x**3).sum())(x), torch.func.jacfwd(torch.sin)(matrix(torch))]
    found.append(functional.jacobian(torch.sin, x, vectorize=True, strategy="forward-mode"))
    torch.manual_seed(0)
    return [(each.stride(), each.is_contiguous(), torch.rand_like(each)) for each in found]


def hessians(torch):
    def f(x, y):
        return (x**2 * y.sum()).sum() * y[0]

    x, y = vector(torch), torch.tensor([0.5, -0.5])
    return torch.func.hessian(f)(x, y), torch.func.hessian(f, argnums=(0, 1))(x, y)


def jacobian_that_requires_a_gradient(torch):
    x = vector(torch).requires_grad_()
    cubic, linear = torch.func.jacrev(lambda x: x**3)(x), torch.func.jacrev(lambda x: 2 * x)(x)
    forward = torch.func.jacfwd(lambda x: x**3)(x)
    return cubic, linear, forward, torch.autograd.grad(cubic.sum(), x), torch.autograd.grad(forward.sum(), x)


def jacobian_of_what_does_not_depend(torch):
    def f(x, y):
        return x * 2, y * 1

    return [t(f, argnums=(0, 1))(vector(torch), vector(torch)) for t in (torch.func.jacrev, torch.func.jacfwd)]


def a_function_that_returns_its_argument(torch):
    def f(x):
        return x

    x, rev, fwd = vector(torch), torch.func.jacrev, torch.func.jacfwd
    return (
        [transform(f)(x) for transform in (rev, fwd, torch.vmap)],
        [torch.vmap(transform(f))(matrix(torch)) for transform in (rev, fwd)],
        torch.func.jvp(f, (x,), (x + 1,)),
        torch.func.vjp(f, x)[1](x + 1),
        torch.func.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x, x),
    )


def conversions_and_mixed_dtypes(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)

    def f(x, w):
        return (x * w).sum()

    return torch.func.grad(f, argnums=(0, 1))(x, torch.tensor([3.0, 4.0])), torch.func.jacfwd(lambda x: x.float())(x)


def zeros_where_nothing_flows(torch):
    jacobian, x = torch.autograd.functional.jacobian, vector(torch)
    forward = {"vectorize": True, "strategy": "forward-mode"}
    functions = (torch.Tensor.long, torch.Tensor.double, lambda x: x > 1, lambda x: torch.ones(2, dtype=torch.float64))
    return [(jacobian(f, x), jacobian(f, x, create_graph=True), jacobian(f, x, **forward)) for f in functions]


test_agrees_with_torch = agreement_of(programs_of(globals()), rtol=5e-6, atol=2e-6)

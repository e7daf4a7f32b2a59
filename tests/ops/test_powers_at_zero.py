"""Powers at base 0, and at exponents 0 and 1, in every order of derivative, and what is written with powers."""

from __future__ import annotations

import pytest
from oracle import agree

import jaxvjp

EXPONENTS = (0, 0.0, 1, 1.0, 2, 2.5, 3, 3.0, 4.0, -1, -2.0)
BASES = (0.0, 2.0, -2.0, 0.5, -1.0)


def orders(torch, f, x, count=3):
    """The value and the derivatives of f at x; zeros where torch has None or a constant."""
    x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    found = [f(x)]
    for _ in range(count):
        if not found[-1].requires_grad:
            found.append(torch.zeros_like(x))
            continue
        (each,) = torch.autograd.grad(found[-1].sum(), x, create_graph=True, materialize_grads=True)
        found.append(each)
    return [each.detach() + 0 for each in found]


@pytest.mark.parametrize("name", ["pow", "float_power"])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_a_power(name, exponent):
    def program(torch):
        power = getattr(torch, name)
        each = torch.tensor([float(exponent)] * len(BASES), dtype=torch.float64)
        found = [orders(torch, lambda x: power(x, exponent), BASES)]
        found += [orders(torch, lambda x: power(x, each), BASES)] if exponent not in (0, 1) else []
        found += [orders(torch, lambda x: power(x.float(), exponent).double(), BASES)]
        return [*found, torch.func.vmap(torch.func.grad(torch.func.grad(lambda x: power(x, exponent))))(each * 0)]

    agree(program)


@pytest.mark.parametrize("name", ["pow", "float_power"])
def test_exponents_0_and_1_in_a_tensor(name):
    """The derivatives are those of exponents that are numbers. torch has NaN, 0 * inf, from the second order on for
    x ** 0, and from the third for x ** 1."""
    for exponent in (0.0, 1.0):
        each = jaxvjp.full((len(BASES),), exponent, dtype=jaxvjp.float64)
        power = getattr(jaxvjp, name)
        found = orders(jaxvjp, lambda x, power=power, each=each: power(x, each), BASES)
        wanted = orders(jaxvjp, lambda x, power=power, exponent=exponent: power(x, exponent), BASES)
        assert [value.tolist() for value in found] == [value.tolist() for value in wanted]
        assert not any(value.isnan().any() for value in found)


@pytest.mark.parametrize("name", ["pow", "float_power"])
@pytest.mark.parametrize("base", [0, 0.0, 1, 2.0, 0.5])
def test_of_exponents(name, base):
    def program(torch):
        power = getattr(torch, name)
        exponents, each = (0.0, 1.0, 2.0, 0.5), torch.tensor([float(base)] * 4, dtype=torch.float64)
        return orders(torch, lambda y: power(base, y), exponents), orders(torch, lambda y: power(each, y), exponents)

    agree(program)


@pytest.mark.parametrize("name", ["pow", "float_power"])
def test_mixed_derivatives(name):
    """By the base and then by the exponent, as a Hessian has them."""

    def program(torch):
        def f(pair):
            return getattr(torch, name)(pair[0], pair[1])

        pairs = [(0.0, 1.0), (0.0, 2.0), (0.0, 3.0), (2.0, 0.0), (2.0, 1.0), (1.0, 0.0)]
        return [torch.autograd.functional.hessian(f, torch.tensor(each, dtype=torch.float64)) for each in pairs]

    agree(program)


@pytest.mark.parametrize("name", ["xlogy", "special.xlog1py", "special.entr"])
def test_products_with_logarithms(name):
    def program(torch):
        function = torch
        for part in name.split("."):
            function = getattr(function, part)
        if name.endswith("entr"):
            return orders(torch, function, (0.0, 0.5, 1.0, 2.0))
        zeros, twos = (torch.tensor([each] * 4, dtype=torch.float64) for each in (0.0, 2.0))
        found = [orders(torch, lambda x, y=y: function(y, x), (0.0, 0.5, 1.0, 2.0)) for y in (zeros, twos)]
        found += [orders(torch, lambda x, y=y: function(x, y), (0.0, 0.5, 1.0, 2.0)) for y in (twos, twos + 1)]
        return [*found, orders(torch, lambda x: function(0, x), (0.5, 1.0))]

    agree(program)


def test_other_powers():
    def program(torch):
        functions = [torch.square, torch.reciprocal, torch.sqrt, lambda x: x.prod()[None], lambda x: x.cumprod(0)]
        functions += [lambda x: torch.linalg.matrix_power(torch.diag(x), 3).diagonal()]
        functions += [lambda x: torch.linalg.vector_norm(x[:, None], 3, dim=1), lambda x: x**2 + x**0 + x**1]
        return [orders(torch, f, (2.0, 3.0, 0.0) if at != 2 else (2.0, 3.0)) for at, f in enumerate(functions)]

    agree(program)

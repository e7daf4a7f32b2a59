"""A write to what a transform read: torch's error where its backward would read the old contents, else none."""

from __future__ import annotations

import importlib

import pytest
from oracle import agree

import jaxvjp


def checkpoint(torch):
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint


FUNCTIONS = {
    "x * x": lambda x: x * x,
    "tanh": lambda x: x.tanh(),
    "sin(x) * x": lambda x: x.sin() * x,
    "exp": lambda x: x.exp(),
    "1 / x": lambda x: 1 / x,
    "product": lambda x: x.reshape(-1, 1) @ x.reshape(1, -1),
    "views": lambda x: x.view(-1) * x.view(-1),
    "relu": lambda x: x.relu(),
    "cumsum": lambda x: x.cumsum(0),
}
TRANSFORMS = {
    "none": lambda torch, f: f,
    "vmap": lambda torch, f: torch.func.vmap(f),
    "grad": lambda torch, f: torch.func.grad(lambda x: f(x).sum()),
    "jvp": lambda torch, f: lambda a: torch.func.jvp(f, (a,), (torch.ones(3, 2),))[1],
    "vjp": lambda torch, f: lambda a: torch.func.vjp(f, a)[1](torch.ones_like(f(a.detach())))[0],
    "checkpoint": lambda torch, f: lambda a: checkpoint(torch)(f, a, use_reentrant=False),
    "vmap of grad": lambda torch, f: torch.func.vmap(torch.func.grad(lambda row: f(row).sum())),
    "grad of vmap": lambda torch, f: torch.func.grad(lambda x: torch.func.vmap(f)(x).sum()),
}
WRITES = {
    "add_": lambda torch, a: a.detach().add_(1),
    "a part": lambda torch, a: a.detach()[0].mul_(2),
    "t_": lambda torch, a: a.detach().t_(),
    "none": lambda torch, a: None,
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_write_to_what_a_transform_read(transform, write):
    def program(torch):
        return [outcome(torch, transform, function, write) for function in FUNCTIONS.values()]

    overwritten = [each for each in agree(program).value if "modified by an inplace operation" in str(each)]
    assert bool(overwritten) is (write != "none")


def arguments_that_their_function_writes(torch):
    def f(a):
        with torch.no_grad():
            a[0] = 5.0
        return (a**2).sum()

    func, found = torch.func, []
    for transform in (
        func.grad(f),
        func.jacrev(f),
        func.hessian(f),
        lambda x: func.vjp(f, x)[1](torch.tensor(1.0)),
        lambda x: func.grad(f)(x[1:]),
        func.grad(lambda x: x.detach_().sum()),
        lambda x: torch.vmap(func.grad(f))(x.reshape(3, 1)),
    ):
        x = torch.tensor([1.0, 2.0, 3.0])
        found.append((transform(x), x))
    assert not any(each.requires_grad for pair in found for each in pair if isinstance(each, torch.Tensor))
    return found


def test_an_argument_that_is_written_is_written_outside():
    agree(arguments_that_their_function_writes)


def test_a_write_of_an_argument_that_requires_a_gradient_outside_is_refused():
    x = jaxvjp.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"wrote its argument under no_grad"):
        jaxvjp.func.grad(lambda a: [a.detach().mul_(2), a.sum()][1])(x)


def outcome(torch, transform, function, write):
    a = torch.full((3, 2), 0.5, requires_grad=True)
    b = TRANSFORMS[transform](torch, function)(a)
    WRITES[write](torch, a)
    try:
        b.sum().backward()
    except RuntimeError as error:
        return str(error).splitlines()[0].partition(":")[0]
    return a.grad + 0  # torch may have zeros there without memory

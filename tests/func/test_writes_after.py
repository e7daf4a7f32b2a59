"""A write to what a transform read: torch's error where its backward would read the old contents, else none."""

from __future__ import annotations

import importlib

import pytest
from oracle import agree


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


def outcome(torch, transform, function, write):
    a = torch.full((3, 2), 0.5, requires_grad=True)
    b = TRANSFORMS[transform](torch, function)(a)
    WRITES[write](torch, a)
    try:
        b.sum().backward()
    except RuntimeError as error:
        return str(error).splitlines()[0].partition(":")[0]
    return a.grad + 0  # torch may have zeros there without memory

"""Whether a tangent requires a gradient where a primal does, as torch has it, and what arrives there."""

from __future__ import annotations

import pytest
from functions import leaf
from oracle import agree

FUNCTIONS = {
    "times 3": lambda torch, x: x * 3,
    "over 2": lambda torch, x: x / 2,
    "plus 1": lambda torch, x: x + 1,
    "square": lambda torch, x: x * x,
    "sine": lambda torch, x: x.sin(),
    "sum": lambda torch, x: x.sum(),
    "part": lambda torch, x: x[0],
    "of a matrix": lambda torch, x: torch.ones(2, 2) @ x,
    "relu": lambda torch, x: x.relu(),
    "itself": lambda torch, x: x,
    "constant": lambda torch, x: torch.ones(2),
    "stack": lambda torch, x: torch.stack([x, x]),
    "detached": lambda torch, x: x.detach() * 2,
    "where": lambda torch, x: torch.where(x > 0, x, x * 2),
    "largest": lambda torch, x: x.max(),
    "linear": lambda torch, x: torch.nn.functional.linear(x, torch.ones(3, 2)),
    "several": lambda torch, x: (x * 3, x + 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_a_function(name):
    def program(torch):
        told = []
        for primal, tangent in ((True, True), (True, False), (False, True), (False, False)):
            x, t = leaf(torch).requires_grad_(primal), leaf(torch, 1.0, 3.0).requires_grad_(tangent)
            told.append(torch.func.jvp(lambda x: FUNCTIONS[name](torch, x), (x,), (t,)))
        return told

    agree(program)


def test_what_is_captured_and_what_arrives():
    def program(torch):
        w, x, ones = leaf(torch, 2.0, 3.0), leaf(torch), torch.ones(2)
        captured = [torch.func.jvp(f, (ones,), (ones,)) for f in (lambda x: x * w, lambda x: x + w)]
        _, tangent = torch.func.jvp(lambda x: x * 3, (x,), (ones,))
        forward = torch.autograd.forward_ad
        with forward.dual_level():
            dual = forward.unpack_dual(forward.make_dual(x, ones) * 3)
        with torch.no_grad():
            untracked = torch.func.jvp(lambda x: x * 3, (x,), (ones,))
        told = [(each.requires_grad, each.clone()) for each in dual]
        return captured, told, untracked, torch.autograd.grad(tangent.sum(), x)[0] + 0

    agree(program)


def told(results):
    results = results if isinstance(results, tuple) else (results,)
    return [(each.requires_grad, each.clone()) for each in results]


@pytest.mark.parametrize("name", [each for each in FUNCTIONS if each not in ("of a matrix", "linear")])
def test_of_a_jacobian(name):
    def program(torch):
        found = []
        for required in (True, False):
            x = leaf(torch).requires_grad_(required)
            called = lambda x: FUNCTIONS[name](torch, x)  # noqa: E731
            found.append(told(torch.func.jacfwd(called)(x)))
            # without the products of 0
            found.append(told(torch.func.linearize(called, x)[1](torch.ones(2))))
        return found

    agree(program)


CURVED = {
    "cubes": lambda torch, x: (x**3).sum(),
    "lengths": lambda torch, x: x.abs().sum(),
    "above": lambda torch, x: x.relu().sum(),
    "products": lambda torch, x: (x * x).sum(),
    "waves": lambda torch, x: (x.sin() * 2).sum(),
}


@pytest.mark.parametrize("name", CURVED)
def test_of_a_hessian(name):
    def program(torch):
        found = []
        for required in (True, False):
            x = leaf(torch).requires_grad_(required)
            found.append(told(torch.func.hessian(lambda x: CURVED[name](torch, x))(x)))
        return found

    agree(program)


def test_of_jacobians_of_what_is_captured_and_of_several_arguments():
    def program(torch):
        w, x, ones = leaf(torch, 2.0, 3.0), leaf(torch), torch.ones(2)
        several = torch.func.jacfwd(lambda x, y: (x + 2 * y).sum(), argnums=(0, 1))
        arguments = [told(several(*pair)) for pair in ((x, ones), (ones, x), (ones, ones))]
        captured = [told(torch.func.jacfwd(f)(ones)) for f in (lambda v: v * w, lambda v: v + w, lambda v: (v + w) * 3)]
        mapped = torch.func.vmap(torch.func.jacfwd(lambda v: v * 3))(torch.stack([x, w]))
        (arrived,) = torch.autograd.grad(torch.func.jacfwd(lambda v: v * 3)(x).sum(), x)
        return arguments, captured, mapped.requires_grad, arrived + 0

    agree(program)


def test_a_tangent_by_a_double_transpose_does_not():
    def program(torch):
        x = leaf(torch)
        functions = (lambda x: x * 3, lambda x: x.sin(), lambda x: x.sum(), lambda x: torch.stack([x, x * x]))
        return [told(torch.autograd.functional.jvp(f, x, torch.ones(2), create_graph=True)) for f in functions]

    agree(program)

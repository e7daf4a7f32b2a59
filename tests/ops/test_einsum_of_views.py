"""`einsum` of one operand is a view; of several it multiplies elements where no label is summed over; `tensordot` by
dimensions in a tensor."""

from __future__ import annotations

import pytest
from oracle import agree

VIEWS = {
    "ij->ji": (2, 3),
    "ij->ij": (2, 3),
    "ij": (2, 3),
    "ba": (2, 3),
    "i->i": (3,),
    "ii->i": (3, 3),
    "iii->i": (2, 2, 2),
    "iij->ji": (2, 2, 3),
    "ijkj->jik": (2, 3, 4, 3),
    "...i->i...": (2, 3, 4),
    "...ii->i...": (4, 3, 3),
}


@pytest.mark.parametrize("equation", VIEWS)
def test_an_equation_that_sums_nothing_gives_a_view(equation):
    def program(torch):
        x = torch.zeros(VIEWS[equation])
        y = torch.einsum(equation, x)
        y.copy_(torch.arange(float(y.numel())).reshape(y.shape))
        return x, y.stride(), y._is_view(), x._version

    def gradient(torch):
        a = torch.ones(VIEWS[equation], requires_grad=True)
        y = torch.einsum(equation, a * 1)
        (y * torch.arange(float(y.numel())).reshape(y.shape)).sum().backward()
        return a.grad, y.grad_fn.name()

    agree(program)
    agree(gradient)


@pytest.mark.parametrize("equation", ["ii", "ij->i", "ij->", "...i->i", "iij->i"])
def test_an_equation_that_sums_gives_none(equation):
    def program(torch):
        sizes = {"...i->i": (2, 3), "ij->i": (2, 3), "ij->": (2, 3), "iij->i": (2, 2, 3)}
        x = torch.ones(sizes.get(equation, (2, 2)))
        y = torch.einsum(equation, x)
        return y._is_view(), y.add_(1), x

    agree(program)


def test_sizes_of_a_repeated_subscript():
    agree(lambda torch: torch.einsum("ii->i", torch.ones(2, 3)), raises=RuntimeError)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "bool", "int64"])
@pytest.mark.parametrize("equation", ["ij->i", "ij->", "ii", "ij->ji", "i,j->ij", "i,i->i", "i,i", "ij,j->i", "ij,jk"])
def test_integers(equation, dtype):
    def program(torch):
        full = 200 if dtype == "uint8" else 1
        parts = equation.partition("->")[0].split(",")
        return torch.einsum(equation, *[torch.full((2,) * len(each), full).to(getattr(torch, dtype)) for each in parts])

    agree(program)


@pytest.mark.parametrize(
    "types", [("int64", "float32"), ("float32", "float64"), ("bool", "float32"), ("int32", "int64"), ("uint8", "int8")]
)
@pytest.mark.parametrize("equation", ["i,j->ij", "i,i->i", "ij,j->ij", "i,->i", ",->", "i,j->i", "i,i->", "ij,j->i"])
def test_two_types(equation, types):
    def program(torch):
        parts = equation.partition("->")[0].split(",")
        operands = [
            torch.ones((2,) * len(each)).to(getattr(torch, own)) for each, own in zip(parts, types, strict=True)
        ]
        return torch.einsum(equation, *operands)

    agree(program)


@pytest.mark.parametrize("equation", ["...i,...i", "...,...", "i,i"])
def test_sizes_behind_an_ellipsis(equation):
    def program(torch):
        shapes = ((5,), (4,)) if equation == "i,i" else ((5, 2), (4, 2))
        return torch.einsum(equation, *map(torch.ones, shapes))

    agree(program, raises=RuntimeError)


@pytest.mark.parametrize("dims", [[[1], [0]], [1], 1, [[0, 1], [1, 0]]])
def test_contracted_dimensions_in_a_tensor(dims):
    def program(torch):
        x = torch.arange(6.0).reshape(2, 3)
        y = x.T.clone() if dims == [[0, 1], [1, 0]] else torch.arange(12.0).reshape(3, 4)
        return torch.tensordot(x, y, torch.tensor(dims)), torch.tensordot(x, y, dims=dims if dims != [1] else 1)

    agree(program)

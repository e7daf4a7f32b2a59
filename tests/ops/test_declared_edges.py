"""Where torch's answer is left by its memory, its instructions or a mistake, and another one is given on purpose; the
sentences are in "At the edges" of docs/operators.md."""

from __future__ import annotations

from math import isnan, nan

import pytest
from oracle import Outcome, theirs

import jaxvjp


def both(program):
    return theirs(program).value, Outcome(program, jaxvjp).value


def test_a_write_ends_the_gradient():
    def program(torch):
        grads = []
        for write in (lambda f: f.zero_(), lambda f: f.copy_(torch.zeros(2)), lambda f: f.__setitem__(slice(None), 0)):
            x = torch.tensor([0.0, 100.0], requires_grad=True)
            f = torch.log(torch.exp(x) + 1)
            write(f)
            f.sum().backward()
            grads.append(x.grad.tolist())
        return grads

    torch_s, given = both(program)
    assert all(isnan(each[1]) for each in torch_s)
    assert given == [[0.0, 0.0]] * 3


def test_distances_of_rows_from_themselves():
    def program(torch):
        x = torch.arange(150.0).reshape(30, 5).sin() + 100
        return (torch.cdist(x, x).diagonal().max() > 1e-3).item()

    assert both(program) == (True, False)


def test_complex_numbers_divided_by_zero():
    given = Outcome(lambda torch: (1j / torch.tensor([0.0, 2.0])).tolist(), jaxvjp).value
    assert isnan(given[0].real)
    assert isnan(given[0].imag)
    assert given[1] == 0.5j


def test_the_gradient_of_a_determinant_that_is_zero():
    def program(torch):
        a = torch.tensor([[1.0, 2], [2, 4]], dtype=torch.float64, requires_grad=True)
        torch.linalg.det(a).backward()
        return a.grad.tolist()

    torch_s, given = both(program)
    assert torch_s == [[0.0, 0.0], [0.0, 0.0]]
    assert given == [[pytest.approx(each) for each in row] for row in ([4, -2], [-2, 1])]


def test_boundaries_with_nan():
    def program(torch):
        return torch.searchsorted(torch.tensor([1.0, nan]), torch.tensor([0.0, 2.0, nan])).tolist()

    assert both(program) == ([2, 2, 2], [0, 1, 2])


def test_windows_that_overlap_are_not_written():
    def program(torch):
        x = torch.arange(4.0)
        x.unfold(0, 2, 1).mul_(2)
        return x.tolist()

    torch_s, given = theirs(program).value, Outcome(program, jaxvjp)
    assert torch_s == [0.0, 4.0, 8.0, 6.0]  # once for each window, one after another
    assert "more than one element of the written-to tensor refers to a single memory location" in str(given.error)


@pytest.mark.parametrize("name", ["cond", "matrix_norm"])
def test_matrices_with_nan(name):
    def program(torch):
        given = {"ord": 2} if name == "matrix_norm" else {}
        return getattr(torch.linalg, name)(torch.tensor([[1.0, nan], [2.0, 3.0]]), **given).item()

    assert theirs(program).raised
    assert isnan(Outcome(program, jaxvjp).value)


def test_a_triangle_that_is_none():
    def program(torch):
        found = torch.linalg.cholesky_ex(torch.tensor([[1.0, 2], [2, 1]]))
        return found.info.item(), found.L[1, 1].item()

    torch_s, given = both(program)
    assert torch_s[0] == given[0] == 2
    assert isnan(given[1])


def test_bags_whose_offsets_decrease():
    """torch reads another number of rows than there are."""

    def program(torch):
        table = torch.arange(5.0)[:, None]
        return torch.nn.functional.embedding_bag(torch.arange(5), table, torch.tensor([0, 4, 2]), mode="sum").shape

    assert Outcome(program, jaxvjp).value == [3, 1]


def test_the_slope_of_a_magnitude():
    def program(torch):
        size, angle = torch.tensor([0.0, -2.0, 3.0], requires_grad=True), torch.full((3,), 0.5)
        _, forward = torch.func.jvp(lambda size: torch.polar(size, angle).real, (size,), (torch.ones(3),))
        torch.polar(size, angle).real.sum().backward()
        return forward.tolist(), size.grad.tolist()

    (torch_s_forward, torch_s), (forward, given) = both(program)
    slope = pytest.approx(0.8775826)
    assert torch_s_forward == forward == given == [slope] * 3
    assert torch_s == [0.0, pytest.approx(-0.8775826), slope]

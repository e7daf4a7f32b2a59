"""A second backward pass without `retain_graph`: allowed where torch saves nothing, as for `x % 2`."""

from __future__ import annotations

import pytest
from oracle import agree


def leaf(torch, *shape):
    return torch.linspace(0.3, 0.9, 6).reshape(2, 3)[: shape[0] if shape else 2].clone().requires_grad_()


WITH_NUMBERS = (
    "x % 2, x / 2, 2 / x, x * 2, 2 * x, x - 1, 1 - x, x + 1, x // 2, -x, abs(x), x ** 0, x ** 1, x ** 2, x ** 0.5, "
    "2 ** x, 1 ** x, 0 ** x, x * True, x % torch.tensor(2.0), x * torch.tensor(2.0)"
)
ONES = "torch.ones(2, 3)"
CALLS = (
    f"x % {ONES}; {ONES} % x; torch.fmod(x, 2); torch.fmod(x, {ONES}); torch.fmod({ONES}, x); "
    f"torch.div(x, 2, rounding_mode='trunc'); torch.div(x, {ONES}, rounding_mode='floor'); "
    f"torch.div({ONES}, x, rounding_mode='floor'); torch.nextafter({ONES}, x); torch.nextafter(x, {ONES}); "
    f"torch.addcmul(x, {ONES}, {ONES}); torch.addcmul({ONES}, x, {ONES}); torch.addcdiv(x, {ONES}, {ONES}); "
    f"torch.addmm(x, torch.ones(2, 2), {ONES}); torch.addmm({ONES}, torch.ones(2, 2), x); "
    f"torch.addmv(x[:, 0], torch.ones(2, 2), torch.ones(2)); torch.addr(x, torch.ones(2), torch.ones(3)); "
    f"torch.baddbmm(x[None], torch.ones(1, 2, 2), {ONES}[None]); torch.nn.functional.pad(x, (1, 1)); "
    "torch.nn.functional.pad(x, (1, 1), value=2.0); torch.nn.functional.pad(x, (1, 1), mode='reflect'); "
    "torch.nn.functional.pad(x, (1, 1), mode='circular'); x.clone().remainder_(2); x.clone().fmod_(2); "
    "x.clone().mul_(2); x.clone().sub_(2); torch.nn.functional.linear(torch.ones(3, 3), torch.ones(3, 3), x[0]); "
    f"torch.nn.functional.linear(x, {ONES}); torch.nn.functional.linear({ONES}, x); "
    "torch.nn.functional.conv1d(torch.ones(1, 1, 4), torch.ones(3, 1, 2), x[0]); "
    "torch.nn.functional.conv1d(x[None], torch.ones(3, 2, 2)); "
    f"torch.nn.functional.bilinear({ONES}, {ONES}, torch.ones(3, 3, 3), x[0]); "
    f"torch.nn.functional.bilinear(x, {ONES}, torch.ones(3, 3, 3)); "
    "x.index_add(0, torch.tensor([0]), torch.ones(1, 3)); torch.ones(3, 3).index_add(0, torch.tensor([0, 1]), x); "
    "x.scatter_add(0, torch.tensor([[0, 1, 0]]), torch.ones(1, 3)); "
    f"{ONES}.scatter_add(0, torch.tensor([[0, 1, 0], [1, 0, 1]]), x); torch.trapezoid(x); torch.trapezoid(x, dx=2.0); "
    f""
    "torch.nn.functional.interpolate(x[None], scale_factor=2, mode='area'); "
    "torch.nn.functional.interpolate(x[None], scale_factor=2, mode='nearest'); torch.lerp(x, x + 1, 0.3)"
)
PROGRAMS = [*WITH_NUMBERS.split(", "), *CALLS.split("; ")]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_backward(name):
    def program(torch):
        x = leaf(torch)
        y = eval(name, {"torch": torch, "x": x}).sum()
        told = []
        for _ in range(2):
            try:
                y.backward()
            except RuntimeError as error:
                told.append(str(error).partition(".")[0])
        return told, x.grad

    agree(program)


@pytest.mark.parametrize("name", ["x % y", "torch.fmod(x, y)", "torch.addcmul(x, y, y)", "torch.addmm(x, x @ x.T, y)"])
@pytest.mark.parametrize("tracked", ["first", "second", "both"])
def test_what_requires_a_gradient_decides(name, tracked):
    def program(torch):
        x = leaf(torch).requires_grad_(tracked != "second")
        y = (leaf(torch).detach() + 1).requires_grad_(tracked != "first")
        result = eval(name, {"torch": torch, "x": x, "y": y})
        told = []
        for _ in range(2):
            try:
                told += torch.autograd.grad(result.sum(), [each for each in (x, y) if each.requires_grad])
            except RuntimeError as error:
                told.append(str(error).partition(".")[0])
        return told

    agree(program)


@pytest.mark.parametrize(
    "name", ["x % 2", "torch.fmod(x, 2)", "torch.nn.functional.pad(x, (1, 1))", "torch.addcmul(x, y, y)"]
)
def test_what_is_not_saved_may_be_written(name):
    def program(torch):
        leaf_ = leaf(torch)
        x, y = leaf_ * 1, torch.ones(2, 3)
        result = eval(name, {"torch": torch, "x": x, "y": y})
        x.add_(1)
        y.add_(1)
        result.sum().backward()
        return leaf_.grad

    agree(program)


@pytest.mark.parametrize("create_graph", [False, True])
def test_an_input_that_is_named_twice_gets_one_tensor(create_graph):
    def program(torch):
        x, y = leaf(torch), leaf(torch)
        first, other, again = torch.autograd.grad((x * y).sum(), [x, y, x], create_graph=create_graph)
        unused = torch.autograd.grad((x * 2).sum(), [x, y, y, x], allow_unused=True, create_graph=create_graph)
        return first is again, first is other, first, other, again, unused[0] is unused[3], unused[1:3]

    agree(program)


P = "torch.tensor([0.0, 1.0, 3.0])"
COMPOSED = (
    f"torch.trapezoid(x, {P}); torch.trapezoid({P}, x[0]); torch.trapezoid(x, x); torch.trapezoid(x, {P}[:2], dim=0); "
    f"torch.trapezoid(y=x, x={P}); torch.cumulative_trapezoid(x); torch.cumulative_trapezoid(x, dx=0.5); "
    f"torch.cumulative_trapezoid(x, {P}); torch.cumulative_trapezoid({P}, x[0]); "
    "torch.combinations(x[0]); torch.combinations(x[0], 1); torch.combinations(x[0], 0); torch.combinations(x[0], 4); "
    "torch.combinations(x[0], 3, with_replacement=True); torch.cartesian_prod(x[0], x[1]); "
    f"torch.gradient(x)[0]; torch.gradient(x, spacing=0.5)[1]; torch.gradient(x, spacing=({P}[:2], {P}))[0]; "
    f"torch.gradient(x[0], spacing=({P},), edge_order=2)[0]; "
    "torch.einsum('ij->i', x); torch.einsum('ij->', x); torch.einsum('ii->i', x[:, :2]); torch.einsum('ii', x[:, :2]); "
    "torch.einsum('ij,ij->i', x, x); torch.einsum('ij,k->ik', x, torch.ones(2))"
)


@pytest.mark.parametrize("name", COMPOSED.split("; "))
def test_a_second_backward_through_what_torch_composes(name):
    def program(torch):
        x = leaf(torch)
        y = eval(name, {"torch": torch, "x": x})
        told = [y.requires_grad, type(y.grad_fn).__name__]
        for _ in range(2):
            try:
                y.sum().backward()
            except RuntimeError as error:
                told.append(str(error).splitlines()[0])
        return told, x.grad

    agree(program)


def test_a_second_backward_through_what_is_put_into_a_copy():
    def program(torch):
        told = []
        for given in (lambda x: (x, torch.ones(2)), lambda x: (torch.ones(4), x[0, :2]), lambda x: (x * 2, x[1, 1:])):
            x = leaf(torch)
            y = torch.as_strided_scatter(*given(x), (2,), (1,), 1).sum()
            y.backward()
            y.backward()
            told.append(y.detach())
        return told

    agree(program)


def test_what_was_saved_is_not_what_was_given():
    """torch saves the distances of the points and the sums of neighbours, so both operands may be written."""

    def program(torch):
        y, points = leaf(torch) * 1, torch.tensor([0.0, 1.0, 3.0])
        area = torch.trapezoid(y, points)
        area.mul_(2)
        points.add_(1)
        pairs = torch.combinations(y[0])
        y.add_(1)
        return torch.autograd.grad(area.sum(), y, retain_graph=True)[0], pairs.sum().backward()

    agree(program)

"""Views: storage shared in both directions, gradients through writes, in-place changes of shape."""

from __future__ import annotations

import pytest
from oracle import agree

DATA = [[0.5, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]

VIEWS = [
    "x.unfold(1, 2, 2)",
    "x.as_strided((2, 2), (1, 2))",
    "x[:, 1:].as_strided((2,), (2,))",
    "torch.linalg.diagonal(x)",
    "x.diagonal(1)",
    "x.flatten()",
    "x.ravel()",
    "x.unflatten(1, (2, -1))",
    "x.movedim((0, 1), (1, 0))",
    "torch.swapaxes(x, 0, 1)",
    "x.swapdims(0, 1)[0]",
    "x.mT",
    "x.adjoint()",
    "torch.tensor_split(x, (1, 3), 1)[1]",
    "x.hsplit(2)[0]",
    "torch.atleast_3d(x)",
    "torch.broadcast_to(x, (2, 4))",
    "x.t().reshape(8)",
    "x.squeeze((0, 1))",
    "x.narrow(1, -3, 2)",
    "torch.meshgrid(x[0], x[1])[0]",
    "torch.broadcast_tensors(x[0], x)[1]",
]

IN_PLACE = [
    "x.t_()",
    "x.transpose_(0, 1)",
    "x.swapaxes_(0, 1)",
    "x.unsqueeze_(0).squeeze_((0,))",
    "x.as_strided_((2, 2), (1, 2))",
    "x[:, 1:].t_()",
    "x[:, 1:].as_strided_((2,), (2,), 1)",
    "x.detach().resize_(2, 2)",
    "x.detach().resize_as_(x[0])",
    "x.resize_(2, 2)",
    "x.fill_diagonal_(2.0)",
    "x.t().fill_diagonal_(2.0, wrap=True)",
    "x.tril_(-1)",
    "x.index_put_((torch.tensor([1, 1]),), x[0] * 1, accumulate=True)",
    "x.scatter_reduce_(1, torch.tensor([[0, 0, 1, 1]]), x[:1] * 2, 'prod')",
    "x.index_reduce_(0, torch.tensor([0, 0]), x * 2, 'mean')",
    "leaf.t_()",
    "torch.unbind(x, 1)[2].mul_(2)",
    "x.split((1, 3), 1)[0].mul_(2)",
    "torch.split(x, 2)[0][0].mul_(2)",
]


@pytest.mark.parametrize("change", ["part.mul_(3)", "part[0] = leaf[0, 0] * 2", "x.mul_(part.sum())"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_shares_its_storage_in_both_directions(view, change):
    def program(torch):
        leaf = torch.tensor(DATA, requires_grad=True)
        x = leaf * 1
        names = {"torch": torch, "x": x, "leaf": leaf}
        names["part"] = part = eval(view, names)
        exec(change, names)
        both = torch.autograd.grad((x * x).sum(), leaf, retain_graph=True), torch.autograd.grad((part**2).sum(), leaf)
        return x, part, both, part._is_view(), part.stride(), part.storage_offset(), part.is_contiguous()

    agree(program, 1e-5, 1e-5)


@pytest.mark.parametrize("call", IN_PLACE)
def test_a_tensor_changes_its_shape_or_part_of_it_in_place(call):
    def program(torch):
        leaf = torch.tensor(DATA, requires_grad=True)
        x = leaf * 1
        result = eval(call, {"torch": torch, "x": x, "leaf": leaf})
        squares = result * result
        return result, squares, torch.autograd.grad(squares.sum(), leaf) if squares.requires_grad else None

    agree(program, 1e-5, 1e-5)


def test_what_as_strided_shows_beyond_its_view_has_no_gradient_there():
    def program(torch):
        leaf = torch.tensor(DATA, requires_grad=True)
        part = (leaf * 1)[:, 1:]
        seen = part.as_strided((3,), (1,), 0)
        return seen, torch.autograd.grad(seen.sum(), leaf), torch.as_strided_copy(part, (2,), (3,), 1)

    agree(program)


@pytest.mark.parametrize(
    "view",
    [
        "x.view(2, 3).as_strided((2, 2), (1, 2), 1)",
        "x.as_strided((2, 3, 2), (0, 1, 0), 3)",
        "x.expand(4, 6).as_strided((2, 3), (1, 2), 0)",
        "x.view(2, 3)[1].expand(3, 3).as_strided((2, 3), (0, 1), 3)",
        "x.unfold(0, 4, 1).as_strided((6,), (1,), 0)",
    ],
)
def test_as_strided_has_tangents_and_divides_the_gradient_of_what_is_shown_twice(view):
    def program(torch):
        forward_ad = torch.autograd.forward_ad
        x = torch.tensor([1.0, -2.0, 3.0, float("inf"), 5.0, -6.0], requires_grad=True)
        (gradient,) = torch.autograd.grad((eval(view) * 3).sum(), x)
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(
                eval(view, {"x": forward_ad.make_dual(x.detach(), torch.arange(6.0))})
            ).tangent
        return gradient, tangent

    agree(program)


def test_a_shape_does_not_change_under_another_tensor():
    def program(torch):
        x = torch.zeros(2, 3)
        row = x[0]
        x.t_()
        x[1, 0] = 5.0
        return x, row

    agree(program)


@pytest.mark.parametrize("transform", ["jvp", "vmap"])
def test_views_inside_of_transforms(transform):
    def program(torch):
        def function(x):
            return x.view(2, 2).t().reshape(-1) * x.unfold(0, 2, 2).flatten()

        batch = torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
        return (
            torch.vmap(function)(batch) if transform == "vmap" else torch.func.jvp(function, (batch[0],), (batch[1],))
        )

    agree(program)

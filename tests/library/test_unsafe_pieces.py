"""`unsafe_split` and its like: pieces on the same memory that are no views of it."""

from __future__ import annotations

import pytest
from oracle import agree

PIECES = [("unsafe_split", 2), ("unsafe_chunk", 2), ("unsafe_split_with_sizes", [1, 3])]


@pytest.mark.parametrize(("name", "how"), PIECES)
def test_pieces_share_memory(name, how):
    def program(torch):
        x = torch.arange(4.0)
        first, second = getattr(x, name)(how)
        first.zero_()
        second.mul_(10)
        seen = x.clone()
        x.fill_(3)
        return seen, first, second, first._is_view(), first._base is None, x._version, second.data_ptr() == x.data_ptr()

    agree(program)


@pytest.mark.parametrize(("name", "how"), PIECES)
def test_a_write_passes_its_gradient_for_the_piece_alone(name, how):
    def program(torch):
        a = torch.arange(4.0, requires_grad=True)
        whole = a * 1
        first, second = getattr(whole, name)(how)
        first.mul_(5)
        ((first + 1).sum() + second.sum() + 10 * whole.sum()).backward()
        return a.grad, whole, first, whole._version, first._is_view()

    def factors(torch):
        x = torch.arange(4.0)
        first = getattr(torch, name)(x, how)[0]
        w = torch.ones_like(first).requires_grad_()
        first.mul_(w)
        first.sum().backward()
        return w.grad, x, x.requires_grad

    def of_a_leaf(torch):
        x = torch.arange(4.0, requires_grad=True)
        with torch.no_grad():
            getattr(x, name)(how)[0].fill_(7)
        return x, x._version, x.is_leaf

    for each in (program, factors, of_a_leaf):
        agree(each)


def test_pieces_of_a_view():
    def program(torch):
        x = torch.zeros(3, 4)
        x.T.unsafe_split(2)[1].fill_(1)
        x[1].unsafe_chunk(2)[0].fill_(2)
        return x

    agree(program)


@pytest.mark.parametrize("call", ["chunk(3, 1)[2]", "split(1)[1]", "chunk(2)[1]", "unbind(1)[2]"])
def test_which_piece_is_written(call):
    """A last piece that is shorter than the others, and those of `split` by sizes, are not told apart."""

    def program(torch):
        x = torch.ones(4 if call == "chunk(2)[1]" else 3, 3, requires_grad=True).clone()
        eval(f"x.{call}", {"x": x}).mul_(2)

    agree(program, raises=RuntimeError)

"""Functions that torch also has as methods, or as methods alone: those that write to their tensor, and `slogdet`."""

from __future__ import annotations

import pytest
from oracle import agree


def test_cut_off_in_place():
    def program(torch):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        same = torch.detach_(y) is y
        torch.detach_(input=x)
        return same, y.requires_grad, y.is_leaf, y.grad_fn is None, x.requires_grad

    agree(program)


def test_a_view_is_not_cut_off():
    def program(torch):
        torch.detach_((torch.ones(2, requires_grad=True) * 2)[0])

    agree(program)


@pytest.mark.parametrize("arguments", ["3", "", "x, 3", "x, foo=1"])
def test_what_is_no_tensor(arguments):
    agree(lambda torch: eval(f"torch.detach_({arguments})", {"torch": torch, "x": torch.ones(2)}))


@pytest.mark.parametrize("norm_type", [1.0, 2.0, float("inf")])
def test_rows_are_scaled(norm_type):
    def program(torch):
        table = torch.arange(8.0).reshape(4, 2).requires_grad_()
        with torch.no_grad():
            same = torch.embedding_renorm_(table, torch.tensor([[0, 3], [3, 1]]), 1.5, norm_type) is table
        return same, table, table._version

    agree(program)


def test_names_of_the_determinant():
    def program(torch):
        a = torch.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
        found = [torch.slogdet(a), a.slogdet(), torch.linalg.slogdet(a), torch.slogdet(input=a)]
        told = [(type(each).__name__, repr(each.sign.item()), type(each.logabsdet.grad_fn).__name__) for each in found]
        # torch's own, each by its kind
        kinds = (torch.return_types.slogdet, torch.return_types.linalg_slogdet)
        out = torch.slogdet(a.detach(), out=(torch.empty(()), torch.empty(())))
        return told, [isinstance(each, kind) for each, kind in zip(found[1:], kinds, strict=False)], list(out)

    agree(program)


@pytest.mark.parametrize("call", ["torch.slogdet(a)", "torch.slogdet()", "torch.slogdet(3)", "torch.linalg.slogdet(a)"])
def test_refused(call):
    agree(lambda torch: eval(call, {"torch": torch, "a": torch.ones(2, 3)}))

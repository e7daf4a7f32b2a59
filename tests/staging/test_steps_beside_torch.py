"""Steps that random programs were reduced to: each gave something else under `jit`, from its second call on."""

from __future__ import annotations

import textwrap

import pytest
from oracle import agree
from steps import staged

LEAF = "torch.tensor([[1., 2., 3.], [-1., 0.5, 2.]], requires_grad=True)"
VIEW = "torch.arange(6.).reshape(3, 2).t().requires_grad_()"
TURNED = "torch.nn.Parameter(torch.arange(6.).view(2, 3).t())"
PLAIN = "torch.arange(3.)"

STEPS = """
LEAF: return a.t().detach()
VIEW: return a.detach()
VIEW: return a.t(), a.squeeze(), a[1:][0]
LEAF: y = a * 2; return y, y.t(), y.detach(), y[0]
LEAF: y = (a * 2).detach(); z = y.t(); y.t_(); return y, z
LEAF: with torch.no_grad(): e = a.t(); return e
LEAF: return torch.tensor([1., 2.], requires_grad=True), (a * 2).detach().requires_grad_()
LEAF: c = a.detach(); c.copy_(0.5 * a); return c
LEAF: f = a.sum(0); f.backward(torch.ones(3), retain_graph=True); return f
LEAF: f = a.sum(); f.backward(); return f
LEAF: (a * a).sum().backward(create_graph=True)
LEAF: a.grad = torch.ones(2, 3)
LEAF: a.grad = a.detach()
LEAF: a.data = torch.ones(2, 3)
LEAF: (a * a).sum().backward(); a.data = a.data - 0.5 * a.grad; with torch.no_grad(): a -= 0.5 * a.grad
VIEW: a.detach().t_()
TURNED: a.detach().t_()
PLAIN: a.data.mul_(0.5)
TURNED: a.data.mul_(0.5); a.data[0] = 2.; return a @ a.t()
LEAF: a.data.mul_(0.5); return a * 2
LEAF: with torch.no_grad(): a.add_(0.5 * a); return a * 2
LEAF: b = a.squeeze(); with torch.no_grad(): b.add_(0.5 * b); return b
PLAIN: torch.manual_seed(5); return torch.rand(3) * a
LEAF: return a.as_strided((2,), (2,))
LEAF: b = a.chunk(2)[0]; b[..., 1:].detach().copy_(b[..., :2]); return b[0, 0] * 0
LEAF: d = a * 2; e = d.chunk(2)[0]; d.masked_fill_(d > 1., 0.5); return d, e
LEAF: a.detach_(); a.requires_grad_(); return a.view(-1)
LEAF: with torch.no_grad(): c = a.t(); return c, c.unbind(0)[1]
VIEW: a.detach().t_(); a.sum().backward()
LEAF: a.detach().t_(); return (a * a).sum()
PLAIN: d = (a * a).detach()[1:]; return d.unsqueeze(0), d
PLAIN: d = (a * a).detach(); return d[:2], d[1:]
"""


def seen(x):
    """What a program can see of a tensor, and of its gradient."""
    if x is None:
        return None
    grad = None if x.grad is None else (x.grad.detach(), x.grad.requires_grad)
    return x.detach().clone(), x.requires_grad, x.is_leaf, grad


@pytest.mark.parametrize("text", STEPS.strip().splitlines())
def test_a_step_called_again_does_what_it_did(text):
    leaf, _, body = text.partition(": ")
    lines = body.replace("no_grad(): ", "no_grad():\n    ").replace("; ", "\n")

    def program(torch):
        names = {"torch": torch}
        exec(f"def step(a):\n{textwrap.indent(lines, '    ')}\na = {globals()[leaf]}", names)
        a, step = names["a"], names["step"]
        under_jit, told = staged(torch, step, fullgraph=False), []
        for call in [*[under_jit] * 4, step]:
            given = call(a)
            given = given if isinstance(given, tuple) else (given,)
            told.append([[seen(each) for each in (*given, a)], [each is a for each in given], a._version])
            if len(given) > 1 and not any(each.requires_grad for each in given):
                given[0].add_(1)  # those that share memory with it change, too
                told.append([each.clone() for each in given])
        return told

    agree(program)


def test_a_view_that_may_not_be_read_may_not_be_read_after_a_later_call():
    def program(torch):
        def step(a):
            result = a.tanh()
            with torch.no_grad():
                view = result.t()
            result.add_(a)
            return result, view

        leaf, under_jit, told = torch.ones(2, 3, requires_grad=True), staged(torch, step, fullgraph=False), []
        for _ in range(4):
            try:
                told.append(under_jit(leaf)[1] * 2)
            except RuntimeError as error:
                told.append(str(error).partition("\n")[0])
        return told

    agree(program)


def test_a_piece_that_may_not_be_read_is_returned_as_one():
    def program(torch):
        def step(a):
            piece = a.unbind(0)[1]
            a.detach().copy_(0.5 * a)
            return piece

        leaf = torch.nn.Parameter(torch.arange(6.0).view(2, 3).t())
        under_jit, told = staged(torch, step, fullgraph=False), []
        for _ in range(4):
            piece = under_jit(leaf)
            try:
                told.append(piece * 2)
            except RuntimeError as error:
                told.append(str(error).partition(". ")[0])
        return told, leaf.detach()

    agree(program)

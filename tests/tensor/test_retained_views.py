"""`retain_grad` and hooks of a view that is written in place, or whose base or part is: they go on with what is read
of the view afterwards, and are no part of the write."""

from __future__ import annotations

import pytest
from oracle import agree

WRITES = {
    "a part": lambda x, v: v[1:].mul_(3),
    "a part of a part": lambda x, v: v[1:][:1].mul_(3),
    "the base": lambda x, v: x.mul_(3),
    "another view": lambda x, v: x[2:].mul_(3),
    "the view": lambda x, v: v.mul_(3),
    "the view, then the base": lambda x, v: (v.mul_(3), x.mul_(2)),
    "the base, then the view": lambda x, v: (x.mul_(3), v.mul_(2)),
    "the view, and it retains again": lambda x, v: (v.mul_(3), v.retain_grad()),
    "nothing": lambda x, v: None,
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("watched", ["retained", "hook", "both"])
@pytest.mark.filterwarnings("ignore")
def test_what_a_write_leaves(watched, read, write):
    def program(torch):
        a, seen = torch.arange(4.0).requires_grad_(), []
        x = a * 2
        v = x[1:]
        if watched != "hook":
            v.retain_grad()
        if watched != "retained":
            v.register_hook(lambda gradient: seen.append(gradient.clone()))
        WRITES[write](x, v)
        if read:
            (v * 5).sum().backward(retain_graph=True)
        x.sum().backward()
        return v.grad, a.grad, v.retains_grad, seen

    agree(program)

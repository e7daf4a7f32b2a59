"""Hooks and cotangents that give a tensor which requires a gradient: what becomes of it in `grad`."""

from __future__ import annotations

import pytest
from oracle import agree


def told(*tensors):
    return [(each, each.requires_grad, each.is_leaf) for each in tensors]


def setting(torch):
    return torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([2.0, 3.0], requires_grad=True)


def recorded_by(torch, w):
    def hook(gradient):
        with torch.enable_grad():
            return gradient * w

    return hook


HOOKS = {
    "product": lambda torch, w: lambda gradient: gradient * w,
    "recorded_in_any_case": recorded_by,
    "another_tensor": lambda torch, w: lambda gradient: w,
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("place", ["leaf", "intermediate"])
@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_with_a_graph(hook, place, create_graph):
    def program(torch):
        x, w = setting(torch)
        h = x * 3
        (x if place == "leaf" else h).register_hook(HOOKS[hook](torch, w))
        (h**2).sum().backward(create_graph=create_graph)
        found = told(x.grad)
        if x.grad.requires_grad:
            found += torch.autograd.grad(x.grad.sum(), [x, w], allow_unused=True)
        x2, w2 = setting(torch)
        h2 = x2 * 3
        (x2 if place == "leaf" else h2).register_hook(HOOKS[hook](torch, w2))
        return found, told(*torch.autograd.grad((h2**2).sum(), x2, create_graph=create_graph))

    agree(program)


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_cotangent_with_a_graph(create_graph):
    def program(torch):
        x, w = setting(torch)
        x.backward(w, create_graph=create_graph)
        h = x * 3
        h.retain_grad()
        h.backward(w, create_graph=create_graph)
        y, _ = setting(torch)
        y.backward(w, create_graph=create_graph)
        found = told(x.grad, h.grad, y.grad)
        (w * 2).sum().backward()
        return found, told(y.grad, w.grad), y.grad is w

    agree(program)


def test_what_was_given_may_be_written():
    def program(torch):
        x, w = setting(torch)
        x.backward(w)
        with torch.no_grad():
            w.mul_(10)
        (w * 2).sum().backward()
        return x.grad, w, w.grad

    agree(program)

"""What `grad` and `backward` take as `inputs`: one tensor, several, or a dict, whose result is a dict."""

from __future__ import annotations

from collections import OrderedDict, UserDict
from types import MappingProxyType

import pytest
from oracle import agree, agreement_of, programs_of, raises


def leaves(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    return x, w, (x * w).sum() + (x**2).sum()


def a_dict(torch):
    x, w, loss = leaves(torch)
    found = torch.autograd.grad(loss, {"w": w, 3: x, "again": w})
    return type(found).__name__, list(found), found, x.grad is None


def a_dict_of_a_module(torch):
    torch.manual_seed(0)
    layer = torch.nn.Linear(2, 3)
    loss = layer(torch.ones(4, 2)).square().sum()
    found = torch.autograd.grad(loss, dict(layer.named_parameters()), create_graph=True)
    second = torch.autograd.grad(found["weight"].sum(), dict(layer.named_parameters()), allow_unused=True)
    return found, second


def unused_ones(torch):
    x, _w, loss = leaves(torch)
    other = torch.zeros(3, requires_grad=True)
    inputs = {"x": x, "other": other}
    return (
        torch.autograd.grad(loss, inputs, allow_unused=True, retain_graph=True),
        torch.autograd.grad(loss, inputs, materialize_grads=True, create_graph=True)["other"].requires_grad,
    )


def an_edge_in_a_dict(torch):
    x, w, _loss = leaves(torch)
    y = x * 2
    return torch.autograd.grad((y * w).sum(), {"y": torch.autograd.graph.get_gradient_edge(y), "w": w})


def batched(torch):
    x, w, _ = leaves(torch)
    y = x * w
    return torch.autograd.grad(y, {"w": w}, torch.eye(2), is_grads_batched=True)


def an_iterator(torch):
    x, _w, loss = leaves(torch)
    other = torch.zeros(3, requires_grad=True)
    return torch.autograd.grad(loss, iter([x, other]), materialize_grads=True)


def backward_into_a_dict(torch):
    x, w, loss = leaves(torch)
    loss.backward(inputs={"w": w}, retain_graph=True)
    before = x.grad is None
    torch.autograd.backward(loss, inputs={"w": w, 1: x})
    return before, x.grad, w.grad


def backward_into_one_twice(torch):
    x, w, loss = leaves(torch)
    loss.backward(inputs={"w": w, "again": w})
    return x.grad is None, w.grad


@raises(RuntimeError)
def an_empty_dict(torch):
    return torch.autograd.grad(leaves(torch)[2], {})


@raises(RuntimeError)
def backward_into_an_empty_dict(torch):
    leaves(torch)[2].backward(inputs={})


@raises(RuntimeError)
def an_unused_one(torch):
    x, _w, loss = leaves(torch)
    return torch.autograd.grad(loss, {"x": x, "other": torch.zeros(3, requires_grad=True)})


@raises(RuntimeError)
def one_without_a_gradient(torch):
    x, _w, loss = leaves(torch)
    return torch.autograd.grad(loss, {"x": x, "other": torch.zeros(3)})


test_agrees_with_torch = agreement_of(programs_of(globals(), leaves))


@pytest.mark.parametrize("kind", [OrderedDict, UserDict, MappingProxyType], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("filled", [True, False])
def test_other_mappings_are_refused(kind, filled):
    def program(torch, backward=False):
        _x, w, loss = leaves(torch)
        inputs = kind({"w": w} if filled else {})
        if backward:
            return torch.autograd.backward(loss, inputs=inputs)
        return torch.autograd.grad(loss, inputs)

    agree(program, raises=TypeError)
    agree(lambda torch: program(torch, True), raises=TypeError)

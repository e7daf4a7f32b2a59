"""What `backward`, `grad`, `requires_grad` and `grad` take, and what they refuse, under torch and under jaxvjp."""

from __future__ import annotations

import pytest
from oracle import agreement_of, programs_of, raises

import jaxvjp


def squares(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return x, (x**2).sum()


def zeros_that_can_be_differentiated(torch):
    x, y = squares(torch)
    other = torch.ones(2, requires_grad=True)
    (zeros,) = torch.autograd.grad(y, other, create_graph=True, materialize_grads=True)
    return zeros, torch.autograd.grad(zeros.sum(), x, materialize_grads=True, allow_unused=True)


def more_gradients_than_roots(torch):
    x, y = squares(torch)
    return torch.autograd.grad(y, x, [None, None])


def integers_stand_for_flags(torch):
    x, y = squares(torch)
    y.backward(retain_graph=1)
    y.backward(create_graph=0)
    return x.grad


def deleted_gradient(torch):
    x, y = squares(torch)
    y.backward()
    del x.grad
    before = x.grad
    del x.grad
    return before, x.grad


@raises(RuntimeError)
def no_inputs(torch):
    _x, y = squares(torch)
    torch.autograd.grad(y, [])


@raises(RuntimeError)
def inputs_that_are_no_tensors(torch):
    _x, y = squares(torch)
    y.backward(inputs=["x"])


@raises(AssertionError)
def roots_that_are_no_tensors(torch):
    torch.autograd.backward(["y"])


@raises(TypeError)
def retain_graph_that_is_no_flag(torch):
    _x, y = squares(torch)
    y.backward(retain_graph="no")


@raises(TypeError)
def create_graph_that_is_none(torch):
    _x, y = squares(torch)
    y.backward(create_graph=None)


@raises(TypeError)
def allow_unused_that_is_no_flag(torch):
    x, y = squares(torch)
    torch.autograd.grad(y, x, allow_unused="no")


@raises(RuntimeError)
def requires_grad_that_is_no_bool(torch):
    torch.ones(2).requires_grad = 1


@raises(TypeError)
def requires_grad_method_with_no_bool(torch):
    torch.ones(2).requires_grad_(None)


@raises(RuntimeError)
def its_own_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    x.grad = x


@raises(RuntimeError)
def zeros_for_an_edge(torch):
    _x, y = squares(torch)
    edge = torch.autograd.graph.get_gradient_edge(torch.ones(2, requires_grad=True) * 2)
    torch.autograd.grad(y, edge, materialize_grads=True)


test_agrees_with_torch = agreement_of(programs_of(globals(), squares))


def test_create_graph_warns_of_a_cycle():
    _x, y = squares(jaxvjp)
    with pytest.warns(UserWarning, match="create_graph=True will create a reference cycle"):
        y.backward(create_graph=True)

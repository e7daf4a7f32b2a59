"""Hooks that give their gradient another shape in place: what is left has the shape of its tensor, or is refused."""

import pytest
from oracle import agree

CHANGES = {
    "unsqueeze_": lambda gradient: gradient.unsqueeze_(0),
    "written, too": lambda gradient: gradient.unsqueeze_(0).mul_(3),
    "squeeze_": lambda gradient: gradient.squeeze_(),
    "t_ of a vector": lambda gradient: gradient.t_(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("create_graph", [False, True])
def test_of_a_step(change, create_graph):
    def program(torch):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * torch.tensor([3.0, 4.0])
        y.register_hook(lambda gradient: (CHANGES[change](gradient), None)[1])
        (y**2).sum().backward(create_graph=create_graph)
        return x.grad, x.grad.shape, torch.autograd.grad(x.grad.sum(), x) if create_graph else None

    assert agree(program).error is None


def test_of_a_leaf_is_refused_or_fits():
    import jaxvjp as torch

    x = torch.ones(2, 3, requires_grad=True)
    x.register_hook(lambda gradient: (gradient.unsqueeze_(0), None)[1])
    (x * 2).sum().backward()
    assert x.grad.shape == (2, 3)
    y = torch.ones(2, 3, requires_grad=True)
    y.register_hook(lambda gradient: (gradient.t_(), None)[1])
    with pytest.raises(RuntimeError, match="not expandable"):
        (y * 2).sum().backward()
    assert y.grad is None


@pytest.mark.parametrize("before", [False, True])
def test_a_module_hook_that_gives_another_size(before):
    def program(torch):
        module = torch.nn.Linear(2, 2)
        if before:
            module.register_full_backward_pre_hook(lambda module, given: (given[0][:, :1],))
        else:
            module.register_full_backward_hook(lambda module, received, given: (received[0][:, :1],))
        module(torch.ones(1, 2, requires_grad=True)).sum().backward()

    agree(program, raises=RuntimeError)

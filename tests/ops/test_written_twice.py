"""What several elements of a source make of one place: what torch gives, and where the library differs on purpose."""

from __future__ import annotations

import pytest
from oracle import agree

import jaxvjp


def gradients(torch, write, start, source):
    x = torch.tensor(start, requires_grad=True)
    y = torch.tensor(source, requires_grad=True)
    result = write(torch, x, y)
    (result * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    return result.detach(), x.grad, y.grad


def assigned(torch, x, y):
    result = x * 1
    result[torch.tensor([0, 0, 1])] = y
    return result


WRITES = {
    "assigned": assigned,
    "index_put": lambda torch, x, y: x.index_put((torch.tensor([0, 0, 1]),), y),
    "put": lambda torch, x, y: x.put(torch.tensor([0, 0, 1]), y),
    "scatter": lambda torch, x, y: x.scatter(0, torch.tensor([0, 0, 1]), y),
    "index_copy": lambda torch, x, y: x.index_copy(0, torch.tensor([0, 0, 1]), y),
}


@pytest.mark.parametrize("name", WRITES)
def test_the_gradient_of_what_is_overwritten(name):
    """It is 0: changing that element changes nothing. torch gives it the gradient of the place, too."""

    def program(torch):
        result, start, source = gradients(torch, WRITES[name], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0])
        return result, start, source[1:]

    agree(program)
    assert gradients(jaxvjp, WRITES[name], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0])[2].tolist() == [0.0, 1.0, 10.0]


@pytest.mark.parametrize("name", WRITES)
def test_different_places(name):
    def program(torch):
        def write(torch, x, y):
            return WRITES[name](torch, x, torch.stack([y[0], y[0], y[1]]))

        return gradients(torch, write, [0.0, 0.0, 0.0], [1.0, 2.0])[:2]

    agree(program)


def added(torch, x, y):
    return x.index_put((torch.tensor([0, 0, 1]),), y, accumulate=True)


def test_what_is_added_up():
    agree(lambda torch: gradients(torch, added, [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]))


def reduced(how, include):
    def write(torch, x, y):
        scattered = x.scatter_reduce(0, torch.tensor([0, 0, 1, 1]), y, how, include_self=include)
        return scattered + x.index_reduce(0, torch.tensor([0, 0, 1, 1]), y, how, include_self=include)

    return write


@pytest.mark.parametrize("how", ["amax", "amin"])
@pytest.mark.parametrize("include", [True, False])
def test_ties(how, include):
    """They share the gradient. Where `input` has no part in it, torch gives it a share all the same if it is equal, and
    drops that share."""
    agree(lambda torch: gradients(torch, reduced(how, include), [7.0, -7.0, 2.0], [5.0, 5.0, 0.0, 3.0]))
    found = gradients(jaxvjp, reduced(how, include), [2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0])
    if include:
        agree(lambda torch: gradients(torch, reduced(how, include), [2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0]))
    else:
        assert found[1].tolist() == [0.0, 0.0, 200.0]
        assert found[2].tolist() == [1.0, 1.0, 10.0, 10.0]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("zero_infinity", [True, False])
def test_an_alignment_that_cannot_be(reduction, zero_infinity):
    """The loss is infinite and its gradient NaN, in that example only; or both are 0."""

    def program(torch):
        scores = torch.linspace(-1, 1, 5 * 3 * 4, dtype=torch.float64).sin().reshape(5, 3, 4) * 3
        found = []
        for lengths, counts in (([5, 2, 4], [2, 3, 2]), ([5, 5, 5], [3, 3, 3]), ([1, 1, 1], [3, 2, 1])):
            x = scores.log_softmax(-1).detach().requires_grad_()
            targets = torch.tensor([[1, 1, 2], [3, 1, 1], [2, 2, 2]])
            sizes = torch.tensor(lengths), torch.tensor(counts)
            loss = torch.nn.functional.ctc_loss(x, targets, *sizes, reduction=reduction, zero_infinity=zero_infinity)
            (loss * torch.tensor([1.0, 2.0, 0.0]) if reduction == "none" else loss).sum().backward()
            found += [loss.detach(), x.grad]
        layer = torch.nn.CTCLoss(reduction=reduction, zero_infinity=zero_infinity)
        x = scores[:1, :1].clone().requires_grad_()
        layer(x.log_softmax(-1), torch.tensor([[1, 1]]), torch.tensor([1]), torch.tensor([2])).sum().backward()
        return [*found, x.grad]

    agree(program, rtol=1e-6, atol=1e-9)

"""What a reentrant checkpoint gives inside of lists and dicts has no gradient, as torch's step does not look inside."""

from __future__ import annotations

import pytest
from oracle import Outcome, agree, theirs

import jaxvjp

SHAPES = {
    "a tensor": lambda y: y,
    "a tuple": lambda y: (y, y + 1),
    "a dict": lambda y: {"k": y},
    "a list": lambda y: [y, y + 1],
    "a dict in a tuple": lambda y: (y, {"k": y + 1}),
    "a list in a tuple": lambda y: (y, [y + 1, 3]),
}


def tensors(value):
    if isinstance(value, dict | list | tuple):
        return [leaf for each in (value.values() if isinstance(value, dict) else value) for leaf in tensors(each)]
    return [value] if hasattr(value, "requires_grad") else []


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_inside_of_containers(shape, reentrant):
    def program(torch):
        x = torch.ones(2, requires_grad=True)
        call = torch.utils.checkpoint.checkpoint
        found = tensors(call(lambda a: SHAPES[shape](a * 2), x, use_reentrant=reentrant))
        with_gradient = [each for each in found if each.requires_grad]
        if with_gradient:
            sum(each.sum() for each in with_gradient).backward()
        return [each.requires_grad for each in found], found, x.grad

    agree(program)


def test_a_captured_tensor_that_was_written_is_refused():
    """torch computes again with what stands there now, and gives the gradient of another function."""

    def program(torch):
        a, w = torch.ones(2, requires_grad=True), torch.tensor([2.0, 3.0])
        y = torch.utils.checkpoint.checkpoint(lambda v: v * w, a, use_reentrant=False)
        w.mul_(10)
        y.sum().backward()
        return a.grad.tolist()

    assert theirs(program).value == [20.0, 30.0]
    assert "modified by an inplace operation" in str(Outcome(program, jaxvjp).error)

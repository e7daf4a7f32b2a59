"""Makes the calls of `op_cases` under torch or jaxvjp, with their first and second derivatives."""

from __future__ import annotations

import numpy as np
from op_cases import Empty, Given, Plain

from jaxvjp.ops.op import REGISTRY
from jaxvjp.tensor.bindings import OPERATORS


def operands_of(torch, call, dtype):
    """The operands and static arguments of a call, and which operands to differentiate with respect to."""
    operands, leaves = [], []
    for each in call.operands:
        if isinstance(each, Plain):
            operands.append(each.value)
        elif isinstance(each, Given):
            operands.append(torch.tensor(each.data, dtype=getattr(torch, each.dtype)))
        else:
            array = np.zeros(each.shape) if isinstance(each, Empty) else np.array(each)
            leaves.append(torch.tensor(array, dtype=getattr(torch, dtype), requires_grad=True))
            operands.append(leaves[-1])
    static = {name: getattr(torch, value) if name == "dtype" else value for name, value in call.static.items()}
    return operands, static, leaves


def called(torch, name, operands, static):
    """What an op gives, as a function, or else as a method, or else as an operator."""
    row = REGISTRY[name]
    if "function" in row.public:
        return getattr(torch, name)(*operands, **static)
    if "method" in row.public:
        return getattr(operands[0], name)(*operands[1:], **static)
    return getattr(operands[0], f"__r{OPERATORS[row.operator.removeprefix('r')]}__")(*operands[1:])


def drawn(torch, like, seed, requires_grad=False):
    """A cotangent with nothing special about it, so that a formula that is wrong anywhere shows."""
    numbers = np.random.RandomState(seed).uniform(0.5, 1.5, tuple(like.shape))
    return torch.tensor(numbers, dtype=like.dtype, requires_grad=requires_grad)


def gradients(torch, result, leaves, create_graph=False):
    """The gradients of a result for a cotangent, and that cotangent."""
    if not result.requires_grad:
        return [], None
    cotangent = drawn(torch, result, 1, requires_grad=create_graph)
    return torch.autograd.grad(result, leaves, cotangent, create_graph=create_graph), cotangent


def second_derivatives(torch, first, leaves):
    """The gradients of gradients, with respect to the cotangent too: their types, and their numbers."""
    weights = [drawn(torch, each, 2) for each in first]
    second = torch.autograd.grad(first, leaves, weights, allow_unused=True)
    numbers = [np.nan if each is None else each.clone().numpy() for each in second]
    return [each is not None and repr(each.dtype) for each in second], numbers

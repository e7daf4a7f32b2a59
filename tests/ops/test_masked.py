"""Masked reductions and normalisations beyond torch's samples: rows with nothing kept, NaN, errors."""

from __future__ import annotations

import itertools
from math import inf, nan

import pytest
from oracle import agree

REDUCTIONS = ["sum", "prod", "amax", "amin", "mean", "median", "norm", "var", "std", "logsumexp", "argmax", "argmin"]
ALONG = ["softmax", "log_softmax", "softmin", "cumsum", "cumprod"]
NUMBERS = {
    "floats": ([[0.5, -2.0, 3.0], [0.0, 0.0, 1.0], [nan, inf, -1.0], [2.0, 2.0, 2.0]], "float32"),
    "integers": ([[3, -2, 5], [0, 0, 1], [7, 7, 7], [1, 2, 3]], "int64"),
    "bytes": ([[3, 2, 5], [0, 0, 1], [7, 7, 7], [1, 2, 3]], "uint8"),
    "truths": ([[True, False, True]] * 4, "bool"),
    "finite": ([[0.5, -2.0, 3.0], [0.0, 0.0, 1.0], [4.0, 0.0, -1.0], [2.0, 2.0, 2.0]], "float32"),
    "complex": ([[1 + 2j, -0.5j, 0j]] * 4, "complex64"),
}
MASKS = {
    "elements": [[True, False, True], [False, True, True], [False, False, True], [False, False, False]],
    "columns": [True, False, True],
    "numbers": [[1], [0], [2], [0]],
    "none": None,
}


def of_each(call):
    """A program that makes a call with every mask, and says what each gives, its gradient, or its error."""

    def program(torch, numbers, dtype):
        found = []
        for mask in MASKS.values():
            x = torch.tensor(numbers, dtype=getattr(torch, dtype), requires_grad=dtype in ("float32", "complex64"))
            try:
                result = call(torch.masked, x, None if mask is None else torch.tensor(mask))
            except (RuntimeError, ValueError, NotImplementedError, AssertionError) as error:
                found.append((type(error).__name__, str(error).partition("\n")[0].rstrip(". ")))
                continue
            found.append(result)
            if result.requires_grad:
                name = result.grad_fn.name()
                found.append((name, torch.autograd.grad(result, x, torch.ones_like(result), allow_unused=True)))
        return found

    return program


# torch's gradient of a product divides by the elements, so that of infinite ones is NaN.
@pytest.mark.parametrize(
    ("name", "kind"), [each for each in itertools.product(REDUCTIONS, NUMBERS) if each != ("prod", "floats")]
)
def test_reductions(name, kind):
    program = of_each(lambda masked, x, mask: getattr(masked, name)(x, dim=1, keepdim=True, mask=mask))
    agree(lambda torch: program(torch, *NUMBERS[kind]), 1e-5, 1e-6)
    if name != "median":
        program = of_each(lambda masked, x, mask: getattr(masked, name)(x, mask=mask))
        agree(lambda torch: program(torch, *NUMBERS[kind]), 1e-5, 1e-6)


@pytest.mark.parametrize("kind", ["finite", "integers"])
@pytest.mark.parametrize("name", ALONG)
def test_along_a_dimension(name, kind):
    program = of_each(lambda masked, x, mask: getattr(masked, name)(x, -1, mask=mask, dtype=None))
    agree(lambda torch: program(torch, *NUMBERS[kind]), 1e-5, 1e-6)


@pytest.mark.parametrize("order", [0, 1, 2, 3.5, inf, -inf])
def test_orders_of_norms(order):
    for call in (
        lambda masked, x, mask: masked.norm(x, order, 1, mask=mask),
        lambda masked, x, mask: masked.normalize(x, order, 1, mask=mask),
    ):
        agree(lambda torch, call=call: gradients_aside(of_each(call)(torch, *NUMBERS["finite"]), order), 1e-5, 1e-6)


def gradients_aside(found, order):
    """torch leaves the gradient of a norm of order 0 out, where ours is zeros."""
    return found if order else [each for each in found if not isinstance(each, tuple)]


ODD = """
masked.sum(x, (0, 0)); masked.sum(x, 2); masked.sum(x, ()); masked.mean(x, 0, mask=torch.ones(1, 2, 3) > 0)
masked.amax(x, 0, mask=torch.ones(4) > 0); masked.softmax(x, 5); masked.var(x, 0, True, correction=1)
masked.var(x, 0, False, mask=x > 0); masked.std(x, correction=5); masked.sum(x, dtype=torch.float64, mask=x > 0)
masked.prod(x.int(), 0, dtype=torch.int32); masked.mean(x.int()); masked.mean(x, dtype=torch.int64)
masked.norm(x.int(), -inf, mask=x > 0); masked.logaddexp(x, -x, input_mask=x > 1, other_mask=x < 3)
masked.sum(x[:0], 0, mask=x[:0] > 0); masked.amax(x[:0], 1, mask=x[:0] > 0); masked.amax(x[:0], 0)
masked.mean(x[0, 0], mask=torch.tensor(False)); masked.median(x.int(), mask=x > 4)
masked.argmax(x, 1, dtype=torch.int64); masked.mean(x[0, 0], 0); masked.mean(x[0, 0], -1, keepdim=True)
masked.cumsum(x.int(), 0, dtype=torch.float32); masked.var(x.int(), 0, mask=x > 0, keepdim=True)
"""


@pytest.mark.parametrize("line", [each.strip() for each in ODD.replace("\n", ";").split(";") if each.strip()])
def test_odd_arguments(line):
    def program(torch):
        x = torch.tensor([[0.5, -2.0, 3.0], [1.0, 4.0, 2.5]], requires_grad=True)
        result = eval(line, {"torch": torch, "masked": torch.masked, "x": x, "inf": inf})
        return result, torch.autograd.grad(result.sum(), x) if result.requires_grad and result.numel() else None

    agree(program, 1e-5, 1e-6)

"""Arithmetic at its edges: shifts by too much, a number before a tensor, powers of truth values and of complex zero,
`ldexp` of 0 and of infinity."""

from __future__ import annotations

from math import inf, nan

import pytest
from oracle import Outcome, agree, theirs

import jaxvjp

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
SHIFTS = (0, 1, 7, 8, 15, 31, 63, 64, 100, -1, -8)
DTYPES = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64")


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("compiled", [False, True])
def test_shifts_by_more_bits_than_there_are(dtype, compiled):
    def program(torch):
        own = getattr(torch, dtype)
        x = torch.tensor([100, 3, 251, 128], dtype=torch.int64).to(own)
        by = [torch.tensor(each).to(own) for each in SHIFTS]
        return [[x >> each, x << each] for each in (*SHIFTS, *by, 300)] + [x.clone().__irshift__(9), 200 >> x]

    agree(program)


@pytest.mark.parametrize("number", [True, 3, 300, 2.5])
@pytest.mark.parametrize("form", ["floor", "trunc", "add", "sub"])
def test_a_number_before_a_tensor_takes_its_type(form, number):
    def program(torch):
        tensors = [torch.ones(shape, dtype=getattr(torch, each)) for each in DTYPES[1:] for shape in ((), (2,))]
        if form in ("add", "sub"):
            return [getattr(torch, form)(number, each, alpha=2) for each in tensors if number is not True]
        return [torch.div(number, each, rounding_mode=form) for each in tensors]

    agree(program)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_reciprocal_is_promoted_with_the_dividend(dtype):
    def program(torch):
        x = torch.full((2,), 2).to(getattr(torch, dtype))
        others = [torch.full(shape, 3).to(getattr(torch, each)) for each in DTYPES[1:] for shape in ((), (2,))]
        return [
            [getattr(each, name)(other) for name in ("__rdiv__", "__rtruediv__")]
            for each in (x, x[0])
            for other in others
        ]

    agree(program)


def test_the_gradient_of_a_reciprocal_goes_to_both():
    def program(torch):
        x, y = (torch.tensor([2.0, 4.0], requires_grad=True) for _ in range(2))
        (x.__rtruediv__(y * 3)).sum().backward()
        return x.grad, y.grad

    agree(program)


@pytest.mark.parametrize("exponent", [True, False, 2, 0, -1, 0.5])
def test_powers_of_truth_values(exponent):
    def program(torch):
        x = torch.tensor([True, False])
        return x**exponent, torch.pow(x[0], exponent), x.float() ** exponent

    def in_place(torch):
        return torch.tensor([True, False]).pow_(exponent)

    agree(program)
    agree(in_place)
    agree(lambda torch: torch.tensor([True]) ** torch.tensor([exponent]))


def test_subtraction_with_alpha_refuses_masks_on_either_side():
    for left, right in (([True], [True]), ([True], [2]), ([2.0], [True])):
        agree(lambda torch, a=left, b=right: torch.rsub(torch.tensor(a), torch.tensor(b), alpha=2), raises=RuntimeError)
    agree(lambda torch: torch.rsub(torch.tensor([2.0]), True, alpha=2), raises=RuntimeError)
    agree(lambda torch: torch.special.xlog1py(torch.tensor([1j]), 2.0), raises=NotImplementedError)


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("exponent", [1 + 1j, 2.5, 2 + 0j, -1.5, 1j, 0j, 0.0])
def test_powers_of_complex_zero(exponent, dtype):
    def program(torch):
        own = getattr(torch, dtype)
        z = torch.tensor([0j, 2 + 1j], dtype=own, requires_grad=True)
        w = torch.full((2,), exponent, dtype=own).requires_grad_()
        result = z**w
        torch.view_as_real(result).sum().backward()
        return result, z.grad[1], w.grad

    agree(program, 1e-5, 1e-5)


def test_zero_to_its_own_power_has_no_slope():
    def program(torch):
        z = torch.zeros(2, dtype=torch.complex128, requires_grad=True)
        torch.view_as_real(z**z).sum().backward()
        return z.grad

    agree(program)


EXPONENTS = {
    "a tensor": lambda torch: torch.tensor([3, -2, 200, -200, 127, -100, 128, 0, 5]),
    "int32": lambda torch: torch.tensor([300, -300] * 4 + [1], dtype=torch.int32),
    "one": lambda torch: torch.tensor(200),
    "one of 8 bits": lambda torch: torch.tensor(250, dtype=torch.uint8),
    "far": lambda torch: torch.full((9,), 2**31 - 1),
    "far below": lambda torch: torch.full((9,), -(2**31)),
    "masks": lambda torch: torch.tensor(True),
    "fractions": lambda torch: torch.tensor(1.5),
}


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64"])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_the_exponent_is_raised(exponent, dtype):
    def program(torch):
        x = torch.tensor([1.5, 0.0, inf, -inf, nan, 1e-6, 1e4, -0.0, 2.0]) if dtype != "int64" else torch.arange(9)
        x, other = x.to(getattr(torch, dtype)), EXPONENTS[exponent](torch)
        result = torch.ldexp(x, other)
        return result, result.sign(), result.grad_fn

    agree(program)


def test_the_slope_of_ldexp_is_the_power_where_torch_s_overflows():
    """torch computes the power of two in the exponent's own integer type: -1 gives 0, and 8 in 8 bits 0."""

    def program(torch, exponents=(3, 6)):
        x = torch.tensor([1.0, 0.0], requires_grad=True)
        y = torch.ldexp(x, torch.tensor(exponents, dtype=torch.int8))
        y.sum().backward()
        return y.grad_fn.name(), x.grad

    agree(program)
    assert theirs(lambda torch: program(torch, (-1, 8))[1].tolist()).value == [0.0, 0.0]
    assert Outcome(lambda torch: program(torch, (-1, 8))[1].tolist(), jaxvjp).value == [0.5, 256.0]

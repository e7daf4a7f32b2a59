"""Tensors made from shapes and ranges, in all of torch's forms; and functions such as `is_tensor` and `finfo`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from oracle import agree

from jaxvjp.library import creation
from jaxvjp.types import dtypes

MADE = """
torch.arange(5); torch.arange(1, 4); torch.arange(1, 2, 0.25); torch.arange(5.0); torch.arange(3, 0, -1)
torch.arange(0)
torch.arange(4, dtype=torch.float64); torch.arange(start=1, end=7, step=2); torch.arange(0, 1, 0.1)
torch.arange(torch.tensor(3)); torch.linspace(0, 1, 5); torch.linspace(-3, 7, 8, dtype=torch.float64)
torch.linspace(2, 3, 1)
torch.linspace(0, 10, 4, dtype=torch.int64); torch.linspace(0, 1, 0); torch.linspace(torch.tensor(1.0), 3, steps=3)
torch.logspace(0, 2, 3); torch.logspace(-1, 1, 4, base=2.0); torch.eye(3); torch.eye(2, 3)
torch.eye(2, dtype=torch.bool)
torch.full((2,), 7); torch.full((2, 1), 1.5); torch.full((2,), True); torch.full((2,), 1j)
torch.full_like(torch.ones(2), 3)
torch.full_like(torch.ones(2), 3, dtype=torch.int32); torch.zeros_like(torch.ones(2), requires_grad=True)
torch.ones(2).new_zeros(3); torch.ones(2, dtype=torch.float64).new_ones((2, 2)); torch.ones(2).new_full((2,), 5)
torch.ones(2).new_tensor([1, 2]); torch.ones(2).new_empty(0); torch.tril_indices(3, 3); torch.triu_indices(2, 4, 1)
torch.scalar_tensor(3); torch.ones(2, out=torch.zeros(2)); torch.zeros(size=(2,)); torch.ones([2, 1])
torch.empty((0, 2))
torch.as_tensor([1.0, 2.0]); torch.as_tensor([1, 2], dtype=torch.float64); torch.asarray([1.5])
torch.complex(torch.tensor([1.0]), torch.tensor([2.0])); torch.polar(torch.tensor([2.0]), torch.tensor([0.5]))
torch.tensor([[1, 2], torch.tensor([3.5, 4])]); torch.tensor([[[1, 2]], torch.tensor([[3, 4]])])
torch.tensor([np.ones(2), torch.ones(2)]); torch.tensor([[1, 2], {3: 1, 4: 2}], dtype=torch.float32)
torch.tensor([1.0, 2**70]); torch.tensor([2**70, 1j]); torch.tensor(2**64, dtype=torch.bool); torch.tensor([-(2**63)])
"""
REFUSED = """
torch.tensor(2**70); torch.tensor([1, 2**63]); torch.tensor([-(2**64)], dtype=torch.uint8)
torch.arange(1, 2, 0); torch.arange(3, 0); torch.linspace(0, 1, -1); torch.eye(-1); torch.full((-1,), 2)
torch.tensor([[1, 2], torch.tensor([3, 4, 5])]); torch.tensor([[1, 2], {3: 1, 4: 2}]); torch.tensor([[1, 2], None])
torch.tensor([[1], torch.tensor(3)]); torch.FloatTensor([np.ones(4), {}]); torch.tensor([torch.ones(2), [3, 4]])
torch.linspace(0, 1, 2.5); torch.ones(2, dtype=torch.int64, requires_grad=True); torch.full_like([1], 2)
torch.complex(torch.ones(1), torch.ones(1, dtype=torch.float64)); torch.complex(torch.ones(1).int(), torch.ones(1))
"""
ASKED = """
torch.result_type(torch.ones(1), 2.5); torch.result_type(torch.tensor([1]), 2.5)
torch.result_type(torch.tensor(1.0), 1j)
torch.result_type(torch.ones(1).int(), torch.tensor(1.0, dtype=torch.float64)); torch.result_type(1, 2.0)
torch.is_tensor(1); torch.is_tensor(torch.ones(1)); torch.is_floating_point(torch.ones(1))
torch.is_complex(torch.ones(1))
torch.ones(1).is_signed(); torch.is_nonzero(torch.tensor([0.5])); torch.numel(torch.ones(2, 3))
torch.ones(1).element_size()
torch.equal(torch.ones(2), torch.ones(2)); torch.equal(torch.ones(2), torch.ones(3))
torch.ones(2).allclose(torch.ones(2))
torch.ones(2).type(); torch.ones(2).type(torch.int64); torch.ones(2).type('torch.DoubleTensor')
torch.ones(2).int().type()
torch.ones(2).type_as(torch.ones(1, dtype=torch.float64)); torch.bincount(torch.tensor([1, 3, 1]))
torch.bincount(torch.tensor([1, 0]), torch.tensor([0.5, 2.0])); torch.finfo(torch.float16).max; torch.finfo().eps
torch.iinfo(torch.int16).min; torch.finfo(torch.float64).tiny; str(torch.iinfo(torch.int8))
torch.finfo(torch.complex64).bits
str(torch.finfo(torch.float32)); torch.iinfo(torch.float32); torch.finfo(torch.int8); torch.ones(1).type('a')
torch.equal(torch.ones(1), 1); torch.can_cast(1, 2); torch.allclose(torch.ones(1), torch.ones(1).double())
torch.result_type(1, 'a'); torch.bincount(torch.tensor([-1])); torch.gradient(torch.tensor([1.0, 4.0, 9.0]))
torch.get_default_dtype(); torch.set_default_dtype('float32')
"""


def lines(text):
    return [each.strip() for each in text.replace("\n", ";").split(";") if each.strip()]


def said(line):
    def program(torch):
        result = eval(line, {"torch": torch, "np": np})
        return repr(result) if isinstance(result, torch.dtype) else result

    return program


@pytest.mark.parametrize("line", lines(MADE))
def test_made_as_torch_makes_it(line):
    assert agree(said(line)).error is None


@pytest.mark.parametrize("line", [*lines(REFUSED), *lines(ASKED)])
def test_said_as_torch_says_it(line):
    agree(said(line))


def test_what_can_be_cast():
    def program(torch):
        own = [getattr(torch, each.name) for each in dtypes.ALL]
        return [torch.can_cast(a, b) for a, b in itertools.product(own, own)]

    agree(program)


@pytest.mark.parametrize("other", [each.name for each in dtypes.ALL])
def test_result_types_of_all_pairs(other):
    def program(torch):
        second = getattr(torch, other)
        found = []
        for each in dtypes.ALL:
            if {each.name, other} >= {"float16"} and ({"complex64", "complex128"} & {each.name, other}):
                continue  # torch has a complex type of 32 bits
            a, b = torch.ones(2, dtype=getattr(torch, each.name)), torch.ones(2, dtype=second)
            found += [repr(torch.result_type(x, y)) for x, y in ((a, b), (a, b[0]), (a[0], b), (a[0], b[0]))]
            found += [
                repr((a * b).dtype),
                repr((a / b).dtype),
                repr((a == b).dtype),
                repr(torch.where(a > 0, a, b).dtype) if not (each.is_complex) else "",
            ]
        return found

    agree(program)


def test_large_constants_lie_where_xla_reads_them():
    """From elsewhere it copies them."""
    for kind in ("float32", "bool", dtypes.bfloat16.numpy):
        for array in (creation._full((3, 1 << 19), 2, np.dtype(kind)), creation._zeros((3, 1 << 20), np.dtype(kind))):
            assert array.ctypes.data % creation.ALIGNED == 0
            assert (array == array[0, 0]).all()

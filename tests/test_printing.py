"""Tensors print as torch prints them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from oracle import agree, needs_torch

EXPRESSIONS = [
    "torch.tensor([2., 4.], requires_grad=True) * 2",
    "torch.tensor(1., requires_grad=True)",
    "torch.tensor([3e-1, 3., 3e-4])",
    "torch.tensor([1., 10., 100.])",
    "torch.tensor([0.1, 123456.])",
    "torch.tensor([1e9, 1.])",
    "torch.tensor([0., 1e-5])",
    "torch.tensor([float('nan'), 1.5, float('inf'), -float('inf')])",
    "torch.tensor([float('nan'), 2.])",
    "torch.tensor([])",
    "torch.zeros(0, 3)",
    "torch.zeros(2, 0, dtype=torch.int64)",
    "torch.tensor([], dtype=torch.float64)",
    "torch.tensor([1, -20, 300])",
    "torch.tensor([True, False])",
    "torch.tensor(7)",
    "torch.tensor([1 + 2j, -3.5 - 0.25j])",
    "torch.ones(2, dtype=torch.float64)",
    "torch.ones(2, 3, 2, dtype=torch.float16)",
    "torch.ones(2, dtype=torch.bfloat16)",
    "torch.ones(3, dtype=torch.uint8)",
    "torch.ones(30, 40)",
    "torch.zeros(1100) + 0.5",
    "torch.zeros(7, 8, 20)",
    "torch.ones(40) * 1.5",
    "torch.ones(11, requires_grad=True) * 1.23456",
    "torch.ones(2, 2, dtype=torch.float64, requires_grad=True)",
    "torch.tensor([0.1, 0.2]).sum()",
    "torch.tensor(-0.0)",
    "torch.tensor([1e-40])",
    "torch.ones(2).shape",
    "torch.ones(2, 3).size(), torch.Size([1, 2]), torch.ones(2).dtype, torch.ones(2, 3).size(1)",
    "torch.ones(3, requires_grad=True).unsqueeze(0)[0, 1:].double()",
]


@needs_torch
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_prints_as_torch(expression):
    agree(lambda torch: repr(eval(expression, {"torch": torch})))


@needs_torch
def test_formats_as_torch():
    agree(lambda torch: f"{torch.tensor(3.14159):.2f} {torch.tensor([1.0, 2.0])} {torch.tensor(2)}")


@needs_torch
@settings(max_examples=400, deadline=None)
@given(
    arrays.arrays(
        st.sampled_from([np.float32, np.float64, np.int64, np.bool_, np.uint8, np.complex64]),
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9),
    )
)
def test_random_arrays_print_as_torch(array):
    agree(lambda torch: repr(torch.tensor(array)))

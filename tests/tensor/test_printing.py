"""Tensors print as torch prints them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from oracle import agree, needs_torch

from jaxvjp import float64
from jaxvjp.tensor import printing

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
    "torch.tensor([1e300, 1e-300], dtype=torch.float64)",
    "torch.ones(2).shape",
    "torch.ones(2, 3).size(), torch.Size([1, 2]), torch.ones(2).dtype, torch.ones(2, 3).size(1)",
    "torch.Size([1, 2, 3])[1:], torch.Size(), torch.Size([1]) + (2,), (2,) + torch.Size([1])",
    "2 * torch.Size([2]) * 2",
    "torch.Size([torch.tensor(2), 3]), torch.Size((2, 3)).numel(), torch.Size([3])[0]",
    "torch.Size([1.5])",
    "torch.device('cpu'), torch.device('cuda', 1), torch.ones(1).device, str(torch.device('cuda:0'))",
    "torch.Size([1]) + [2]",
    "torch.ones(3, requires_grad=True).unsqueeze(0)[0, 1:].double()",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_prints_as_torch(expression):
    agree(lambda torch: repr(eval(expression, {"torch": torch})))


def test_formats_as_torch():
    agree(
        lambda torch: f"{torch.tensor(3.14159):.2f} {torch.tensor([1.0, 2.0])} {torch.tensor(2)} {torch.ones(2, 2)!s}"
    )
    agree(lambda torch: f"{torch.tensor([1.0, 2.0]):.2f}")
    agree(lambda torch: f"{torch.tensor([1.0, 2.0]):>30}")


def test_a_device_is_shown_first():
    text = printing.tensor(np.ones((0, 2), np.float64), float64, ["requires_grad=True"], "cuda:0")
    assert text == "tensor([], device='cuda:0', size=(0, 2), dtype=torch.float64,\n       requires_grad=True)"


SHAPES = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=7) | st.sampled_from(
    [(1001,), (40, 30), (3, 400), (11, 10, 12), (2, 1, 600), (1000,), (6, 6, 30)]
)
FLOATS = st.floats(width=16) | st.integers(-300, 300).map(float) | st.sampled_from([0.0, -0.0, np.nan, np.inf, -np.inf])
WIDE = st.floats(allow_nan=True) | FLOATS
ELEMENTS = {
    "bool": st.booleans(),
    "uint8": st.integers(0, 255),
    "int8": st.integers(-128, 127),
    "int16": st.integers(-300, 300),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float16": FLOATS,
    "bfloat16": FLOATS,
    "float32": FLOATS | st.floats(width=32),
    "float64": WIDE,
    "complex64": st.complex_numbers(width=64) | st.builds(complex, FLOATS, FLOATS),
    "complex128": st.builds(complex, WIDE, WIDE),
}
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 8),
        "threshold": st.integers(0, 1200),
        "edgeitems": st.integers(0, 5),
        "linewidth": st.integers(1, 130),
        "profile": st.sampled_from(["default", "short", "full"]),
        "sci_mode": st.booleans(),
    },
)


@st.composite
def tensors(draw):
    """A dtype, an array of numbers for it, and whether it is a leaf that requires a gradient, or computed from one."""
    dtype = draw(st.sampled_from(list(ELEMENTS)))
    held = {"float16": np.float32, "bfloat16": np.float32}.get(dtype, dtype)
    shape = draw(SHAPES)
    array = draw(
        arrays.arrays(held, shape, elements=ELEMENTS[dtype], fill=st.nothing() if np.prod(shape) < 60 else None)
    )
    return dtype, array, draw(st.integers(0, 2)) if array.dtype.kind in "fc" else 0


def printed(torch, dtype, array, graph, options):
    torch.set_printoptions(**options)
    try:
        x = torch.tensor(array, dtype=getattr(torch, dtype), requires_grad=graph > 0)
        return repr(x.clone() if graph > 1 else x)
    finally:
        torch.set_printoptions(profile="default")


@needs_torch
@settings(max_examples=200, deadline=None)
@given(tensors(), OPTIONS)
def test_random_tensors_print_as_torch(tensor, options):
    agree(lambda torch: printed(torch, *tensor, options), recorded=False)


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_tensors_print_as_torch(dtype):
    """Some such, the same each time."""
    numbers = np.random.RandomState(0)
    profiles = ["default", "short", "full"]
    for place, size in enumerate((10.0 ** numbers.randint(-9, 9, 24)).tolist()):
        array = np.array(numbers.standard_normal([(), (3,), (2, 5), (1, 0, 2), (2, 2, 3), (40,)][place % 6]) * size)
        array[array > 1.5 * size] = [np.inf, np.nan, -0.0][place % 3]
        if "complex" in dtype:
            array = array * (1 - 0.5j)
        elif "float" not in dtype:
            array = np.nan_to_num(array, posinf=0).clip(-100, 100).astype(dtype)
        options = {"precision": place % 7, "linewidth": 30 + place, "threshold": 30, "edgeitems": place % 4}
        options |= {"sci_mode": bool(place % 4)} if place % 5 == 4 else {"profile": profiles[place % 3]}
        graph = place % 3 if array.dtype.kind in "fc" else 0
        arguments = dtype, array, graph, options if place % 2 else {}
        agree(lambda torch, arguments=arguments: printed(torch, *arguments))


def test_options_stay_until_set_again_but_for_the_notation():
    def program(torch):
        x, texts = torch.tensor([0.123456, 2000.0]), []
        try:
            for options in (
                {"precision": 2, "sci_mode": True},
                {"linewidth": 12},
                {"profile": "short"},
                {"profile": "?"},
            ):
                torch.set_printoptions(**options)
                texts.append(repr(x))
        finally:
            torch.set_printoptions(profile="default")
        return texts, repr(x)

    agree(program)

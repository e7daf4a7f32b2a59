"""Random numbers are torch's, for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import agree, live, needs_torch

import jaxvjp


@needs_torch
@pytest.mark.parametrize("seed", [0, 1, 42, 2**32 + 5, 123456789])
@pytest.mark.parametrize("size", [1, 2, 3, 15, 16, 17, 31, 32, 100, 1000])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_the_same_numbers_from_the_same_seed(seed, size, name):
    drawn = {}
    for module in (live, jaxvjp):
        module.manual_seed(seed)
        own = getattr(module, name)
        drawn[module] = [
            module.rand(size, dtype=own).numpy(),
            module.randn(size, dtype=own).numpy(),
            module.randn(3, dtype=own).numpy(),  # the spare of a pair is kept for the next draw
            module.rand(2, 3, dtype=own).numpy(),
        ]
    for number, (expected, given) in enumerate(zip(drawn[live], drawn[jaxvjp], strict=True)):
        if number in (0, 3):
            np.testing.assert_array_equal(given, expected)
        else:
            np.testing.assert_array_max_ulp(given, expected, 0 if name == "float32" else 2)


def test_recorded_numbers():
    jaxvjp.manual_seed(0)
    assert repr(jaxvjp.randn(3)) == "tensor([ 1.5410, -0.2934, -2.1788])"
    assert repr(jaxvjp.rand(2)) == "tensor([0.4556, 0.6323])"


@needs_torch
def test_like_and_seeds():
    def program(torch):
        torch.manual_seed(3)
        x = torch.randn(2, 2, requires_grad=True)
        return torch.initial_seed(), x, torch.rand_like(x), torch.randn_like(x, dtype=torch.float64)

    agree(program)


def test_a_generator_of_ones_own():
    ours = jaxvjp.Generator().manual_seed(7)
    first = jaxvjp.rand(4, generator=ours).tolist()
    jaxvjp.rand(4)
    ours.manual_seed(7)
    assert jaxvjp.rand(4, generator=ours).tolist() == first

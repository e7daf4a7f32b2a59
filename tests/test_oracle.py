"""The checker is checked: it must fail where the two modules differ."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from oracle import Outcome, agree, live, needs_torch, plain, same

import jaxvjp


@pytest.mark.parametrize(
    ("a", "b"),
    [(1.0, 1.1), (1, 1.0), ([1], [1, 2]), ({"a": 1}, {"b": 1}), (True, 1), ("x", "y"), (float("nan"), 1.0), (0j, 1j)],
)
def test_different_values_are_not_the_same(a, b):
    assert not same(a, b)


def test_equal_values_are_the_same():
    assert same(
        [1.0, float("nan"), float("inf"), "x", {"a": 1j}], [1.0 + 1e-9, float("nan"), float("inf"), "x", {"a": 1j}]
    )


def test_a_tensor_is_compared_by_shape_dtype_and_gradient():
    x = jaxvjp.tensor([1.0])
    assert plain(x) != plain(jaxvjp.tensor([[1.0]]))
    assert plain(x) != plain(jaxvjp.tensor([1.0], dtype=jaxvjp.float64))
    assert plain(x) != plain(jaxvjp.tensor([1.0], requires_grad=True))


@needs_torch
def test_a_difference_is_found():
    def only_here(torch):
        return torch.tensor(1.0 if torch is live else 2.0)

    with pytest.raises(AssertionError):
        agree(only_here)


@needs_torch
def test_another_error_is_found():
    def raises(torch):
        raise RuntimeError("one" if torch is live else "two")

    with pytest.raises(AssertionError):
        agree(raises)


@needs_torch
@pytest.mark.parametrize("raises_under_torch", [True, False])
def test_an_error_under_one_alone_is_found(raises_under_torch):
    def program(torch):
        if (torch is live) is raises_under_torch:
            raise ValueError("only here")

    with pytest.raises((AssertionError, ValueError)):
        agree(program)


def test_an_outcome_is_a_value_or_an_error():
    assert Outcome(lambda module: module.x, SimpleNamespace(x=3)).value == 3
    assert Outcome(lambda module: module.y, SimpleNamespace()).error is not None

"""`functional_call` with arrays of JAX's in place of tensors: the error says what to write, and no numbers."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import jaxvjp as torch


def test_an_array_for_a_parameter_is_told_by_its_type_and_what_to_write():
    layer = torch.nn.Linear(30, 20)
    with pytest.raises(TypeError) as told:
        torch.func.functional_call(layer, {"weight": jnp.ones((20, 30))}, (torch.ones(30),))
    first, advice = str(told.value).split("\n")
    assert first == "jax.Array float32[20,30] is not an instance of torch.Tensor"
    assert advice.startswith("It is given for 'weight'. Make one of it first: `")
    assert advice.endswith(".from_jax(array)`.")
    made = {"weight": torch.from_jax(jnp.ones((20, 30))), "bias": torch.zeros(20)}
    assert torch.func.functional_call(layer, made, (torch.ones(30),)).tolist() == [30.0] * 20

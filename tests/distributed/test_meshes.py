"""Tensors over the eight devices that JAX makes of one CPU, in a process of its own, which runs a script as torch's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import jaxvjp

HERE = Path(__file__).parent
FIRST, SECOND = "(Shard(dim=0),)", "(Shard(dim=1),)"
BOTH = "(Replicate(),)"


def run(devices, script, *arguments):
    command = [sys.executable, "-m", "jaxvjp", "run", "--devices", str(devices), str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": "."})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def told():
    return run(8, "on_eight_devices.py")


def test_meshes_are_grids_of_devices(told):
    line, grid, part, *numbers, same = told["meshes"]
    assert (line, grid, part) == (
        "DeviceMesh((8), 'cpu')",
        "DeviceMesh((dp=2, tp=4), 'cpu')",
        "DeviceMesh((tp=4), 'cpu')",
    )
    assert numbers == [[[0, 1, 2, 3], [4, 5, 6, 7]], [0, 1, 2, 3]]
    assert not same


def test_a_tensor_on_no_mesh_lists_none_of_the_attributes_of_one_that_is():
    from jaxvjp.distributed.tensor import Replicate, distribute_tensor

    x, names = jaxvjp.ones(2, 2), {"device_mesh", "placements", "full_tensor", "redistribute", "to_local"}
    assert not names & set(dir(x))
    assert {"shape", "grad"} < set(dir(x))
    assert names < set(dir(distribute_tensor(x, jaxvjp.distributed.init_device_mesh("cpu", (1,)), [Replicate()])))


@pytest.mark.parametrize("shape", [(0,), (1, 0), (-1,)])
def test_a_mesh_has_devices(shape):
    with pytest.raises(ValueError, match="A mesh has at least one device along each dimension"):
        jaxvjp.distributed.init_device_mesh("cpu", shape)
    with pytest.raises(ValueError, match=r"one of shape \(0,\) has none"):
        jaxvjp.distributed.DeviceMesh("cpu", [])


def test_values_and_gradients_are_those_of_one_device(told):
    np.testing.assert_allclose(told["gradients"], 0, atol=1e-4)  # of numbers up to 100
    assert told["batched"] == [[6.0 + 16 * row for row in range(8)], [[1.0] * 4] * 8]


def test_a_gradient_lies_as_its_parameter_and_elementwise_results_as_their_operand(told):
    assert told["placements"] == [FIRST, SECOND, SECOND, FIRST, SECOND, FIRST]
    assert told["which are"] == [True, True, False, False, True]
    assert told["device"] == ["cpu", True, True]


def test_placements_over_two_dimensions_of_a_mesh(told):
    (gathered, everywhere), (part, split), (_, _) = told["grid"]
    assert (gathered, everywhere) == ([[0.0, 1.0]], "(Replicate(), Replicate())")
    assert (part, split) == ([[0.0, 1.0, 2.0, 3.0]], "(Replicate(), Shard(dim=1))")
    assert told["grid"][2][0] == [[6.0 * each for each in range(4)], [6.0 * each for each in range(4, 8)]]
    assert told["redistributed"] == [[np.arange(32.0).reshape(8, 4).tolist(), "(Shard(dim=1), Replicate())"]]
    assert [each[1] for each in told["made"]] == [FIRST, "(Replicate(), Replicate())"]


def test_writes_in_place_keep_the_layout_of_what_is_written(told):
    (value, placements), stays, into = told["written"]
    expected = np.arange(32.0).reshape(8, 4)
    expected[0] = 5
    assert value == into == (2 * expected).tolist()
    assert placements == "(Shard(dim=0), Shard(dim=1))"
    assert stays is False


def test_a_module_is_put_on_a_mesh(told):
    assert told["module"] == [FIRST] + [BOTH] * 6


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("too many", "RuntimeError: Mesh should not be bigger than default world size 8, but found 16 ranks!"),
        ("twice", "RuntimeError: Each device may be in a mesh once"),
        ("uneven", "ValueError: Dimension 0 of a tensor of shape [7, 16] cannot be split over 8 devices"),
        ("uneven module", "ValueError: Dimension 0 of a tensor of shape [9, 3] cannot be split over 8 devices"),
        ("partial", "RuntimeError: Trying to distribute tensor with unsupported placements P(sum)"),
        ("dimension", "IndexError: Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
        (
            "count",
            "ValueError: `placements` must have the same length as `device_mesh.ndim`! Found",
        ),
        ("no leaf", "RuntimeError: `distribute_tensor` should be used to distribute leaf tensors!"),
        ("meshes", "RuntimeError: DTensor does not support cross-mesh operation yet!"),
        ("written", "RuntimeError: DTensor does not support cross-mesh operation yet!"),
        ("again", "ValueError: Dimension 1 of a tensor of shape [8, 4] cannot be split"),
        ("name", "KeyError: \"Invalid mesh_dim_names ('pp',) specified"),
        ("on none", "AttributeError: 'Tensor' object has no attribute 'placements'"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changed(told, what, sentence):
    assert told["refused"][what].startswith(sentence)
    assert told["unchanged"]


def test_a_staged_step_has_the_collectives_of_the_same_step_written_in_jax(told):
    for ours, by_hand, losses in told["collectives"]:
        assert sum(by_hand.values()) > 0
        assert all(ours[kind] <= count for kind, count in by_hand.items()), (ours, by_hand)
        assert losses[1] < losses[0]
    assert told["dispatches"] == [1, 1]


def test_an_array_that_is_laid_out_over_a_mesh_comes_from_jax(told):
    numbers = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    twice = [2 * each for each in numbers]
    assert told["from JAX"] == [[numbers, FIRST], [twice, FIRST], [numbers, FIRST], [numbers, FIRST]]
    assert told["explicit"] == ["Explicit"]
    assert told["same memory"]


@pytest.mark.parametrize(("how", "placements"), [("replicated", [BOTH]), ("sharded", [FIRST])])
def test_training_gives_the_same_numbers_on_eight_devices(told, how, placements):
    losses, sums, _ = told["trained"]["alone"]
    assert losses[-1] < 0.8 * losses[0]
    own_losses, own_sums, placed = told["trained"][how]
    np.testing.assert_allclose(own_losses, losses, rtol=1e-5)
    np.testing.assert_allclose(own_sums, sums, rtol=1e-5, atol=1e-5)
    assert placed == placements

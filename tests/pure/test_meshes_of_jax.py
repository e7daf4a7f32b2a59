"""Arrays over meshes that JAX's users make, whose axes are `Explicit` by default, cross to tensors and back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def told():
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    program = Path(__file__).with_name("on_four_devices.py")
    run = subprocess.run(
        [sys.executable, program], env=os.environ | devices | {"PYTHONPATH": "."}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("what", ["there and back", "set", "wrapped", "collectives"])
def test_values_and_shardings_are_those_of_jax_alone(told, what):
    """On a mesh that is set by `jax.set_mesh` as on one that is not."""
    assert told[what] == [True] * len(told[what])


def test_what_a_wrapped_function_puts_on_a_mesh_has_a_gradient_at_home(told):
    assert told["gradient"] == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]

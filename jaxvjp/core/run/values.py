"""Reads values: `operand_of(node)` as an operand of a program, `array_of(node)` as a `jax.Array`.

A new tensor of at most 64 KB is kept as a NumPy array (`graph.Value`). It goes to the device when a second program
needs it; the first is called with the NumPy array, and marks it (`UsedOnce`). Measured on a CPU: a loop of small
programs, each over new tensors made of Python numbers, takes 2.7 times as long if they are put on the device at once. A
loop whose every step reads the same two tensors of 4,096 floats takes 1.13 times as long if they are never put there.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxvjp.core.record.graph import Node
from jaxvjp.types.devices import put
from jaxvjp.types.meshes import OnMesh


class UsedOnce(np.ndarray[Any, Any]):
    """A NumPy array that has been an operand of one program."""


def operand_of(node: Node) -> Any:
    """The value of `node` as an operand of a program: a `jax.Array` or a NumPy array.

    A NumPy array is put on the device here when it is asked for again.
    """
    value = node.value
    if type(value) is np.ndarray:
        node.value = value.view(UsedOnce)
    elif type(value) is UsedOnce:
        value = array_of(node)
    return value


def array_of(node: Node) -> Any:
    """The value of `node` as a `jax.Array`, which `node.value` is from then on."""
    value = node.value
    if isinstance(value, np.ndarray):
        with jax.enable_x64(True):
            node.value = value = put(value.view(np.ndarray), node.device)
    return value


def readonly_array_of(node: Node) -> np.ndarray[Any, Any]:
    """The value of a node that has one, as an array of NumPy's that cannot be written."""
    try:
        array: np.ndarray[Any, Any] = np.asarray(node.value)
    except RuntimeError as error:
        if type(node.device) is not OnMesh:
            raise
        raise RuntimeError(
            "The tensor is split over several processes, none of which has all of it\n"
            "Call `x.full_tensor()` in every process, and read that."
        ) from error
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array

"""What every op on matrices asks of its operands, in torch's words.

Use this module to demand a matrix (`matrices`), a square one (`square`) of floating or complex numbers
(`floating`), of one type with another (`same_type`), and take transposes of whole batches (`transposed`, `adjoint`).
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from jaxvjp.types.dtypes import CTYPES, from_numpy


class LinAlgError(RuntimeError):
    """A matrix whose numbers do not allow what was asked: it is singular, or not positive definite.

    Counterpart of `torch.linalg.LinAlgError`. Underneath: JAX gives NaN there, which is read.
    """


def legacy(array):
    """The name that torch's messages have for an array's type: `Float`."""
    return from_numpy(array.dtype).legacy


def ctype(array):
    """The name that C++ has for an array's type: `float`."""
    return CTYPES.get(array.dtype.name, array.dtype.name)


def floating(array, name):
    """`array`, once it is sure that its numbers are floating or complex, and not half ones; else RuntimeError."""
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {legacy(array)}\n"
            "Convert it first: `x.float()`."
        )
    if array.dtype.itemsize == 2:
        raise RuntimeError(
            f"{name}: Low precision dtypes not supported. Got {legacy(array)}\nConvert it first: `x.float()`."
        )
    return array


def matrices(array, name, operand="A"):
    """`array`, once it is sure that it is a matrix or a batch of them; else RuntimeError."""
    if array.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor {operand} must have at least 2 dimensions.\nIts shape is {list(array.shape)}."
        )
    return array


def square(array, name, operand="A"):
    """`array`, once it is sure that its matrices are square; else RuntimeError."""
    matrices(array, name, operand)
    if array.shape[-1] != array.shape[-2]:
        raise RuntimeError(
            f"{name}: {operand} must be batches of square matrices, but they are {array.shape[-2]} by "
            f"{array.shape[-1]} matrices"
        )
    return array


def same_type(first, second, name, operands="A and B"):
    """RuntimeError where the two operands have not one type, as linear algebra does not promote."""
    if first.dtype != second.dtype:
        one, two = operands.split(" and ")
        raise RuntimeError(
            f"{name}: Expected {operands} to have the same dtype, but found {one} of type {legacy(first)} and {two} of "
            f"type {legacy(second)} instead\nConvert one of them: `a.to(b.dtype)`."
        )


def transposed(array):
    """Every matrix turned over."""
    return jnp.swapaxes(array, -1, -2)


def adjoint(array):
    """Every matrix turned over and conjugated."""
    return jnp.conj(transposed(array))


def stacked(first, second, leading=2):
    """Two arrays with the batch dimensions, all but the last `leading`, of both."""
    batch = jnp.broadcast_shapes(first.shape[:-leading], second.shape[:-leading])
    return tuple(jnp.broadcast_to(each, (*batch, *each.shape[-leading:])) for each in (first, second))


def refusing(name: str, told: str) -> Callable[..., None]:
    """A row's column `refuse`: LinAlgError, `told` with the number, for the first matrix whose number is not 0."""

    def refuse(info: np.ndarray) -> None:
        if info.any():
            place = int(np.flatnonzero(info)[0])
            batch = f"(Batch element {place}): " if info.ndim else ""
            raise LinAlgError(f"{name}: {batch}{told.format(info.flat[place])}")

    return refuse

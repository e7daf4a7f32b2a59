"""Checks of the operands of ops on matrices, with torch's errors.

They ask for a matrix (`matrices`), a square one (`square`), floating or complex numbers (`floating`), or one dtype
(`same_type`). `transposed` and `adjoint` take transposes of whole batches, `singular_values` those of each matrix.
"""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from jaxvjp.types.dtypes import CTYPES, from_numpy


class _LinAlgError(RuntimeError):  # torch's name, which a traceback shows
    """The values of a matrix allow no result: it is singular, say, or not positive definite.

    Counterpart of `torch.linalg.LinAlgError`. Underneath: JAX raises nothing and gives NaN; a check of the values
    raises.
    """


LinAlgError = _LinAlgError


def legacy(array):
    """torch's old name of an array's dtype, as in its messages: `Float`."""
    return from_numpy(array.dtype).legacy


def ctype(array):
    """The C++ name of an array's dtype: `float`."""
    return CTYPES.get(array.dtype.name, array.dtype.name)


def inexact(array, name):
    """`array` unchanged; RuntimeError unless its dtype is floating or complex."""
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {legacy(array)}\n"
            "Convert it first: `x.float()`."
        )
    return array


def floating(array, name):
    """`array` unchanged; RuntimeError unless its dtype is floating or complex, and not of 16 bits."""
    if inexact(array, name).dtype.itemsize == 2:
        raise RuntimeError(
            f"{name}: Low precision dtypes not supported. Got {legacy(array)}\nConvert it first: `x.float()`."
        )
    return array


def matrices(array, name, operand="A"):
    """`array` unchanged; RuntimeError unless it is a matrix or a batch of them."""
    if array.ndim < 2:
        called = f"The input tensor {operand}".rstrip()
        raise RuntimeError(f"{name}: {called} must have at least 2 dimensions.\nIts shape is {list(array.shape)}.")
    return array


def square(array, name, operand="A"):
    """`array` unchanged; RuntimeError unless its matrices are square."""
    matrices(array, name, operand)
    if array.shape[-1] != array.shape[-2]:
        said = f"{name}: {operand}" if name else operand
        raise RuntimeError(
            f"{said} must be batches of square matrices, but they are {array.shape[-2]} by {array.shape[-1]} matrices"
        )
    return array


def same_type(first, second, name, operands="A and B"):
    """RuntimeError unless the two operands have one dtype: linear algebra does not promote."""
    if first.dtype != second.dtype:
        one, two = operands.split(" and ")
        raise RuntimeError(
            f"{name}: Expected {operands} to have the same dtype, but found {one} of type {legacy(first)} and {two} of "
            f"type {legacy(second)} instead\nConvert one of them: `a.to(b.dtype)`."
        )


def one_scalar_type(wanted, given, advice=""):
    """torch's RuntimeError unless the two arrays have one dtype; `advice` is what to write instead."""
    if wanted.dtype != given.dtype:
        raise RuntimeError(f"expected scalar type {legacy(wanted)} but found {legacy(given)}{advice}")


def one_type_of_products(first, second, advice=""):
    """The same, as torch's products of matrices say it."""
    if first.dtype != second.dtype:
        told = "expected m1 and m2 to have the same dtype, but got:"
        raise RuntimeError(f"{told} {ctype(first)} != {ctype(second)}{advice}")


def of_dims(count, told, **arrays):
    """RuntimeError for the first of the arrays that has not `count` dimensions: `told`, with its name and shape."""
    for name, each in arrays.items():
        if each.ndim != count:
            raise RuntimeError(told.format(name=name, ndim=each.ndim, shape=list(each.shape)))


def with_errors(results, check_errors):
    """The results of an op that ends in `_ex`, of which the last is checked if `check_errors` asks for it."""
    return (*results, results[-1]) if check_errors else results


def transposed(array):
    """Every matrix transposed."""
    return jnp.swapaxes(array, -1, -2)


def adjoint(array):
    """Every matrix transposed and conjugated."""
    return jnp.conj(transposed(array))


def singular_values(array):
    """Those of every matrix, in descending order. JAX needs memory for whole U and Vh unless told otherwise."""
    return jnp.linalg.svd(array, full_matrices=False, compute_uv=False)


def stacked(first, second, leading=2):
    """Two arrays with their batch dimensions, all but the last `leading`, broadcast together."""
    batch = jnp.broadcast_shapes(first.shape[:-leading], second.shape[:-leading])
    return tuple(jnp.broadcast_to(each, (*batch, *each.shape[-leading:])) for each in (first, second))


def decomposable(values, shapes, *, hermitian=False, **_):
    """A check for a row's column `check_values`: there are no singular values of NaN."""
    if not hermitian and np.isnan(values).any():
        told = "The algorithm failed to converge because the input matrix contained non-finite values."
        raise LinAlgError(f"linalg.svd: {told}")


def refusing(name: str, told: str) -> Callable[..., None]:
    """A check for a row's column `check_result`: LinAlgError for the first matrix whose number is not 0; `told` says it
    with the number."""

    def refuse(info: np.ndarray) -> None:
        if info.any():
            place = int(np.flatnonzero(info)[0])
            batch = f"(Batch element {place}): " if info.ndim else ""
            raise LinAlgError(f"{name}: {batch}{told.format(info.flat[place])}")

    return refuse

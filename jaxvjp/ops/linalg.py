"""Products of vectors and matrices. `op` comes before this room.

float32 products keep float32's precision on every device (`Precision.HIGHEST`), as torch's do by default.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from jaxvjp.dtypes import from_numpy
from jaxvjp.ops.op import op
from jaxvjp.ops.pointwise import broadcast

_product = partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)


CTYPES = {
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
"""What torch, on Linux, calls the types of a matrix product's operands."""


def _same_type(name, input, other):
    if input.dtype != other.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {_ctype(input)} != {_ctype(other)}\n"
            f"Unlike `*`, {name} does not promote: convert one operand, `a.to(b.dtype)`."
        )


def _ctype(array):
    return CTYPES.get(array.dtype.name, array.dtype.name)


def _matrix(array, position):
    if array.ndim != 2:
        raise RuntimeError(
            f"{position} must be a matrix\nmm takes two 2-dimensional tensors and got one of shape "
            f"{list(array.shape)}; `a @ b` multiplies vectors and batches too."
        )


@op(saves="input for mat2, mat2 for input", arities=((2, 3), (3, 4)))
def mm(input, mat2):
    """The matrix product of an n×k and a k×m matrix."""
    _matrix(input, "self")
    _matrix(mat2, "mat2")
    _same_type("mm", input, mat2)
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({input.shape[0]}x{input.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]})\n"
            f"The columns of the first ({input.shape[1]}) must be as many as the rows of the second "
            f"({mat2.shape[0]}); `.t()` turns a matrix over."
        )
    return _product(input, mat2)


@op(saves="input for tensor, tensor for input")
def dot(input, tensor):
    """The inner product of two vectors."""
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.dtype != tensor.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{from_numpy(input.dtype).legacy} and {from_numpy(tensor.dtype).legacy}\n"
            "Unlike `*`, dot does not promote: convert one operand, `a.to(b.dtype)`."
        )
    if input.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.shape[0]}] and src [{tensor.shape[0]}] to have the "
            f"same number of elements, but got {input.shape[0]} and {tensor.shape[0]} elements respectively"
        )
    return _product(input, tensor)


@op(saves="input for vec, vec for input")
def mv(input, vec):
    """The product of an n×m matrix and a vector of length m."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    _same_type("mv", input, vec)
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), "
            f"vec ({vec.shape[0]})"
        )
    return _product(input, vec)


def _matmul_name(static, avals):
    vector = [len(each.shape) == 1 for each in avals]
    if max(len(each.shape) for each in avals) <= 2:
        return {(True, True): "DotBackward0", (False, True): "MvBackward0", (True, False): "SqueezeBackward4"}.get(
            (vector[0], vector[1]), "MmBackward0"
        )
    return "SqueezeBackward1" if any(vector) else "UnsafeViewBackward0"


@op(saves="input for other, other for input", operator="@", grad_fn=_matmul_name)
def matmul(input, other):
    """The matrix product; a vector counts as a row on the left, a column on the right, further dimensions as batch."""
    if 0 in (input.ndim, other.ndim):
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {input.ndim}D and {other.ndim}D"
        )
    by_dims = {(1, 1): dot, (2, 1): mv, (2, 2): mm}.get((input.ndim, other.ndim))
    if by_dims is not None:
        return by_dims.function(input, other)
    _same_type("matmul", input, other)
    rows, columns = input.shape[-1], other.shape[max(other.ndim - 2, 0)]
    if rows != columns:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({_flat(input)} and {_flat(other)})\n"
            f"The last dimension of the first ({rows}) must be as long as the second-to-last of the second ({columns})."
        )
    broadcast(jax.ShapeDtypeStruct(input.shape[:-2], input.dtype), jax.ShapeDtypeStruct(other.shape[:-2], other.dtype))
    return _product(input, other)


def _flat(array):
    """The matrix that torch sees where it multiplies batches: all leading dimensions folded into the rows."""
    if array.ndim == 1:
        return f"1x{array.shape[0]}"
    return f"{array.size // max(array.shape[-1], 1)}x{array.shape[-1]}"

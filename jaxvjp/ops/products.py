"""Products of vectors and matrices.

float32 products keep float32's precision on every device, as torch's do by default; `set_float32_matmul_precision`
allows less.
"""

import copy
import math
import sys
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Scalar
from jaxvjp.ops.matrices import ctype, legacy, of_dims, one_scalar_type, one_type_of_products
from jaxvjp.ops.op import ARITHMETIC, OPMATH, SHORT, Op, op
from jaxvjp.ops.pointwise import assigned, broadcast, fitting_numbers
from jaxvjp.types.dtypes import forget_calls
from jaxvjp.types.user_code import warn_user

PRECISIONS = {"highest": jax.lax.Precision.HIGHEST, "high": jax.lax.Precision.HIGH, "medium": jax.lax.Precision.DEFAULT}
"""JAX's precision for each word of torch: float32 itself; TensorFloat32 or three passes of bfloat16; the device's
fastest."""

_asked: ContextVar[jax.lax.Precision] = ContextVar("_asked", default=PRECISIONS["highest"])
_setting = "highest"


def set_float32_matmul_precision(precision: str) -> None:
    """How precise float32 matrix products recorded from now on have to be: "highest", "high" or "medium".

    A CPU computes all three alike. Any other word has no effect but a warning, as in torch. It is part of the recorded
    program. Counterpart of `torch.set_float32_matmul_precision`; underneath: the `precision` of `jax.lax.dot_general`.
    """
    global _setting
    if precision not in PRECISIONS:
        warn_user(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has "
            "no effect."
        )
        return
    _setting = sys.intern(precision)
    forget_calls()


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was last called with: "highest", "high" or "medium".

    Counterpart of `torch.get_float32_matmul_precision`. Underneath: the `precision=` of JAX's products.
    """
    return _setting


def at_setting(row: Op, operands: Any, static: Any) -> Any:
    """For a row's column `rewrite`: the row itself, or the twin of less precision if the setting allows that."""
    return (row if _setting == "highest" else _relaxed(row, _setting)), operands, static


at_setting.by_setting = True  # type: ignore[attr-defined]


@cache
def _relaxed(row: Op, setting: str) -> Op:
    twin = copy.copy(row)

    @wraps(row.function)  # with its signature, which a row is read from at its first use
    def function(*operands, **static):
        token = _asked.set(PRECISIONS[setting])
        try:
            return row.function(*operands, **static)
        finally:
            _asked.reset(token)

    twin.function = function
    return twin


def precision():
    """The `precision=` of JAX for the row that is being traced."""
    return _asked.get()


def product(input, other):
    """`jnp.matmul` with the precision of the row that is being traced."""
    return jnp.matmul(input, other, precision=precision())


def numeric(array, kernel):
    """NotImplementedError for bool matrices, which torch does not multiply."""
    if array.dtype == bool:
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'\nConvert it first: `x.int()`.")


UNPROMOTED = "\nUnlike `*`, {} does not promote: convert one operand, `a.to(b.dtype)`."
NO_MATRIX = (
    "{name} must be a matrix\nmm takes two 2-dimensional tensors and got one of shape {shape}; `a @ b` multiplies "
    "vectors and batches too."
)


@op(saves="mat2 for input, input for mat2", arities=((2, 3), (3, 4)), rewrite=at_setting)
def mm(input, mat2):
    """The matrix product of an n×k and a k×m matrix."""
    of_dims(2, NO_MATRIX, self=input, mat2=mat2)
    one_type_of_products(input, mat2, UNPROMOTED.format("mm"))
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({input.shape[0]}x{input.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]})\n"
            f"The columns of the first ({input.shape[1]}) must be as many as the rows of the second "
            f"({mat2.shape[0]}); `.t()` turns a matrix over."
        )
    numeric(input, "addmm_impl_cpu_")
    return product(input, mat2)


@op(saves="mat2 for input, input for mat2", arities=((2, 3), (3, 4)), rewrite=at_setting)
def bmm(input, mat2):
    """The matrix products of b n×k and b k×m matrices."""
    told = "{name} must be a 3D tensor\nIts shape is {shape}; `a @ b` takes any."
    of_dims(3, told, batch1=input, batch2=mat2)
    one_scalar_type(input, mat2)
    wanted = [input.shape[0], input.shape[2]]
    if list(mat2.shape[:2]) != wanted:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: {list(mat2.shape[:2])}."
        )
    numeric(input, "bmm")
    return product(input, mat2)


def _vectors(input, tensor):
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.dtype != tensor.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {legacy(input)} and {legacy(tensor)}"
            + UNPROMOTED.format("dot")
        )
    if input.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.shape[0]}] and src [{tensor.shape[0]}] to have the "
            f"same number of elements, but got {input.shape[0]} and {tensor.shape[0]} elements respectively"
        )
    numeric(input, "dot")


@op(saves="input for tensor, tensor for input", rewrite=at_setting)
def dot(input, tensor):
    """The inner product of two vectors."""
    _vectors(input, tensor)
    return product(input, tensor)


@op(saves="input for other, other for input")
def vdot(input, other):
    """The inner product of two vectors, the first of them conjugated."""
    _vectors(input, other)
    return product(jnp.conj(input), other)


@op(saves="input for vec, vec for input", rewrite=at_setting)
def mv(input, vec):
    """The product of an n×m matrix and a vector of length m."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    _one_type_of_addmv(vec, input, vec)
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), "
            f"vec ({vec.shape[0]})"
        )
    numeric(input, "addmv_impl_cpu")
    return product(input, vec)


def _one_type_of_addmv(input, mat, vec):
    """RuntimeError unless the three have one dtype, in the words of a matrix times a vector."""
    if not input.dtype == mat.dtype == vec.dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {legacy(input)}, {legacy(mat)}, and {legacy(vec)}"
            + UNPROMOTED.format("mv")
        )


def _matmul_name(static, avals):
    vector = [len(aval.shape) == 1 for aval in avals]
    if max(len(aval.shape) for aval in avals) <= 2:
        return {(True, True): "DotBackward0", (False, True): "MvBackward0", (True, False): "SqueezeBackward4"}.get(
            (vector[0], vector[1]), "MmBackward0"
        )
    return "SqueezeBackward1" if any(vector) else "UnsafeViewBackward0"


def _of_vectors(row, operands, static):
    """`dot` or `mv` where the right operand is a vector: torch saves their operands in another order."""
    input, other = (len(operand.aval.shape) for operand in operands)
    if other == 1 and input in (1, 2):
        row = dot if input == 1 else mv
    return at_setting(row, operands, static)


@op(
    saves="other for input, input for other",
    operator="@",
    aliases="linalg.matmul",
    grad_fn=_matmul_name,
    rewrite=_of_vectors,
)
def matmul(input, other):
    """The matrix product; a vector counts as a row on the left, a column on the right, further dimensions as batch."""
    if 0 in (input.ndim, other.ndim):
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {input.ndim}D and {other.ndim}D"
        )
    by_dims = {(1, 1): dot, (2, 1): mv, (2, 2): mm}.get((input.ndim, other.ndim))
    if by_dims is not None:
        return by_dims.function(input, other)
    if other.ndim == 1:
        _one_type_of_addmv(other, input, other)
    told = one_type_of_products if other.ndim == 2 else one_scalar_type
    told(input, other, UNPROMOTED.format("matmul"))
    batches = [jax.ShapeDtypeStruct(each.shape[:-2], each.dtype) for each in (input, other)]
    broadcast(*batches)
    rows, columns = input.shape[-1], other.shape[max(other.ndim - 2, 0)]
    if rows != columns:
        if other.ndim < 3:  # torch folds all leading dimensions into the rows of one matrix
            return (mm if other.ndim == 2 else mv).function(input.reshape(math.prod(input.shape[:-1]), rows), other)
        batch = math.prod(jnp.broadcast_shapes(*[each.shape for each in batches]))
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {rows}] but got: "
            f"[{batch}, {columns}].\n"
            f"The last dimension of the first ({rows}) must be as long as the second-to-last of the second ({columns})."
        )
    numeric(input, "bmm")
    return product(input, other)


@op(promotion=ARITHMETIC, saves="input for vec2, vec2 for input", aliases="ger", grad_fn="MulBackward0")
def outer(input, vec2):
    """Each element of one vector times each of another, as a matrix."""
    of_dims(1, "outer: Expected 1-D argument {name}, but got {ndim}-D", self=input, vec2=vec2)
    return input[:, None] * vec2


@op(saves="input for other, other for input", grad_fn="ViewBackward0", rewrite=at_setting)
def inner(input, other):
    """The sum of products over the last dimension of both operands; with a 0-dim one their product."""
    if input.dtype != other.dtype:
        raise RuntimeError("both inputs should have same dtype\nConvert one of them: `a.to(b.dtype)`.")
    if 0 in (input.ndim, other.ndim):
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    numeric(input, "addmm_impl_cpu_")
    return jnp.inner(input, other, precision=precision())


# Products that are added to something.


def _added(input, term, beta, alpha):
    """`beta * input + alpha * term`, in the dtype of `term`. With a `beta` of 0 `input` is ignored, even if it is
    NaN."""
    if jnp.iscomplexobj(beta * alpha) and not jnp.iscomplexobj(term):
        raise RuntimeError(f"value cannot be converted to type {ctype(term)} without overflow")
    if not jnp.issubdtype(term.dtype, jnp.inexact):
        beta, alpha = beta.astype(term.dtype), alpha.astype(term.dtype)  # truncated, as in C: 0.6 is then 0
    wide = "float32" if term.dtype in SHORT else term.dtype  # as the gradient of what is expanded is a long sum
    kept = jnp.where(beta == 0, 0, beta * assigned.function(term.astype(wide), input.astype(wide)))
    return (kept + alpha * term.astype(wide)).astype(term.dtype)


def _one_type_of_addmm(input, mat1, mat2):
    """RuntimeError unless the three have one dtype, in the words of a product of matrices that is added."""
    for name, each in (("self", input), ("mat1", mat1)):
        if each.dtype != mat2.dtype:
            raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {legacy(each)} and {legacy(mat2)}")


@op(inplace=True, saves="mat1 for mat2, mat2 for mat1", rewrite=at_setting, numbers=OPMATH)
def addmm(input, mat1, mat2, *, beta: Scalar = 1, alpha: Scalar = 1):
    """`beta * input + alpha * (mat1 @ mat2)` of two matrices."""
    of_dims(2, "{name} must be a matrix, got {ndim}-D tensor", mat1=mat1, mat2=mat2)
    _one_type_of_addmm(input, mat1, mat2)
    return _added(input, mm.function(mat1, mat2), beta, alpha)


@op(inplace=True, saves="mat for vec, vec for mat", rewrite=at_setting)
def addmv(input, mat, vec, *, beta: Scalar = 1, alpha: Scalar = 1):
    """`beta * input + alpha * (mat @ vec)`."""
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    rows, columns = mat.shape
    if columns != vec.shape[0] or (input.size != 1 and input.shape != (rows,)):
        raise RuntimeError(
            f"size mismatch, got input ({input.size}), mat ({rows}x{columns}), vec ({vec.shape[0]})\n"
            "The matrix has as many columns as the vector has elements, and as many rows as the input."
        )
    _one_type_of_addmv(input, mat, vec)
    return _added(input, mv.function(mat, vec), beta, alpha)


def _fitting(row, operands, static):
    *beside, beta, alpha = operands
    fitting_numbers(beside, beta=beta, alpha=alpha)
    return row, operands, static


@op(promotion=ARITHMETIC, inplace=True, saves="vec1 for vec2, vec2 for vec1", rewrite=_fitting)
def addr(input, vec1, vec2, *, beta: Scalar = 1, alpha: Scalar = 1):
    """`beta * input + alpha * outer(vec1, vec2)`."""
    of_dims(1, "addr: Expected 1-D argument {name}, but got {ndim}-D", vec1=vec1, vec2=vec2)
    return _added(input, vec1[:, None] * vec2, beta, alpha)


@op(inplace=True, saves="batch1 for batch2, batch2 for batch1", rewrite=at_setting, numbers=OPMATH)
def baddbmm(input, batch1, batch2, *, beta: Scalar = 1, alpha: Scalar = 1):
    """`beta * input + alpha * bmm(batch1, batch2)`."""
    if input.dtype != batch1.dtype:
        types = f"input {ctype(input)}, batch1: {ctype(batch1)}, batch2: {ctype(batch2)}"
        raise RuntimeError(f"Input dtypes must be the same, got: {types}")
    return _added(input, bmm.function(batch1, batch2), beta, alpha)


@op(inplace=True, saves="batch1 for batch2, batch2 for batch1", rewrite=at_setting, numbers=OPMATH)
def addbmm(input, batch1, batch2, *, beta: Scalar = 1, alpha: Scalar = 1):
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)`."""
    of_dims(3, "{name} must be a 3D tensor", batch1=batch1, batch2=batch2)
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and {batch2.shape[0]}"
        )
    if batch1.shape[2] != batch2.shape[1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for bmm ({batch1.shape[1]}x{batch1.shape[2]} and "
            f"{batch2.shape[1]}x{batch2.shape[2]})"
        )
    _one_type_of_addmm(input, batch1, batch2)
    return _added(input, jnp.einsum("bij,bjk->ik", batch1, batch2, precision=precision()), beta, alpha)


@op(public="")
def two_loops(grad, diagonal, changes, steps, weights):
    """Minus the gradient times the inverse Hessian that the last steps suggest: the two loops of L-BFGS."""

    def back(rest, row):
        change, step, weight = row
        part = jnp.sum(step * rest) * weight
        return rest - change * part, part

    def forth(way, row):
        change, step, weight, part = row
        return way + step * (part - jnp.sum(change * way) * weight), None

    rest, parts = jax.lax.scan(back, -grad, (changes, steps, weights), reverse=True)
    return jax.lax.scan(forth, rest * diagonal, (changes, steps, weights, parts))[0]

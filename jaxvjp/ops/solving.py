"""Linear equations: inverses, solutions, pseudo-inverses.

Ops that need a regular matrix read its values and raise before they return; those that end in `_ex` do so only if asked
to.
"""

import math

import jax
import jax.numpy as jnp
from jax.lax.linalg import lu, lu_pivots_to_permutation, triangular_solve

from jaxvjp.ops.arguments import Dims, Either, Flag, Index, Text, axes
from jaxvjp.ops.layouts import COLUMNS
from jaxvjp.ops.matrices import (
    adjoint,
    decomposable,
    floating,
    legacy,
    matrices,
    refusing,
    same_type,
    singular_values,
    square,
    stacked,
    transposed,
    with_errors,
)
from jaxvjp.ops.op import op
from jaxvjp.ops.pointwise import broadcast
from jaxvjp.ops.products import numeric
from jaxvjp.types.user_code import warn_of_older

SINGULAR = "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
UNSOLVED = "The solver failed because the input matrix is singular."


def singular(A):
    """For each square matrix the position, counted from 1, of the first zero on the diagonal of its U; 0 if none."""
    return _first_zero(lu(jax.lax.stop_gradient(A))[0])


def _first_zero(factors):
    """The position, counted from 1, of the first zero on the diagonal of each matrix; 0 if there is none."""
    zero = jnp.diagonal(jax.lax.stop_gradient(factors), axis1=-2, axis2=-1) == 0
    if not min(factors.shape[-2:]):
        return jnp.zeros(factors.shape[:-2], jnp.int32)
    return jnp.where(zero.any(-1), jnp.argmax(zero, -1) + 1, 0).astype(jnp.int32)


INVERSES = {"saves": "result", "keeps": COLUMNS}


@op(grad_fn="LinalgInvExBackward0", check_result=refusing("linalg.inv", SINGULAR), aliases="inverse", **INVERSES)
def linalg_inv(A):
    """The inverse of a square matrix; LinAlgError where it is singular."""
    square(floating(A, "linalg.inv"), "linalg.inv")
    return jnp.linalg.inv(A), singular(A)


@op(returns=("inverse", "info"), check_result=refusing("linalg.inv_ex", SINGULAR), **INVERSES)
def linalg_inv_ex(A, *, check_errors: Flag = False):
    """The inverse of a square matrix; and 0, or the position of the zero on U's diagonal that makes it singular."""
    return with_errors(linalg_inv.function(A), check_errors)


@op(aliases="matrix_power", saves="input", grad_fn="MmBackward0", check_result=refusing("linalg.inv", SINGULAR))
def linalg_matrix_power(input, n: Index):
    """A square matrix multiplied by itself `n` times; its inverse where `n` is negative."""
    square(input, "linalg.matrix_power")
    numeric(input, "addmm_impl_cpu_")
    with jax.default_matmul_precision("highest"):
        if n >= 0:
            return jnp.linalg.matrix_power(input, n)
        inverse, info = linalg_inv.function(input)
        return jnp.linalg.matrix_power(inverse, -n), info


def _fitting(A, B, left, name):
    """RuntimeError unless B has as many rows (or, if A is on the right, columns) as A."""
    if A.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    batches = [jax.ShapeDtypeStruct(each.shape[:-2], each.dtype) for each in (B, A)]
    broadcast(*batches)


@op(saves="A, result", grad_fn="LinalgSolveExBackward0", check_result=refusing("torch.linalg.solve", UNSOLVED))
def linalg_solve(A, B, *, left: Flag = True):
    """The X of `A @ X = B`, or of `X @ A = B`; B may be a vector. LinAlgError where A is singular."""
    name = "linalg.solve"
    square(floating(A, name), name)
    same_type(A, B, name)
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    B = B[..., None] if vector else matrices(B, name, "B")
    _fitting(A, B, left, name)
    info = singular(A)
    A, B = stacked(A, B)
    found = jnp.linalg.solve(A, B) if left else transposed(jnp.linalg.solve(transposed(A), transposed(B)))
    return found[..., 0] if vector else found, info


@op(saves="A, result", returns=("result", "info"), check_result=refusing("torch.linalg.solve_ex", UNSOLVED))
def linalg_solve_ex(A, B, *, left: Flag = True, check_errors: Flag = False):
    """What `linalg.solve` gives, and 0, or another number where A is singular."""
    return with_errors(linalg_solve.function(A, B, left=left), check_errors)


@op(saves="input, result", keeps=COLUMNS)
def linalg_solve_triangular(input, B, *, upper: Flag, left: Flag = True, unitriangular: Flag = False):
    """The X of `A @ X = B` (`X @ A = B`) for a triangular A, of which only that triangle counts."""
    name = "linalg.solve_triangular"
    square(floating(input, name), name)
    same_type(input, B, name)
    matrices(B, name, "B")
    _fitting(input, B, left, name)
    input, B = stacked(input, B)
    return triangular_solve(input, B, left_side=left, lower=not upper, unit_diagonal=unitriangular)


@op(name="triangular_solve", saves="A, result", returns=("solution", "cloned_coefficient"), keeps=COLUMNS)
def triangular_solve_(input, A, upper: Flag = True, transpose: Flag = False, unitriangular: Flag = False):
    """torch's older `linalg.solve_triangular`, and A beside the solution."""
    warn_of_older("triangular_solve", "linalg.solve_triangular")
    told = "torch.triangular_solve: Expected {} to have at least 2 dimensions, but it has {} dimensions instead"
    _older_fitting(input, A, "triangular_solve", told, "A")
    A, B = stacked(A, input)
    further = {"lower": not upper, "transpose_a": transpose, "unit_diagonal": unitriangular}
    return triangular_solve(A, B, left_side=True, **further), A


def _older_fitting(b, A, name, told, letter):
    for each, said in ((b, "b"), (A, letter)):
        if each.ndim < 2:
            raise RuntimeError(told.format(said, each.ndim))
    square(A, "")
    if A.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {A.shape[-1]} by {A.shape[-1]} but each b matrix "
            f"is {b.shape[-2]} by {b.shape[-1]}"
        )


@op(saves="result, L", keeps=COLUMNS)
def cholesky_solve(input, L, upper: Flag = False):
    """The X of `A @ X = input` for the A whose Cholesky factor is L."""
    told = "{} should have at least 2 dimensions, but has {} dimensions instead"
    _older_fitting(input, L, "cholesky_solve", told, "u")
    L, B = stacked(adjoint(L) if upper else L, input)
    factor = jax.lax.stop_gradient(L)
    # torch's derivative is with respect to all of L, of which only one triangle is used.
    full = jnp.tril(factor) + (L - factor)

    def solved(_, right):
        half = triangular_solve(factor, right, left_side=True, lower=True)
        return triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True, conjugate_a=True)

    with jax.default_matmul_precision("highest"):
        return jax.lax.custom_linear_solve(
            lambda x: full @ (adjoint(full) @ x), B, solved, lambda _, right: jnp.conj(solved(_, jnp.conj(right)))
        )


@op(saves="result, input", check_result=refusing("cholesky_inverse", SINGULAR), keeps=COLUMNS)
def cholesky_inverse(input, upper: Flag = False):
    """The inverse of the matrix whose Cholesky factor is L."""
    square(input, "cholesky_inverse")
    unit = jnp.broadcast_to(jnp.eye(input.shape[-1], dtype=input.dtype), input.shape)
    return cholesky_solve.function(unit, input, upper=upper), _first_zero(input)


def rows_of(pivots, count):
    """The permutation of `count` rows that LAPACK's pivots, counted from 1, make."""
    return lu_pivots_to_permutation(pivots - 1, count)


def _pivots_inside(values, shapes, **_):
    """The check of `lu_solve`."""
    size = shapes[1][-1] if len(shapes[1]) else 0
    for wrong, told in ((values < 1, "greater or equal to 1"), (values > size, "smaller or equal to LU.size(-2)")):
        if wrong.any():
            raise RuntimeError(
                f"Pivots given to lu_solve must all be {told}. Did you properly pass the result of lu_factor?"
            )


@op(saves="LU, pivots, result", check_values=("pivots", _pivots_inside))
def linalg_lu_solve(LU, pivots, B, *, left: Flag = True, adjoint: Flag = False):
    """The X of `A @ X = B` (`X @ A = B`) for the A that `linalg.lu_factor` has factored, or for its adjoint."""
    name = "linalg.lu_solve"
    floating(LU, name)
    if pivots.dtype != jnp.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    square(LU, "torch.linalg.lu_solve")
    matrices(B, name, "B")
    same_type(LU, B, name, "LU and B")
    if LU.shape[-1] != pivots.shape[-1]:
        raise RuntimeError(f"{name}: Number of pivots per batch should be same as the dimension of the matrix")
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError(
            f"{name}: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    _fitting(LU, B, left, name)
    if not left:  # X A = B is A* X* = B*
        return _adjoint(_factored(LU, pivots, _adjoint(B), not adjoint))
    return _factored(LU, pivots, B, adjoint)


_adjoint = adjoint


def _factored(LU, pivots, B, adjoint):
    LU, B = stacked(LU, B)
    rows = jnp.broadcast_to(rows_of(pivots, LU.shape[-1])[..., None], B.shape)
    if adjoint:
        half = triangular_solve(LU, B, left_side=True, transpose_a=True, conjugate_a=True)
        found = triangular_solve(
            LU, half, left_side=True, lower=True, transpose_a=True, conjugate_a=True, unit_diagonal=True
        )
        return jnp.take_along_axis(found, jnp.argsort(rows, -2), -2)
    half = triangular_solve(LU, jnp.take_along_axis(B, rows, -2), left_side=True, lower=True, unit_diagonal=True)
    return triangular_solve(LU, half, left_side=True)


@op(saves="LU_data, LU_pivots, result", grad_fn="LinalgLuSolveBackward0", check_values=("LU_pivots", _pivots_inside))
def lu_solve(input, LU_data, LU_pivots):
    """torch's older `linalg.lu_solve`."""
    return linalg_lu_solve.function(LU_data, LU_pivots, input)


def real_tolerances(row, operands, static):
    """For a row's column `rewrite`: RuntimeError where a tensor after the first is complex."""
    for name, each in zip(row.operands[1:], operands[1:], strict=True):
        if hasattr(each, "aval") and each.aval.dtype.is_complex:
            name = "atol" if name == "tol" else name
            raise RuntimeError(
                f"torch.{row.torch_name.replace('_', '.', 1)}: {name} tensor of complex type is not supported. Got "
                f"{each.aval.dtype.legacy}"
            )
    return row, operands, static


def tolerance(A, atol, rtol):
    """For each matrix the bound, relative to the largest singular value, below which one counts as zero.

    Without `atol` and `rtol`, `rtol` is the rounding error of the dtype times the longer side of the matrix.
    """
    largest = max(A.shape[-2:])
    if rtol is None:
        rtol = jnp.finfo(A.dtype).eps * largest
        if atol is not None:
            rtol = jnp.where(atol > 0, 0, rtol)
    if atol is None:
        return jnp.asarray(rtol)
    values = singular_values(jax.lax.stop_gradient(A))
    most = jnp.max(values, -1, initial=0)
    return jnp.maximum(rtol, atol / jnp.where(most == 0, 1, most))


def _pseudo_inverse(A, atol, rtol, hermitian):
    if A.ndim < 2:
        raise RuntimeError(
            f"linalg.pinv({legacy(A)}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of float, "
            "double, cfloat or cdouble types"
        )
    floating(A, "linalg.pinv")
    if hermitian:
        square(A, "linalg.eigh")
    if not A.size:
        return jnp.zeros(transposed(A).shape, A.dtype)
    real = jnp.finfo(A.dtype).dtype
    rtol = jnp.broadcast_to(tolerance(A, atol, rtol).astype(real), A.shape[:-2])
    if hermitian:  # only the lower triangle is read, but the whole matrix has a gradient
        A = A + jax.lax.stop_gradient(jnp.tril(A) + adjoint(jnp.tril(A, -1)) - A)
    with jax.default_matmul_precision("highest"):
        return jnp.linalg.pinv(A, rtol=rtol)


PSEUDO = {"saves": "input, result", "rewrite": real_tolerances, "check_values": ("input", decomposable)}


@op(**PSEUDO)
def linalg_pinv(input, *, atol: Either = None, rtol: Either = None, hermitian: Flag = False):
    """The Moore-Penrose inverse; singular values up to `atol`, or `rtol` times the largest, count as 0."""
    return _pseudo_inverse(input, atol, rtol, hermitian)


@op(name="linalg_pinv.rcond", arities=(), **PSEUDO)
def linalg_pinv_rcond(input, rcond: Either, hermitian: Flag = False):
    """The Moore-Penrose inverse; singular values up to `rcond` times the largest count as 0."""
    return _pseudo_inverse(input, None, rcond, hermitian)


@op(grad_fn="LinalgPinvBackward0", **PSEUDO)
def pinverse(input, rcond: Either = 1e-15):
    """torch's older `linalg.pinv`."""
    return _pseudo_inverse(input, None, rcond, False)


@op(grad_fn="ReshapeAliasBackward0", check_result=refusing("linalg.inv", SINGULAR))
def linalg_tensorinv(input, ind: Index = 2):
    """The inverse for `tensordot`: the product with A over A's first `ind` dimensions is the identity."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > input.ndim:
        raise RuntimeError(
            f"ArrayRef: invalid slice, N = {ind}; size = {input.ndim}\n`ind` is a number of dimensions of A, which has "
            f"{input.ndim}."
        )
    one, two = input.shape[:ind], input.shape[ind:]
    if math.prod(one) != math.prod(two):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(two)} != {math.prod(one)}"
        )
    inverse, info = linalg_inv.function(input.reshape(math.prod(one), math.prod(two)))
    return inverse.reshape(*two, *one), info


@op(saves="input, result", grad_fn="ViewBackward0", check_result=refusing("torch.linalg.solve", UNSOLVED))
def linalg_tensorsolve(input, other, dims: Dims = None):
    """The X of `tensordot(A, X, X.ndim) = B`; `dims` are those of A that are moved to its end before."""
    if dims is not None:
        dims = axes(dims, input.ndim) if dims != () else ()
        input = jnp.moveaxis(input, dims, range(input.ndim - len(dims), input.ndim))
    rest = input.shape[other.ndim :]
    if math.prod(rest) != other.size or input.size != other.size**2:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {math.prod(rest)} != {other.size}"
        )
    solution, info = linalg_solve.function(input.reshape(other.size, other.size), other.reshape(-1))
    return solution.reshape(rest), info


DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@op(name="linalg_lstsq", public="", saves="input, B", returns=("solution", "residuals", "rank", "singular_values"))
def lstsq(input, B, *, rcond: Either = None, driver: Text = "gelsy"):
    """The least-squares solution X of `input @ X = B`; of several, the one of least norm."""
    name = "torch.linalg.lstsq"
    for said, each, least in (("input", input, 2), ("other", B, 1)):
        if each.ndim < least:
            raise RuntimeError(f"{name}: {said} must have at least {least} dimensions.")
    if input.dtype != B.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {legacy(input)} and "
            f"other's dtype {legacy(B)}"
        )
    if driver not in DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of ({', '.join(DRIVERS)})")
    floating(input, name)
    vector = B.ndim == 1 or (B.ndim == input.ndim - 1 and B.shape == input.shape[:-1])
    B = B[..., None] if vector else B
    if input.shape[-2] != B.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size({-1 if vector else -2})")
    rows, columns = input.shape[-2:]
    input, B = stacked(input, B)
    if rcond is not None and driver in ("gelsd", "gelss"):  # LAPACK takes what is out of range for the rounding error
        outside = (rcond < 0) if driver == "gelss" else (rcond <= 0) | (rcond >= 1)
        rcond = jnp.where(outside, jnp.finfo(input.dtype).eps, rcond)
    with jax.default_matmul_precision("highest"):
        solution = _pseudo_inverse(input, None, None if driver == "gels" else rcond, False) @ B
        left = B - input @ solution
    values = singular_values(jax.lax.stop_gradient(input))
    cut = tolerance(input, None, rcond)[..., None] * jnp.max(values, -1, keepdims=True, initial=0)
    rank = jnp.sum(values > cut, -1, dtype=jnp.int64)
    nothing = jnp.zeros((0,), values.dtype)
    return (
        solution[..., 0] if vector else solution,
        jnp.sum(jnp.abs(left) ** 2, -2) if rows > columns and driver != "gelsy" else nothing,
        jnp.zeros((0,), jnp.int64) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else nothing,
    )

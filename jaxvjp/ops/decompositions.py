"""Decompositions of matrices: Cholesky, QR, LU, singular values, eigenvalues; and determinants.

As in torch, some read only one triangle of a Hermitian matrix, and yet have the gradient of the whole matrix.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxvjp.ops.arguments import Flag, Text
from jaxvjp.ops.identity import rebind, refused
from jaxvjp.ops.layouts import COLUMNS
from jaxvjp.ops.matrices import (
    adjoint,
    decomposable,
    floating,
    legacy,
    matrices,
    refusing,
    singular_values,
    square,
    transposed,
    with_errors,
)
from jaxvjp.ops.op import SHORT, op
from jaxvjp.ops.pointwise import supported
from jaxvjp.ops.solving import rows_of, singular
from jaxvjp.types.user_code import warn_of_older

NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{} is not positive-definite)."
)
NO_DIVISOR = (
    "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
    "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


NO_GRADIENT_OF_R = (
    "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
    "mode='reduced') if you are going to differentiate through linalg.qr."
)
NO_GRADIENT = (
    "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.\nWrite `linalg.qr(A)`, whose Q "
    "has as many columns as A."
)


FACTORS = {"saves": "result", "keeps": COLUMNS}

# Determinants.


@op(aliases="det", saves="A, result")
def linalg_det(A):
    """The determinant of each square matrix."""
    square(floating(A, "linalg.det"), "linalg.det")
    return jnp.linalg.det(A) if A.shape[-1] else jnp.ones(A.shape[:-2], A.dtype)


@op(saves="A", returns=("sign", "logabsdet"))
def linalg_slogdet(A):
    """The sign of the determinant, of a complex one its phase, and the logarithm of its magnitude."""
    return tuple(jnp.linalg.slogdet(square(floating(A, "linalg.slogdet"), "linalg.slogdet")))


op(name="slogdet", saves="A", returns=("sign", "logabsdet"), grad_fn=linalg_slogdet.grad_fn)(linalg_slogdet.function)


@op(saves="input", grad_fn="WhereBackward0", out=False)
def logdet(input):
    """The logarithm of the determinant; of a negative one NaN."""
    sign, logarithm = jnp.linalg.slogdet(square(floating(input, "logdet"), "logdet"))
    return logarithm + jnp.log(sign) if jnp.iscomplexobj(sign) else jnp.where(sign == -1, jnp.nan, logarithm)


# Cholesky's factor.


def _first_minor(A):
    """The order of the first leading minor that is not positive, for each matrix; 0 where there is none."""
    count = A.shape[-1]

    def eliminate(step, state):
        rest, found = state
        column = rest[..., step]
        pivot = jnp.take(column, step, -1).real
        found = jnp.where((found == 0) & ~(pivot > 0), step + 1, found)
        return rest - column[..., None] * (jnp.conj(column) / pivot[..., None])[..., None, :], found

    start = A, jnp.zeros(A.shape[:-2], jnp.int32)
    return jax.lax.fori_loop(0, count, eliminate, start)[1] if count else start[1]


@op(grad_fn="LinalgCholeskyExBackward0", check_result=refusing("linalg.cholesky", NOT_POSITIVE), **FACTORS)
def linalg_cholesky(input, *, upper: Flag = False):
    """The triangular L of `L @ L.mH == A`, or its adjoint; LinAlgError where A is not positive-definite."""
    square(floating(input, "linalg.cholesky"), "linalg.cholesky")
    if upper:
        input = adjoint(input)
    read = jax.lax.stop_gradient(input)
    read = jnp.tril(read) + adjoint(jnp.tril(read, -1))
    both = (input + adjoint(input)) / 2
    factor = jax.lax.linalg.cholesky(read + (both - jax.lax.stop_gradient(both)), symmetrize_input=False)
    failed = jnp.isnan(jax.lax.stop_gradient(factor)).any()
    info = jax.lax.cond(failed, _first_minor, lambda each: jnp.zeros(each.shape[:-2], jnp.int32), read)
    return adjoint(factor) if upper else factor, info


@op(saves="result", returns=("L", "info"), check_result=refusing("linalg.cholesky_ex", NOT_POSITIVE), keeps=COLUMNS)
def linalg_cholesky_ex(input, *, upper: Flag = False, check_errors: Flag = False):
    """Cholesky's factor, and 0, or the order of the first leading minor that is not positive: then NaN."""
    return with_errors(linalg_cholesky.function(input, upper=upper), check_errors)


@op(saves="result", grad_fn="CholeskyBackward0", check_result=refusing("cholesky", NOT_POSITIVE), keeps=COLUMNS)
def cholesky(input, upper: Flag = False):
    """torch's older `linalg.cholesky`."""
    warn_of_older("cholesky", "linalg.cholesky")
    return linalg_cholesky.function(input, upper=upper)


# QR.


@op(saves="result", returns=("Q", "R"), keeps=COLUMNS)
def linalg_qr(A, mode: Text = "reduced"):
    """The orthogonal Q and the triangular R of `Q @ R == A`; Q is empty where `mode` is "r"."""
    matrices(floating(A, "linalg.qr"), "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    rows, columns = A.shape[-2:]
    if mode == "complete" and rows > columns:
        both = jnp.linalg.qr(jax.lax.stop_gradient(A), mode="complete")
        return tuple(refused.function(A, each, error=(RuntimeError, NO_GRADIENT)) for each in both)
    if mode == "r":
        R = jnp.linalg.qr(jax.lax.stop_gradient(A)).R
        return jnp.zeros((0,), A.dtype), refused.function(A, R, error=(RuntimeError, NO_GRADIENT_OF_R))
    Q, R = jnp.linalg.qr(A[..., : min(rows, columns)])
    if columns > rows:  # Q depends on the first `rows` columns only
        with jax.default_matmul_precision("highest"):
            R = jnp.concatenate([R, adjoint(Q) @ A[..., rows:]], -1)
    return Q, R


@op(saves="result", returns=("Q", "R"), grad_fn="LinalgQrBackward0", keeps=COLUMNS)
def qr(input, some: Flag = True):
    """torch's older `linalg.qr`."""
    warn_of_older("qr", "linalg.qr")
    return linalg_qr.function(input, "reduced" if some else "complete")


@op(returns=("a", "tau"), keeps=COLUMNS)
def geqrf(input):
    """QR in LAPACK's form: R, below it the vectors of the Householder reflections whose product is Q, and their
    factors."""
    vectors, tau = jnp.linalg.qr(matrices(floating(input, "geqrf"), "geqrf", "input"), mode="raw")
    return transposed(vectors), tau


def _reflected(A, tau, other, backwards):
    """`other` reflected at the vectors in the columns of A, in order; from the last to the first if `backwards`."""
    count = tau.shape[-1]
    vectors = jnp.tril(A[..., :count], -1) + jnp.eye(A.shape[-2], count, dtype=A.dtype)

    def reflect(product, step):
        vector, factor = step
        row = jnp.sum(jnp.conj(vector)[..., None] * product, -2, keepdims=True)
        return product - factor[..., None, None] * vector[..., None] * row, None

    steps = jnp.moveaxis(vectors, -1, 0), jnp.moveaxis(tau, -1, 0)
    return jax.lax.scan(reflect, other, steps, reverse=backwards)[0]


def _reflectors(name, A, tau, other=None):
    """RuntimeError unless `tau`, and `other` if there is one, have A's batch dimensions and dtype."""
    beside = {"tau": tau} if other is None else {"tau": tau, "other": other}
    if A.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
            f"input.ndim is equal to {A.ndim}"
        )
    if other is not None and A.ndim != other.ndim:
        raise RuntimeError(
            f"{name}: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
            f"{other.ndim} and input.ndim is equal to {A.ndim}"
        )
    for said, each in beside.items():
        batch = each.shape[: A.ndim - 2]
        if batch != A.shape[:-2]:
            told = f"{name}: Expected batch dimensions of {said} to be equal to input.shape[:-2], but got"
            raise RuntimeError(f"{told} {list(batch)}")
    for said, each in beside.items():
        if each.dtype != A.dtype:
            raise RuntimeError(
                f"{name}: {said} dtype {legacy(each)} does not match input dtype {legacy(A)}"
                if other is None
                else f"{name}: Expected input and {said} to have the same dtype, but input has dtype{legacy(A)} and "
                f"{said} has dtype {legacy(each)}"
            )
    supported("orgqr" if other is None else "ormqr", A, "bool integers short")


@op(saves="input, tau, result", aliases="orgqr", keeps=COLUMNS)
def linalg_householder_product(input, tau):
    """The Q of QR, from the reflections that `geqrf` gives: the first columns of their product."""
    name = "torch.linalg.householder_product"
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if tau.ndim and tau.shape[-1] > input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    _reflectors(name, input, tau)
    start = jnp.broadcast_to(jnp.eye(input.shape[-2], input.shape[-1], dtype=input.dtype), input.shape)
    return _reflected(input, tau, start, True)


@op(saves="input, tau, other, result", keeps=COLUMNS)
def ormqr(input, tau, other, left: Flag = True, transpose: Flag = False):
    """`other` times the product of the reflections that `geqrf` gives, from the left or the right; or its adjoint."""
    name = "torch.ormqr"
    for each, said in ((input, "input"), (other, "other")):
        if each.ndim < 2:
            raise RuntimeError(f"{name}: {said} must have at least 2 dimensions.")
    side = -2 if left else -1
    if other.shape[side] != input.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{side}] must be equal to input.shape[-2]")
    if tau.shape[-1:] != (min(other.shape[side], input.shape[-1]),):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    _reflectors(name, input, tau, other)
    if not left:  # C Q is (Q* C*)*
        return adjoint(ormqr.function(input, tau, adjoint(other), True, not transpose))
    return _reflected(input, jnp.conj(tau) if transpose else tau, other, not transpose)


# LU.


def _pivoting(name, pivot):
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")


def _lu_factoring(name, *returns):
    """Declares a row of the factorization, whose results have these names."""
    check = refusing(f"torch.linalg.{name}", NO_DIVISOR)
    return op(returns=returns, grad_fn="LinalgLuFactorExBackward0", check_result=check, **FACTORS)


@_lu_factoring("lu_factor", "LU", "pivots")
def linalg_lu_factor(A, *, pivot: Flag = True):
    """L and U of a matrix in one array, and LAPACK's pivots: the rows that were exchanged, counted from 1."""
    return linalg_lu_factor_ex.function(A, pivot=pivot)


@_lu_factoring("lu_factor_ex", "LU", "pivots", "info")
def linalg_lu_factor_ex(A, *, pivot: Flag = True, check_errors: Flag = False):
    """What `linalg.lu_factor` gives, and 0, or the number of the first zero on U's diagonal."""
    matrices(floating(A, "torch.lu_factor"), "torch.lu_factor")
    _pivoting("linalg.lu_factor", pivot)
    LU, pivots, _ = jax.lax.linalg.lu(A)
    return with_errors((LU, pivots + 1, singular(A)), check_errors)


def _unpacked(LU):
    rows, columns = LU.shape[-2:]
    least = min(rows, columns)
    return jnp.tril(LU[..., :least], -1) + jnp.eye(rows, least, dtype=LU.dtype), jnp.triu(LU[..., :least, :])


def _permutation(rows, dtype):
    return transposed(jax.nn.one_hot(rows, rows.shape[-1], dtype=dtype))


@op(saves="result", returns=("P", "L", "U"))
def linalg_lu(A, *, pivot: Flag = True):
    """The permutation P, the lower L and the upper U of `P @ L @ U == A`."""
    matrices(floating(A, "linalg.lu"), "linalg.lu")
    _pivoting("linalg.lu", pivot)
    LU, _, rows = jax.lax.linalg.lu(A)
    return (_permutation(rows, A.dtype), *_unpacked(LU))


def _pivots_inside(values, shapes, *, unpack_pivots, **_):
    """The check of `lu_unpack`."""
    if unpack_pivots and ((values < 1) | (values > shapes[0][-2])).any():
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result "
            "of lu_factor?"
        )


@op(public="function", returns=("P", "L", "U"), check_values=("LU_pivots", _pivots_inside))
def lu_unpack(LU_data, LU_pivots, unpack_data: Flag = True, unpack_pivots: Flag = True):
    """P, L and U from what `linalg.lu_factor` gave."""
    if LU_data.ndim < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.shape)} instead"
        )
    if unpack_pivots and LU_pivots.dtype != jnp.int32:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.")
    nothing = jnp.zeros((0,), LU_data.dtype)
    P = _permutation(rows_of(LU_pivots, LU_data.shape[-2]), LU_data.dtype) if unpack_pivots else nothing
    return (P, *(_unpacked(LU_data) if unpack_data else (nothing, nothing)))


# Singular values.


def _no_driver(name, driver):
    if driver is not None:
        told = "keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        raise RuntimeError(f"{name}: {told}")


@op(saves="result", returns=("U", "S", "Vh"), keeps=COLUMNS, check_values=("A", decomposable))
def linalg_svd(A, full_matrices: Flag = True, *, driver: Text | None = None):
    """The singular values S, in descending order, and the orthogonal U and Vh of `U @ diag(S) @ Vh == A`."""
    matrices(floating(A, "linalg.svd"), "linalg.svd")
    _no_driver("torch.linalg.svd", driver)
    U, S, Vh = jnp.linalg.svd(A, full_matrices=False)
    rows, columns = A.shape[-2:]
    if full_matrices and rows != columns:  # vectors without a singular value have no gradient, as in torch
        all_U, _, all_Vh = jnp.linalg.svd(jax.lax.stop_gradient(A), full_matrices=True)
        U = jnp.concatenate([U, all_U[..., U.shape[-1] :]], -1)
        Vh = jnp.concatenate([Vh, all_Vh[..., Vh.shape[-2] :, :]], -2)
    return U, S, Vh


@op(saves="result", grad_fn="LinalgSvdBackward0", check_values=("A", decomposable))
def linalg_svdvals(A, *, driver: Text | None = None):
    """The singular values of each matrix, in descending order."""
    matrices(floating(A, "linalg.svdvals"), "linalg.svdvals")
    _no_driver("torch.linalg.svdvals", driver)
    return singular_values(A)


@op(saves="result", returns=("U", "S", "V"), grad_fn="LinalgSvdBackward0", check_values=("input", decomposable))
def svd(input, some: Flag = True, compute_uv: Flag = True):
    """torch's older `linalg.svd`, with V for its adjoint; without `compute_uv` U and V are zeros."""
    if not compute_uv:
        rows, columns = matrices(floating(input, "linalg.svd"), "linalg.svd").shape[-2:]
        empty = [jnp.zeros((*input.shape[:-2], each, each), input.dtype) for each in (rows, columns)]
        return empty[0], singular_values(input), empty[1]
    U, S, Vh = linalg_svd.function(input, not some)
    return U, S, adjoint(Vh)


# Eigenvalues.


@op(saves="result", returns=("eigenvalues", "eigenvectors"), keeps=COLUMNS)
def linalg_eigh(input, UPLO: Text = "L"):
    """The eigenvalues, in ascending order, and eigenvectors of a Hermitian matrix, of which one triangle is read."""
    square(floating(input, "linalg.eigh"), "linalg.eigh")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    lower = input if UPLO.upper() == "L" else adjoint(input)
    # As torch has it, the gradient is Hermitian, that of both triangles, though one is read.
    input = rebind.function((input + adjoint(input)) / 2, jnp.tril(lower) + adjoint(jnp.tril(lower, -1)))
    vectors, values = jax.lax.linalg.eigh(input, symmetrize_input=False)
    return values, vectors


@op(saves="result", grad_fn="LinalgEighBackward0")
def linalg_eigvalsh(input, UPLO: Text = "L"):
    """The eigenvalues of a Hermitian matrix, in ascending order; one triangle of it is read."""
    return linalg_eigh.function(input, UPLO)[0]


def _finite(values, shapes):
    """The check of `linalg.eig`, for which LAPACK may not return."""
    if not np.isfinite(values).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


@op(saves="result", returns=("eigenvalues", "eigenvectors"), check_values=("input", _finite), keeps=COLUMNS)
def linalg_eig(input):
    """The eigenvalues and eigenvectors, complex ones, of a square matrix."""
    square(floating(input, "linalg.eig"), "linalg.eig")
    if not input.size:
        empty = input.astype(jnp.result_type(input.dtype, jnp.complex64))
        return empty[..., 0, :] if input.shape[-1] else empty.sum(-1), empty
    return tuple(jax.lax.linalg.eig(input, compute_left_eigenvectors=False, enable_eigvec_derivs=True))


@op(saves="result", grad_fn="LinalgEigBackward0", check_values=("input", _finite))
def linalg_eigvals(input):
    """The eigenvalues, complex ones, of a square matrix."""
    square(floating(input, "linalg.eigvals"), "linalg.eigvals")
    return linalg_eig.function(input)[0]


@op(saves="input", aliases="matrix_exp", out=False, rounds_once=True)
def linalg_matrix_exp(input):
    """The exponential of a square matrix: the limit of `A^n / n!`, summed up."""
    if input.dtype not in SHORT:  # torch accepts 16-bit types here, and in no other decomposition
        floating(input, "linalg.matrix_exp")
    square(input, "linalg.matrix_exp")
    if input.dtype in SHORT:
        return input  # only its dtype counts; the values are computed in float32
    with jax.default_matmul_precision("highest"):
        return _exponential(input) if input.size else input


PADE = {"float32": 3.925724783138660, "float64": 5.371920351148152}
"""Up to which norm JAX's approximation has its type's precision (Higham, 2005)."""
SQUARINGS = 32


def _exponential(A):
    """`expm` of matrices halved until they are small, and the results squared as often. JAX halves once too few."""
    bound = PADE[jnp.finfo(A.dtype).dtype.name]
    norm = jnp.max(jnp.sum(jnp.abs(jax.lax.stop_gradient(A)), -2), -1)
    count = jnp.clip(jnp.ceil(jnp.log2(jnp.maximum(norm, bound) / bound)), 0, SQUARINGS)
    count = jnp.where(jnp.isfinite(norm), count, 0)[..., None, None]
    start = jax.scipy.linalg.expm(A / jnp.exp2(count), max_squarings=0)

    def squared(found, step):
        goes_on = step < count
        once = jnp.where(goes_on, found, 0)  # others might overflow, and make gradients NaN
        return jax.lax.cond(goes_on.any(), lambda: jnp.where(goes_on, once @ once, found), lambda: found), None

    return jax.lax.scan(squared, start, jnp.arange(SQUARINGS))[0]

# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from jaxvjp import return_types
from jaxvjp.ops.matrices import LinAlgError as LinAlgError
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import dtype

def cholesky(input: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The triangular L of `L @ L.mH == A`, or its adjoint; LinAlgError where A is not positive-definite."""
def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_cholesky_ex:
    """Cholesky's factor, and 0, or the order of the first leading minor that is not positive: then NaN."""
def cond(input: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """A matrix's norm times that of its inverse: how much less precise than B the X of `A @ X = B` may be."""
def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The vector perpendicular to two others, whose length is 3 along `dim`."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of each square matrix."""
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonal of the last two dimensions, as the last dimension."""
def eig(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_eig:
    """The eigenvalues and eigenvectors, complex ones, of a square matrix."""
def eigh(input: Tensor, UPLO: str = 'L', *, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_eigh:
    """The eigenvalues, in ascending order, and eigenvectors of a Hermitian matrix, of which one triangle is read."""
def eigvals(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues, complex ones, of a square matrix."""
def eigvalsh(input: Tensor, UPLO: str = 'L', *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of a Hermitian matrix, in ascending order; one triangle of it is read."""
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Q of QR, from the reflections that `geqrf` gives: the first columns of their product."""
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a square matrix; LinAlgError where it is singular."""
def inv_ex(A: Tensor, *, check_errors: bool = False, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_inv_ex:
    """The inverse of a square matrix; and 0, or the position of the zero on U's diagonal that makes it singular."""
def ldl_factor(input: Tensor, *, hermitian: bool = False, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_ldl_factor:
    """L and D of `L @ D @ L.mT == A`, or of `L @ D @ L.mH` if `hermitian`, in one array; and the rows exchanged."""
def ldl_factor_ex(input: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_ldl_factor_ex:
    """What `linalg.ldl_factor` gives, and 0, or the row, counted from 1, of the first zero on D's diagonal."""
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Tensor | None = None) -> Tensor:
    """The X of `A @ X = B` for the A that `linalg.ldl_factor` has factored."""
def lstsq(input: Tensor, b: Tensor, rcond: Any = None, *, driver: str | None = None, out: Tensor | None = None) -> return_types.linalg_lstsq:
    """The X for which `input @ X` comes closest to b, of several the shortest."""
def lu(A: Tensor, *, pivot: bool = True, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_lu:
    """The permutation P, the lower L and the upper U of `P @ L @ U == A`."""
def lu_factor(A: Tensor, *, pivot: bool = True, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_lu_factor:
    """L and U of a matrix in one array, and LAPACK's pivots: the rows that were exchanged, counted from 1."""
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_lu_factor_ex:
    """What `linalg.lu_factor` gives, and 0, or the number of the first zero on U's diagonal."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | None = None) -> Tensor:
    """The X of `A @ X = B` (`X @ A = B`) for the A that `linalg.lu_factor` has factored, or for its adjoint."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; a vector counts as a row on the left, a column on the right, further dimensions as batch."""
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of a square matrix: the limit of `A^n / n!`, summed up."""
def matrix_norm(input: Tensor, ord: Any = 'fro', dim: int | Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The norm of each matrix: "fro", "nuc", 2 and -2 by its singular values, 1 and inf by sums of columns and rows."""
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix multiplied by itself `n` times; its inverse where `n` is negative."""
@overload
def matrix_rank(input: Tensor, *, atol: Tensor | complex | None = None, rtol: Tensor | complex | None = None, hermitian: bool = False, out: Tensor | None = None) -> Tensor:
    """How many singular values are larger than `atol` and than `rtol` times the largest."""
@overload
def matrix_rank(input: Tensor, tol: Tensor | complex, hermitian: bool = False, *, out: Tensor | None = None) -> Tensor: ...
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that costs least."""
def norm(input: Tensor, ord: Any = None, dim: int | Sequence[int] | None = None, keepdim: bool = False, out: Tensor | None = None, *, dtype: dtype | None = None) -> Tensor:
    """The norm of vectors or, where `dim` names two dimensions or `ord` is a word, of matrices."""
@overload
def pinv(input: Tensor, *, atol: Tensor | complex | None = None, rtol: Tensor | complex | None = None, hermitian: bool = False, out: Tensor | None = None) -> Tensor:
    """The Moore-Penrose inverse; singular values up to `atol`, or `rtol` times the largest, count as 0."""
@overload
def pinv(input: Tensor, rcond: Tensor | complex, hermitian: bool = False, *, out: Tensor | None = None) -> Tensor: ...
def qr(A: Tensor, mode: str = 'reduced', *, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_qr:
    """The orthogonal Q and the triangular R of `Q @ R == A`; Q is empty where `mode` is "r"."""
def slogdet(A: Tensor, *, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_slogdet:
    """The sign of the determinant, of a complex one its phase, and the logarithm of its magnitude."""
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """The X of `A @ X = B`, or of `X @ A = B`; B may be a vector. LinAlgError where A is singular."""
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_solve_ex:
    """What `linalg.solve` gives, and 0, or another number where A is singular."""
def solve_triangular(input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Tensor | None = None) -> Tensor:
    """The X of `A @ X = B` (`X @ A = B`) for a triangular A, of which only that triangle counts."""
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: tuple[Tensor, ...] | None = None) -> return_types.linalg_svd:
    """The singular values S, in descending order, and the orthogonal U and Vh of `U @ diag(S) @ Vh == A`."""
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values of each matrix, in descending order."""
def tensorinv(input: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse for `tensordot`: the product with A over A's first `ind` dimensions is the identity."""
def tensorsolve(input: Tensor, other: Tensor, dims: int | Sequence[int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The X of `tensordot(A, X, X.ndim) = B`; `dims` are those of A that are moved to its end before."""
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """For each element of `x` a row of its powers, from 0 up to N."""
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The inner products along `dim` of two stacks of vectors, the first of them conjugated."""
def vector_norm(input: Tensor, ord: float = 2, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """The norm of order `ord` of what `dim` names (all of it by default), taken as one vector."""

"""Decompositions of matrices of low rank, and single eigenpairs: `svd_lowrank`, `pca_lowrank`, `lobpcg`."""

import math
from collections.abc import Callable
from typing import Any

from jaxvjp.library.random_tensors import randn
from jaxvjp.ops.decompositions import linalg_cholesky, linalg_eigh, linalg_qr, linalg_svd
from jaxvjp.ops.products import matmul
from jaxvjp.ops.solving import linalg_solve_triangular
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor

UNDERNEATH = "ops of `jaxvjp.ops.decompositions`, and `jax.vjp` of them"


def _times(a: Tensor, b: Tensor) -> Tensor:
    return apply(matmul, (a, b))


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """`q` orthonormal columns that nearly span A's column space: A times random vectors, refined `niter` times.

    They are orthonormalized after each step; otherwise all would converge to the largest singular vector (Halko et al.,
    2009, algorithm 4.4).
    """
    basis = apply(linalg_qr, (_times(A, randn(A.shape[-1], q, dtype=A.dtype, device=A.device)),), ("reduced",)).Q
    for _ in range(niter):
        for matrix in (A.mH, A):
            basis = apply(linalg_qr, (_times(matrix, basis),), ("reduced",)).Q
    return basis


@public("function")
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S, V with `U @ diag(S) @ V.mH` close to A, or to `A - M`: the `q` largest singular values, nearly.

    The subspace is drawn at random and refined `niter` times. A is (*, m, n), U (*, m, q), S (*, q), V (*, n, q).
    Counterpart of `torch.svd_lowrank`, with its numbers for the same seed, but for signs.
    """
    if M is not None:
        A = A.sub(M.broadcast_to(A.shape))
    wide = A.shape[-2] < A.shape[-1]
    tall = A.mH if wide else A
    basis = _basis(tall, 6 if q is None else q, 2 if niter is None else niter)
    U, S, Vh = apply(linalg_svd, (_times(basis.mH, tall),), (False, None))
    U, V = _times(basis, U), Vh.mH
    return (V, S, U) if wide else (U, S, V)


@public("function")
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """`svd_lowrank` of A (*, samples, features) less its mean over the samples: V has the principal directions.

    ValueError for a `q` (by default up to 6) beyond A's size, or a negative `niter`. Counterpart of
    `torch.pca_lowrank`.
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A.sub(A.mean(-2, keepdim=True)) if center else A, q, niter)


@public("function")
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[..., Any] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The `k` largest eigenvalues (or not `largest`, smallest) of a symmetric A, or of `A @ x = e * B @ x`; vectors.

    A and B are (*, m, m), B positive definite; the values (*, k), from the outermost inwards, the vectors (*, m, k),
    which may differ from torch's in sign. ValueError, as torch has it, for an m of less than 3 k.

    Counterpart of `torch.lobpcg`; underneath: `jnp.linalg.eigh` of the whole matrix, so that X, iK, niter, tol and
    what else steers an iteration have no effect, and derivatives are those of `eigh`.
    """
    count = (1 if X is None else X.shape[-1]) if k is None else k
    size = A.shape[-1]
    asked = count if n is None else n
    if size < 3 * asked:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={size}) is smaller than 3 x the number of "
            f"requested eigenpairs (={asked})"
        )
    if X is None:  # torch begins at these, one matrix after another
        for _ in range(math.prod(A.shape[:-2])):
            randn(size, asked, dtype=A.dtype, device=A.device)
    A = (A + A.mH) / 2  # `eigh` reads one triangle, and the gradient here is symmetric, as torch's
    if B is None:
        values, vectors = apply(linalg_eigh, (A,), ("L",))
    else:
        L = apply(linalg_cholesky, (B,), (False,))
        left = apply(linalg_solve_triangular, (L, A), (False, True, False))
        values, turned = apply(
            linalg_eigh, (apply(linalg_solve_triangular, (L.mH, left), (True, False, False)),), ("L",)
        )
        vectors = apply(linalg_solve_triangular, (L.mH, turned), (True, True, False))
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :count], vectors[..., :count]

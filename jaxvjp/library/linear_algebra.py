"""torch's linear algebra that is more than one row: `einsum`'s forms of call, `lstsq`, `stft`, `svd_lowrank`."""

import math
from collections.abc import Callable, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from jaxvjp.library.random_tensors import randn
from jaxvjp.ops import products
from jaxvjp.ops.complex import view_as_real
from jaxvjp.ops.contractions import einsum as einsum_row
from jaxvjp.ops.contractions import einsum_alone, spelt_out, subscripts
from jaxvjp.ops.decompositions import linalg_cholesky, linalg_eigh, linalg_lu_factor_ex, linalg_qr, linalg_svd
from jaxvjp.ops.products import matmul
from jaxvjp.ops.rearrangement import constant_pad_nd
from jaxvjp.ops.solving import linalg_solve_triangular
from jaxvjp.ops.solving import lstsq as lstsq_row
from jaxvjp.ops.spectrograms import short_time_spectra
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.out_argument import written_into
from jaxvjp.tensor.published import public
from jaxvjp.tensor.refusals import advice_on_array
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.settings import warn_once

UNDERNEATH = "ops of `jaxvjp.ops.contractions`, `decompositions` and `solving`, and `jax.vjp` of them"

public("function")(products.set_float32_matmul_precision)
public("function")(products.get_float32_matmul_precision)

LETTERS = ascii_uppercase + ascii_lowercase
"""The letters for the subscripts 0 to 51 in `einsum`'s form without an equation."""
UNFED = (
    "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts "
    "list"
)


@public("function")
def einsum(equation: Any, *operands: Any) -> Tensor:
    """The sum of products that `equation`, such as `"ij,jk->ik"`, describes in Einstein's notation.

    The operands follow it, spread out or as one sequence. Instead of an equation each operand may be followed by the
    list of its subscripts, numbers from 0 to 51, and all of them by that of the result.
    RuntimeError where the equation does not fit the operands or their sizes each other, ValueError without operands.

    Counterpart of `torch.einsum`; underneath: `jnp.einsum`, which finds a good order of contraction.
    """
    if equation is None or (isinstance(equation, int | float | complex) and operands):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}")
    if not isinstance(equation, str):
        equation, operands = _written(equation, *operands)
    if len(operands) == 1 and isinstance(operands[0], Sequence):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError(UNFED)
    for place, each in enumerate(operands):
        if not isinstance(each, Tensor):
            told = f"expected Tensor as element {place} in argument 1, but got {type(each).__name__}"
            raise TypeError(told + advice_on_array(each))
    if len(operands) == 1:
        seen = _as_view(operands[0], equation)
        if seen is not None:
            return seen
    row = einsum_row if len(operands) > 1 else einsum_alone
    return apply(row, (tuple(operands),), (equation,))


def _as_view(operand: Tensor, equation: str) -> Tensor | None:
    """The result of an equation of one operand that sums over nothing, which is a view; None for any other."""
    (labels,), output = spelt_out(*subscripts(equation, 1), [operand.ndim])
    sizes = dict(zip(labels, operand.shape, strict=True))
    if {*labels} != {*output} or [sizes[each] for each in labels] != [*operand.shape]:
        return None
    for label in sizes:
        while labels.count(label) > 1:  # the diagonal becomes the last dimension
            first = labels.index(label)
            operand = operand.diagonal(0, first, labels.index(label, first + 1))
            labels.remove(label)
            labels.remove(label)
            labels.append(label)
    return operand.permute([labels.index(each) for each in output])


def _written(*given: Any) -> tuple[str, tuple[Any, ...]]:
    """The equation, and the operands, of the form `x, [0, 1], y, [1, 2], [0, 2]`."""
    if len(given) < 2:
        raise ValueError(UNFED)
    parts = [_letters(each) for each in given[1::2]]
    result = "->" + _letters(given[-1]) if len(given) % 2 else ""
    return ",".join(parts) + result, tuple(given[: 2 * len(parts) : 2])


def _letters(subscripts: Sequence[Any]) -> str:
    found = []
    for subscript in subscripts:
        if subscript is not Ellipsis and not 0 <= subscript < len(LETTERS):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        found.append("..." if subscript is Ellipsis else LETTERS[subscript])
    return "".join(found)


@public("linalg", out=True)
def lstsq(input: Tensor, b: Tensor, rcond: Any = None, *, driver: str | None = None) -> Any:
    """The X for which `input @ X` comes closest to b, of several the shortest.

    `input` is (*, m, n), `b` (*, m, k) or (*, m). The named tuple has also the residuals, the ranks and the singular
    values, as far as torch's `driver` computes them, or empty tensors.

    Counterpart of `torch.linalg.lstsq`; underneath: `jnp.linalg.pinv`, whatever the driver.
    """
    driver = "gelsy" if driver is None else driver
    found = apply(lstsq_row, (input, b, rcond), (driver,))
    found = found._replace(singular_values=found.singular_values.detach())
    if found.residuals.numel() and driver != "gels" and bool((found.rank < input.shape[-1]).any()):
        return found._replace(residuals=found.residuals.new_zeros((0,)))  # LAPACK gives none then
    return found


lstsq.__annotations__["return"] = lstsq_row.returns


@public()
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> tuple[Tensor, ...]:
    """torch's older `linalg.lu_factor`, with `get_infos` its `linalg.lu_factor_ex`. Counterpart of `torch.lu`."""
    warn_once(
        "lu",
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in "
        "a future PyTorch release.",
    )
    found: tuple[Tensor, ...] = apply(linalg_lu_factor_ex, (A,), (pivot, not get_infos))
    results: tuple[Tensor, ...] = tuple(found) if get_infos else tuple(found[:2])
    return results if out is None else written_into("lu", lambda: results, out, [A], exact=True)


@public()
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The spectra of the frames of a signal (*, length), each `n_fft` long: (*, frequencies, frames).

    RuntimeError where `return_complex` is left out for real numbers; if it is False the last dimension is that of real
    and imaginary part. With `align_to_window` the first window, and not the first frame, begins where the signal does,
    which is for `center=False`. Counterpart of `torch.stft`; underneath: `jnp.fft.rfft` of the frames times the window.
    """
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if align_to_window and win_length is not None:
        input = apply(constant_pad_nd, (input, 0), (((n_fft - win_length) // 2,) * 2,))
    if return_complex is None:
        if not (input.is_complex() or (window is not None and window.is_complex())):
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    static = (n_fft, hop_length, win_length, center, pad_mode, normalized, onesided)
    found: Tensor = apply(short_time_spectra, (input, window), static)
    return found if return_complex else apply(view_as_real, (found,))


# Decompositions of matrices of low rank, and single eigenpairs.


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

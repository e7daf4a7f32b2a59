"""What NumPy computes of decompositions and solutions, for stacks of matrices.

Where LAPACK fails, NumPy raises an error and JAX gives NaN; so does this. NumPy has no LU and no triangular solution:
small ones are computed row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxvjp.core.run.primitives.kinds import Array, Call, Row, is_numpys, kind_of

MOST = 64
"""Rows that are gone through one by one."""


def _filled(equation: Any) -> list[Array]:
    return [np.full(variable.aval.shape, np.nan, variable.aval.dtype) for variable in equation.outvars]


def by_lapack(function: Callable[..., Callable[[Array], Any]]) -> Row:
    """`function` makes from the parameters of an equation what gives its results; NaN where LAPACK fails."""

    def row(equation: Any) -> Call | None:
        given = equation.invars[0].aval
        if kind_of(equation) not in "fc" or given.dtype.itemsize < 4 or not given.size or not is_numpys(given.dtype):
            return None
        results = function(**equation.params)

        def call(x: Array) -> Any:
            try:
                found = results(x)
            except np.linalg.LinAlgError:
                found = _filled(equation)
            found = [np.asarray(each, out.aval.dtype) for each, out in zip(found, equation.outvars, strict=True)]
            return found if equation.primitive.multiple_results else found[0]

        return call

    return row


@by_lapack
def svd(*, full_matrices: bool, compute_uv: bool, **_: Any) -> Callable[[Array], Any]:
    def results(x: Array) -> Any:
        if not compute_uv:
            return [np.linalg.svd(x, full_matrices, False)]
        u, values, v = np.linalg.svd(x, full_matrices)
        return values, u, v

    return results


@by_lapack
def eigh(*, lower: bool, **_: Any) -> Callable[[Array], Any]:
    return lambda x: reversed(np.linalg.eigh(x, "L" if lower else "U"))


@by_lapack
def qr(*, full_matrices: bool, **_: Any) -> Callable[[Array], Any]:
    return lambda x: np.linalg.qr(x, "complete" if full_matrices else "reduced")


@by_lapack
def raw_qr(**_: Any) -> Callable[[Array], Any]:
    def results(x: Array) -> Any:
        vectors, factors = np.linalg.qr(x, "raw")
        return vectors.swapaxes(-1, -2), factors

    return results


@by_lapack
def cholesky(**_: Any) -> Callable[[Array], Any]:
    def factor(x: Array) -> Array:
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            return np.full_like(x, np.nan)

    def results(x: Array) -> Any:
        return [np.stack([factor(each) for each in x.reshape(-1, *x.shape[-2:])]).reshape(x.shape)]

    return results


@by_lapack
def right_eig(*, compute_right_eigenvectors: bool, **_: Any) -> Callable[[Array], Any]:
    return np.linalg.eig if compute_right_eigenvectors else lambda x: [np.linalg.eigvals(x)]


def eig(equation: Any) -> Call | None:
    """Eigenvalues and, if asked for, right eigenvectors."""
    return None if equation.params["compute_left_eigenvectors"] else right_eig(equation)


def _small(equation: Any) -> bool:
    given = equation.invars[0].aval
    return is_numpys(given.dtype) and bool(given.size) and max(given.shape[-2:]) <= MOST


def lu(equation: Any) -> Call | None:
    """L and U in one array, for each step the row that was exchanged, and the order of all rows."""
    if not _small(equation) or kind_of(equation) not in "fc":
        return None

    def call(x: Array) -> list[Array]:
        rest = x.reshape(-1, *x.shape[-2:]).copy()
        batch, (rows, columns) = np.arange(len(rest)), rest.shape[1:]
        order = np.broadcast_to(np.arange(rows), rest.shape[:2]).copy()
        pivots = np.zeros((len(rest), min(rows, columns)), np.int32)
        for step in range(pivots.shape[1]):
            column = rest[:, step:, step]
            size = np.abs(column.real) + np.abs(column.imag)
            other = step + np.argmax(np.where(np.isnan(size), np.inf, size), 1)
            pivots[:, step] = other
            for each in (rest, order):
                kept = each[:, step].copy()
                each[:, step] = each[batch, other]
                each[batch, other] = kept
            pivot = rest[:, step, step, None]
            rest[:, step + 1 :, step] /= np.where(pivot == 0, 1, pivot)
            rest[:, step + 1 :, step + 1 :] -= rest[:, step + 1 :, step, None] * rest[:, step, None, step + 1 :]
        shape = x.shape[:-2]
        return [rest.reshape(x.shape), pivots.reshape(*shape, -1), order.astype(np.int32).reshape(*shape, -1)]

    return call


def order_of_rows(equation: Any) -> Call:
    """The order of all rows after those of `pivots` were exchanged one after the other."""
    count = equation.params["permutation_size"]

    def call(pivots: Array) -> Array:
        given = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
        batch, order = (
            np.arange(len(given)),
            np.broadcast_to(np.arange(count, dtype=np.int32), (len(given), count)).copy(),
        )
        for step in range(given.shape[1]):
            kept = order[:, step].copy()
            order[:, step] = order[batch, given[:, step]]
            order[batch, given[:, step]] = kept
        return order.reshape(*pivots.shape[:-1], count)

    return call


def triangular_solution(equation: Any) -> Call | None:
    """The X of `A @ X = B` or `X @ A = B` for a triangular A."""
    params = equation.params
    if not _small(equation) or kind_of(equation) not in "fc" or not equation.invars[1].aval.size:
        return None
    lower = params["lower"] != params["transpose_a"]
    left = params["left_side"]

    def call(a: Array, b: Array) -> Array:
        a = a.conj() if params["conjugate_a"] else a
        a = a.swapaxes(-1, -2) if params["transpose_a"] != (not left) else a
        b = b if left else b.swapaxes(-1, -2)
        forwards = lower == left
        x = np.zeros_like(b)
        count = a.shape[-1]
        for step in range(count):
            row = step if forwards else count - 1 - step
            known = slice(0, row) if forwards else slice(row + 1, count)
            rest = b[..., row, :] - np.matmul(a[..., row, None, known], x[..., known, :])[..., 0, :]
            x[..., row, :] = rest if params["unit_diagonal"] else rest / a[..., row, row, None]
        return x if left else x.swapaxes(-1, -2)

    return call

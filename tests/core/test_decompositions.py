"""Decompositions and solutions run by NumPy give XLA's results, up to rounding, also where LAPACK fails."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxvjp.core.run.interpreter import interpreter_of

TRIANGULAR = [
    {"left_side": left, "lower": lower, "transpose_a": turned, "conjugate_a": turned, "unit_diagonal": unit}
    for left in (True, False)
    for lower in (True, False)
    for turned in (True, False)
    for unit in (True, False)
]


def made(shape, dtype, seed=0):
    drawn = np.random.default_rng(seed).standard_normal((2, *shape))
    return (drawn[0] + (1j * drawn[1] if "complex" in dtype else 0)).astype(dtype)


def definite(dtype, size=4):
    a = made((2, size, size), dtype)
    return a @ a.conj().swapaxes(-1, -2) + np.eye(size).astype(dtype)


FORMS = {
    "svd": lambda d: (lambda x: jnp.linalg.svd(x, full_matrices=False), made((2, 4, 3), d)),
    "svd, whole": lambda d: (lambda x: jnp.linalg.svd(x), made((3, 4), d)),
    "svd, values": lambda d: (lambda x: jnp.linalg.svd(x, full_matrices=False, compute_uv=False), made((2, 3, 4), d)),
    "svd of NaN": lambda d: (lambda x: jnp.linalg.svd(x, full_matrices=False), np.full((3, 2), np.nan, d)),
    "qr": lambda d: (jnp.linalg.qr, made((2, 4, 3), d)),
    "qr, whole": lambda d: (lambda x: jnp.linalg.qr(x, "complete"), made((4, 3), d)),
    "qr, raw": lambda d: (lambda x: jnp.linalg.qr(x, "raw"), made((2, 4, 3), d)),
    "cholesky": lambda d: (lambda x: lax.linalg.cholesky(x, symmetrize_input=False), definite(d)),
    "cholesky, one fails": lambda d: (
        lambda x: lax.linalg.cholesky(x, symmetrize_input=False),
        np.stack([np.eye(2), -np.eye(2)]).astype(d),
    ),
    "eigh": lambda d: (lambda x: lax.linalg.eigh(x, symmetrize_input=False)[1], definite(d)),
    "eigh, upper": lambda d: (lambda x: lax.linalg.eigh(x, lower=False, symmetrize_input=False)[1], definite(d)),
    "eig": lambda d: (lambda x: jnp.sort(jnp.abs(lax.linalg.eig(x, compute_left_eigenvectors=False)[0])), definite(d)),
    "lu": lambda d: (lax.linalg.lu, made((2, 3, 5, 4), d)),
    "lu of a wide one": lambda d: (lax.linalg.lu, made((3, 5), d)),
    "lu of a singular one": lambda d: (lax.linalg.lu, np.ones((3, 3), d)),
    "inverse": lambda d: (jnp.linalg.inv, definite(d)),
    "solution": lambda d: (lambda x: jnp.linalg.solve(x, x[..., :2]), definite(d)),
    "determinant": lambda d: (jnp.linalg.slogdet, definite(d)),
    "order of rows": lambda d: (
        lambda x: lax.linalg.lu_pivots_to_permutation(lax.linalg.lu(x)[1], 6),
        made((2, 6, 3), d),
    ),
    **{
        f"triangular {number}": lambda d, options=options: (
            lambda x: lax.linalg.triangular_solve(x, x + 1, **options),
            definite(d),
        )
        for number, options in enumerate(TRIANGULAR)
    },
    "triangular with a zero": lambda d: (
        lambda x: lax.linalg.triangular_solve(x, x, left_side=True),
        np.zeros((2, 2), d),
    ),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_numpy_decomposes_as_xla(name, dtype):
    function, given = FORMS[name](dtype)
    with jax.enable_x64(True):
        interpreter = interpreter_of(jax.make_jaxpr(function)(given))
        ours, theirs = interpreter(given), jax.tree.leaves(jax.jit(function)(given))
    assert not interpreter.left_to_jax or name in ("eig", "determinant")  # for complex numbers they have others, too
    for own, other in zip(ours, theirs, strict=True):
        assert (own.shape, own.dtype) == (other.shape, other.dtype)
        rounding = 2e-4 if dtype in ("float32", "complex64") else 1e-9
        np.testing.assert_allclose(own, np.asarray(other), rounding, rounding)

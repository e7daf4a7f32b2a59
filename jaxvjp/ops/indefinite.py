"""LDL: decompositions of symmetric and of Hermitian matrices that need not be positive-definite.

The lower triangle of a matrix is read. Rows and columns are exchanged as Bunch and Kaufman do it, and LAPACK: D has
blocks of one row, and of two where the diagonal is too small to divide by. `pivots` has for each row the one, counted
from 1, that it was exchanged with; for both rows of a block of two it is negative.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax.lax.linalg import triangular_solve

from jaxvjp.ops.arguments import Flag
from jaxvjp.ops.identity import refused
from jaxvjp.ops.layouts import COLUMNS
from jaxvjp.ops.matrices import floating, legacy, refusing, square, stacked, with_errors
from jaxvjp.ops.op import op

GROWTH = (1 + math.sqrt(17)) / 8
"""A row is exchanged if its diagonal is less than this share of the largest element below."""
NO_DIVISOR = "D[{0},{0}] is zero and using it on ldl_solve would result in a division by zero."


def _sizes(values):
    """Magnitudes as LAPACK compares them: of a complex number the sum of both parts."""
    return jnp.abs(values.real) + jnp.abs(values.imag) if jnp.iscomplexobj(values) else jnp.abs(values)


def _exchanged(places, one, other):
    """`places` with two of them exchanged."""
    return jnp.where(places == one, other, jnp.where(places == other, one, places))


def _factored(A, hermitian):
    """L and D of one matrix in one array, the pivots, and the row of the first D that is zero, or 0."""
    count = A.shape[-1]
    places = jnp.arange(count)
    mirror = jnp.conj if hermitian else jnp.asarray
    diagonal = jnp.diagonal(A).real.astype(A.dtype) if hermitian else jnp.diagonal(A)
    below = jnp.tril(A, -1)

    def eliminated(place, state):
        rest, LD, pivots, info, _ = state
        column = jnp.where(places > place, _sizes(rest[:, place]), 0)
        row = jnp.argmax(column)
        most, own = column[row], _sizes(rest[place, place])
        beside = jnp.max(jnp.where((places >= place) & (places != row), _sizes(rest[row]), 0))
        stays = (own >= GROWTH * most) | (own * beside >= GROWTH * most * most)
        single = stays | (_sizes(rest[row, row]) >= GROWTH * beside)
        other, last = jnp.where(stays, place, row), jnp.where(single, place, place + 1)
        order = _exchanged(places, last, other)
        rest = rest[order][:, order]
        one, two = (jnp.where(places > last, rest[:, each], 0) for each in (place, last))
        a, b, c = rest[place, place], rest[last, place], rest[last, last]
        if hermitian:
            a, c = a.real.astype(A.dtype), c.real.astype(A.dtype)
        divisor = jnp.where(single, jnp.where(a == 0, 1, a), a * c - b * mirror(b))
        first = jnp.where(single, one, c * one - b * two) / divisor
        second = jnp.where(single, 0, a * two - mirror(b) * one) / divisor
        rest = rest - first[:, None] * mirror(one) - second[:, None] * mirror(two)
        at, under = places == place, places == last
        LD = jnp.where(under, (second + jnp.where(under, c, 0))[:, None], LD)
        LD = jnp.where(at, (first + jnp.where(at, a, jnp.where(under, b, 0)))[:, None], LD)
        pivots = jnp.where(at | under, jnp.where(single, other + 1, -(other + 1)), pivots)
        return rest, LD, pivots, jnp.where((info == 0) & single & (a == 0), place + 1, info), ~single

    def step(place, state):
        return jax.tree.map(partial(jnp.where, state[-1]), (*state[:-1], False), eliminated(place, state))

    whole = below + mirror(below).T + jnp.diag(diagonal)
    start = whole, jnp.zeros_like(A), jnp.zeros(count, jnp.int64), jnp.zeros((), jnp.int64), jnp.zeros((), bool)
    _, LD, pivots, info, _ = jax.lax.fori_loop(0, count, step, start)
    return LD, pivots.astype(jnp.int32), info.astype(jnp.int32)


def _factoring(name, *returns):
    """Declares a row of a factorization, whose results have these names."""
    check = refusing(f"torch.linalg.{name}", NO_DIVISOR)
    return op(returns=returns, grad_fn="NotImplemented", check_result=check, keeps=COLUMNS)


@_factoring("ldl_factor", "LD", "pivots")
def linalg_ldl_factor(input, *, hermitian: Flag = False):
    """L and D of `L @ D @ L.mT == A`, or of `L @ D @ L.mH` if `hermitian`, in one array; and the rows exchanged."""
    return linalg_ldl_factor_ex.function(input, hermitian=hermitian)


@_factoring("ldl_factor_ex", "LD", "pivots", "info")
def linalg_ldl_factor_ex(input, *, hermitian: Flag = False, check_errors: Flag = False):
    """What `linalg.ldl_factor` gives, and 0, or the row, counted from 1, of the first zero on D's diagonal."""
    floating(square(input, "torch.linalg.ldl_factor_ex"), "torch.linalg.ldl_factor_ex")
    batch, count = input.shape[:-2], input.shape[-1]
    if not input.size:
        nothing = [jnp.zeros(shape, jnp.int32) for shape in (input.shape[:-1], batch)]
        return with_errors((input, *nothing), check_errors)
    each = jax.lax.stop_gradient(input).reshape(math.prod(batch), count, count)
    LD, pivots, info = jax.vmap(partial(_factored, hermitian=hermitian and jnp.iscomplexobj(input)))(each)
    error = RuntimeError, "derivative for aten::linalg_ldl_factor_ex is not implemented"
    LD = refused.function(input, LD.reshape(input.shape), error=error)
    return with_errors((LD, pivots.reshape(input.shape[:-1]), info.reshape(batch)), check_errors)


def _solved(LD, pivots, B, hermitian):
    """The X of `A @ X = B` for one matrix."""
    count = LD.shape[-1]
    places, paired = jnp.arange(count), pivots < 0
    starts = paired & (jnp.cumsum(paired) % 2 == 1)
    mirror = jnp.conj if hermitian else jnp.asarray

    def exchange(place, state):
        """L's rows and the order of all rows, after those were exchanged that the factorization came to here."""
        lower, order = state
        other = jnp.where(paired[place] & ~starts[place], place, jnp.abs(pivots[place]) - 1)
        now = _exchanged(places, place + starts[place], other)
        return jnp.where(places < place, lower[now], lower), order[now]

    diagonal, pairs = jnp.diagonal(LD), jnp.where(starts, jnp.append(jnp.diagonal(LD, -1), 0), 0)[: max(count - 1, 0)]
    D = jnp.diag(diagonal) + jnp.diag(pairs, -1) + jnp.diag(mirror(pairs), 1)
    lower = jnp.tril(LD, -1) - jnp.diag(pairs, -1)
    lower, order = jax.lax.fori_loop(0, count, exchange, (lower, places))
    solve = partial(triangular_solve, lower, left_side=True, lower=True, unit_diagonal=True)
    found = jnp.linalg.solve(D, solve(B[order]))
    return solve(found, transpose_a=True, conjugate_a=hermitian)[jnp.argsort(order)]


@op(saves="LD, pivots, result", keeps=COLUMNS)
def linalg_ldl_solve(LD, pivots, B, *, hermitian: Flag = False):
    """The X of `A @ X = B` for the A that `linalg.ldl_factor` has factored."""
    name = "torch.linalg.ldl_solve"
    floating(square(LD, name), name)
    if B.ndim < 2:
        raise RuntimeError(f"{name}: Expected B to have at least 2 dimensions, but it has {B.ndim} dimensions instead")
    if B.shape[-2] != LD.shape[-1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {LD.shape[-1]} by {LD.shape[-1]} but each b "
            f"matrix is {B.shape[-2]} by {B.shape[-1]}"
        )
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if not jnp.issubdtype(pivots.dtype, jnp.integer):
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {legacy(pivots)}")
    if LD.dtype != B.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {legacy(B)} and A of type {legacy(LD)} "
            "instead."
        )
    LD, B = stacked(LD, B)
    pivots = jnp.broadcast_to(pivots, LD.shape[:-1])
    if not LD.size:
        return jnp.zeros(B.shape, B.dtype)
    solve = partial(_solved, hermitian=hermitian and jnp.iscomplexobj(LD))
    for _ in LD.shape[:-2]:
        solve = jax.vmap(solve)
    with jax.default_matmul_precision("highest"):
        return solve(LD, pivots, B)

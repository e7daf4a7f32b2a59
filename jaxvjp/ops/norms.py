"""Norms of matrices, and what follows from their singular values: condition and rank."""

import math
from collections.abc import Sequence
from typing import Annotated, Any

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Dims, Either, Flag, Index, Kind, Real, Text, Type, integers, number, wrap
from jaxvjp.ops.decompositions import linalg_eigvalsh
from jaxvjp.ops.matrices import decomposable, floating, legacy, matrices, one_scalar_type, singular_values, square
from jaxvjp.ops.op import SHORT, op
from jaxvjp.ops.pointwise import abs_, supported
from jaxvjp.ops.reduction import largest, linalg_vector_norm, magnitude, of_type, shared, smallest, vector_norm
from jaxvjp.ops.solving import linalg_inv, real_tolerances, tolerance


def _order(value: Any) -> float | str:
    if isinstance(value, bool):
        raise TypeError(value)
    return value if isinstance(value, str) else number(value)


Order = Annotated[Any, Kind("Number", _order)]


def _several(value: Any) -> tuple[int, ...]:
    if not isinstance(value, Sequence):
        raise TypeError(value)
    return integers(value)


Pair = Annotated[tuple[int, ...], Kind("tuple of ints", _several)]


def _matrix_norm(array, order, dims, keepdim, name="linalg.matrix_norm"):
    first, second = dims
    if order == "fro":
        return vector_norm(array, 2, dims, keepdim)
    if order in ("nuc", 2, -2):
        values = singular_values(jnp.moveaxis(floating(array, name), dims, (-2, -1)))
        found = jnp.sum(values, -1) if order == "nuc" else _extreme(values, order, values.ndim - 1, -1)
        return jnp.expand_dims(found, sorted(dims)) if keepdim else found
    if order in (1, -1):
        first, second = second, first
    elif order not in (math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {order} not supported.")
    shown = first if keepdim or first < second else first - 1  # torch has dropped the other one before
    found = _extreme(jnp.sum(magnitude(array), (second,), keepdims=True), order, first, shown, True)
    return found if keepdim else found.squeeze(dims)


def _extreme(values, order, dim, shown, keepdims=False):
    """The largest along `dim` (0 if there is none), or the smallest for a negative order; errors name dimension
    `shown`."""
    if values.shape[dim]:
        return shared(values, largest if order > 0 else smallest, (dim,), keepdims)
    if order < 0:
        raise IndexError(f"amin(): Expected reduction dim {shown} to have non-zero size.")
    return jnp.sum(values, dim, keepdims=keepdims)


def _two(dim, ndim):
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    found = [wrap(each, ndim) for each in dim]
    if found[0] == found[1]:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({found[0]}, {found[1]})")
    return tuple(found)


def _norm_name(static, avals):
    order = static[0]
    order = order[1] if isinstance(order, tuple) else order
    return {"fro": "LinalgVectorNormBackward0", None: "LinalgVectorNormBackward0", "nuc": "SumBackward1"}.get(
        order, "AmaxBackward0" if order is not None and not isinstance(order, str) and order > 0 else "AminBackward0"
    )


@op(saves="input, result", grad_fn=_norm_name)
def linalg_matrix_norm(
    input, ord: Order = "fro", dim: Pair = (-2, -1), keepdim: Flag = False, *, dtype: Type | None = None
):
    """The norm of each matrix: "fro", "nuc", 2 and -2 by its singular values, 1 and inf by sums of columns and rows."""
    name = "linalg.matrix_norm"
    if isinstance(ord, str) and ord not in ("fro", "nuc"):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    if not isinstance(ord, str) and abs(ord) not in (1, 2, math.inf):
        raise RuntimeError(f"{name}: Order {ord:g} not supported.")
    of_type(name, matrices(input, name), None)
    dims = _two(dim, input.ndim)
    return _matrix_norm(of_type(name, input, dtype), ord, dims, keepdim)


@op(saves="input, result", grad_fn="LinalgVectorNormBackward0")
def linalg_norm(input, ord: Order | None = None, dim: Dims = None, keepdim: Flag = False, *, dtype: Type | None = None):
    """The norm of vectors or, where `dim` names two dimensions or `ord` is a word, of matrices."""
    dims = (dim,) if isinstance(dim, int) else dim
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if ord is not None and dims is None and input.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
        )
    if isinstance(ord, str) or (ord is not None and (input.ndim == 2 if dims is None else len(dims) == 2)):
        return linalg_matrix_norm.function(input, ord, dims or (0, 1), keepdim, dtype=dtype)
    return linalg_vector_norm.function(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


@op(grad_fn="LinalgVectorNormBackward0", saves="input, result", rounds_once=True)
def norm(input, p: Order | None = "fro", dim: Dims = None, keepdim: Flag = False, dtype: Type | None = None):
    """The norm over `dim` (all dimensions by default): Euclidean, of order `p`, or "nuc", of singular values."""
    dims = (dim,) if isinstance(dim, int) else dim
    if isinstance(p, str) and (p != "fro" or (dims is not None and len(dims) > 2)):
        return linalg_matrix_norm.function(
            input, p, tuple(range(input.ndim)) if dims is None else dims, keepdim, dtype=dtype
        )
    return linalg_vector_norm.function(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)


@op(saves="input", grad_fn="SumBackward1", public="function")
def nuclear_norm(input, keepdim: Flag = False):
    """torch's older `linalg.matrix_norm` of order "nuc"."""
    return nuclear_norm_dim.function(input, (-2, -1), keepdim)


@op(name="nuclear_norm.dim", saves="input", grad_fn="SumBackward1", public="function")
def nuclear_norm_dim(input, dim: Dims, keepdim: Flag = False):
    """torch's older `linalg.matrix_norm` of order "nuc"."""
    return _matrix_norm(input, "nuc", _two((dim,) if isinstance(dim, int) else dim, input.ndim), keepdim)


def _cond_name(static, avals):
    if static[0] in (None, 2, -2):
        return "SqueezeBackward1"
    return "MulBackward0" if static[0] == "nuc" else "NanToNumBackward0"


@op(saves="input, result", grad_fn=_cond_name)
def linalg_cond(input, p: Order | None = None):
    """A matrix's norm times that of its inverse: how much less precise than B the X of `A @ X = B` may be."""
    matrices(floating(input, "linalg.cond"), "linalg.cond", "")
    if p in (None, 2, -2):
        values = singular_values(input)
        if not input.size:
            return jnp.zeros(input.shape[:-2], values.dtype)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    if not isinstance(p, str) and not input.size:
        return jnp.zeros(input.shape[:-2], abs(input).dtype)
    if isinstance(p, str) or abs(p) in (1, math.inf):
        square(input, f"linalg.cond(ord={p})" if isinstance(p, str) else f"linalg.cond(ord={p:g})")
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if not isinstance(p, str) and abs(p) not in (1, math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p:g}")
    dims = input.ndim - 2, input.ndim - 1
    inverse, info = linalg_inv.function(input)
    found = _matrix_norm(input, p, dims, False) * _matrix_norm(inverse, p, dims, False)
    return jnp.where(info == 0, found, jnp.inf)


def _rank(A, atol, rtol, hermitian):
    name = "linalg.matrix_rank"
    matrices(floating(A, name), f"torch.{name}", "input")
    values = jnp.abs(linalg_eigvalsh.function(A)) if hermitian else singular_values(A)
    if not A.size:
        return jnp.zeros(A.shape[:-2], jnp.int64)
    bound = tolerance(A, atol, rtol) * jnp.max(values, -1)
    return jnp.sum(values > bound[..., None], -1, dtype=jnp.int64)


@op(differentiable=False, rewrite=real_tolerances, check_values=("input", decomposable))
def linalg_matrix_rank(input, *, atol: Either = None, rtol: Either = None, hermitian: Flag = False):
    """How many singular values are larger than `atol` and than `rtol` times the largest."""
    return _rank(input, atol, rtol, hermitian)


@op(name="linalg_matrix_rank.tol", differentiable=False, rewrite=real_tolerances, check_values=("input", decomposable))
def linalg_matrix_rank_tol(input, tol: Either, hermitian: Flag = False):
    """How many singular values are larger than `tol`."""
    return _rank(input, tol, 0.0, hermitian)


CDIST_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@op(public="function", saves="x1, x2, result", slopes="x1, x2", out=False)
def cdist(x1, x2, p: Real = 2.0, compute_mode: Text = "use_mm_for_euclid_dist_if_necessary"):
    """The distances of order `p` between each row of `x1` and each of `x2`, by differences whatever the mode is."""
    if compute_mode not in CDIST_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for each, name in ((x1, "X1"), (x2, "X2")):
        if not jnp.issubdtype(each.dtype, jnp.floating):
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {legacy(each)}")
    for each, name in ((x1, "X1"), (x2, "X2")):
        if each.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {each.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    multiplied = compute_mode == CDIST_MODES[1] or (
        compute_mode == CDIST_MODES[0] and max(x1.shape[-2], x2.shape[-2]) > 25
    )
    if not (multiplied and p == 2):
        supported("cdist", x1, "short", "")
    one_scalar_type(x1, x2, "\nConvert one of them: `x2.to(x1.dtype)`.")
    return distance(x1[..., :, None, :] - x2[..., None, :, :], p)


def distance(difference, p):
    """The norm of order `p` over the last dimension, with the edge cases of torch's kernels for distances.

    A NaN makes a distance of order 0 NaN, and the derivative of order 1 at it. For orders below 1 the derivative at an
    entry of 0 is 0. For order infinity each of the equally large entries gets the whole gradient.
    """
    constant = jax.lax.stop_gradient(difference)
    if p == 0:
        return jnp.sum(jnp.where(jnp.isnan(constant), constant, difference != 0), -1)
    if p == 1:
        return jnp.sum(difference * jnp.sign(constant), -1)
    if p < 1:
        difference = jnp.where(constant == 0, 0, difference)
    if p != math.inf:
        return vector_norm(difference, p, (difference.ndim - 1,))
    size = abs_.function(difference)
    constant = jax.lax.stop_gradient(size)
    most = jnp.max(constant, -1, initial=0)
    return most + jnp.sum(jnp.where(constant == most[..., None], size - constant, 0), -1)


def _powers(x, count):
    """The powers of each element up to `count`, which is left out, along a last dimension."""
    factors = jnp.broadcast_to(x[..., None], (*x.shape, max(count - 1, 0)))
    return jnp.concatenate([jnp.ones((*x.shape, 1), x.dtype), jnp.cumprod(factors, -1)], -1)[..., :count]


@op(saves="x", grad_fn="CatBackward0", out=False)
def linalg_vander(x, *, N: Index | None = None):
    """For each element of `x` a row of its powers, from 0 up to N."""
    x = jnp.atleast_1d(x)
    count = x.shape[-1] if N is None else N
    if x.dtype in (bool, *SHORT):
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {legacy(x)}")
    if N is not None and N <= 1:
        raise RuntimeError("N must be greater than 1.")
    if jnp.issubdtype(x.dtype, jnp.integer):
        x = x.astype(jnp.int64)
    return _powers(x, count)


@op(public="function", saves="x", grad_fn="FlipBackward0", out=False)
def vander(x, N: Index | None = None, increasing: Flag = False):
    """For each element of `x` a row of `N` of its powers, by default as many as elements, falling to 0."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.size if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        x = x.astype(jnp.int64)
    powers = _powers(x, count)
    return powers if increasing else powers[:, ::-1]

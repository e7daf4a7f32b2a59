"""Norms of vectors and the distances between them."""

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Dims, Flag, Index, Real, axes, wrap
from jaxvjp.ops.matrices import inexact, legacy
from jaxvjp.ops.norms import distance
from jaxvjp.ops.op import ARITHMETIC, SHORT, op
from jaxvjp.ops.pointwise import broadcast, not_implemented
from jaxvjp.ops.reduction import vector_norm


def fractional(array):
    """`array` as promoted by a Python float in torch: integers become float32."""
    return array if jnp.issubdtype(array.dtype, jnp.inexact) else array.astype(jnp.float32)


def at_least(input, bound: float):
    """`input`, or `bound` where that is larger; there no gradient flows."""
    return jnp.where(jax.lax.stop_gradient(input) < bound, bound, input)


@op(public="nn.functional", saves="input", grad_fn="DivBackward0", out=True, rounds_once=True)
def normalize(input, p: Real = 2.0, dim: Dims = 1, eps: Real = 1e-12):
    """`input` divided by its p-norm along `dim`, which counts as at least `eps`."""
    inexact(input, "linalg.vector_norm")
    return input / at_least(vector_norm(input, p, dim, True), eps)


@op(public="nn.functional function", promotion=ARITHMETIC, saves="x1, x2", grad_fn="SumBackward1", out=False)
def cosine_similarity(x1, x2, dim: Index = 1, eps: Real = 1e-8):
    """The inner product along `dim` of two vectors, each divided by its length, which counts as at least `eps`."""
    if not jnp.issubdtype(x1.dtype, jnp.floating):
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {legacy(x1)}")
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    x1, x2 = jnp.broadcast_arrays(*broadcast(x1, x2))
    return jnp.sum(_unit(x1, dim, eps) * _unit(x2, dim, eps), axes(dim, x1.ndim))


def _unit(input, dim, eps):
    """`input` divided by its norm. If the norm is raised to `eps`, its derivative is still the norm's, as in torch."""
    norm = vector_norm(input, 2, dim, True)
    return input / jnp.where(norm < eps, eps + (norm - jax.lax.stop_gradient(norm)), norm)


@op(public="nn.functional function", promotion=ARITHMETIC, saves="x1, x2", grad_fn="NormBackward1", out=False)
def pairwise_distance(x1, x2, p: Real = 2.0, eps: Real = 1e-6, keepdim: Flag = False):
    """The p-norm of `x1 - x2 + eps` over the last dimension."""
    x1, x2 = broadcast(x1, x2)
    return vector_norm(fractional(x1 - x2) + eps, p, wrap(-1, max(x1.ndim, x2.ndim)), keepdim)


@op(public="nn.functional function", saves="input", slopes="input", out=False, rounds_once=True)
def pdist(input, p: Real = 2.0):
    """The distances between all pairs of rows, in the order of `torch.combinations`."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if not jnp.issubdtype(input.dtype, jnp.floating):
        raise RuntimeError("pdist only supports floating-point dtypes")
    if input.dtype in SHORT:
        raise not_implemented("pdist", input, "")
    first, second = jnp.triu_indices(input.shape[0], 1)
    return distance(input[first] - input[second], p)

"""Random numbers from the gamma, Dirichlet and binomial distributions: torch's own on a CPU, for the same seed.

They are drawn one by one, as torch draws them. Gradients of gamma numbers are implicit ones, by
`jax.lax.random_gamma_grad`; torch approximates them to about three digits.
"""

import math
from collections.abc import Callable

import numpy as np

from jaxvjp.library.generator import Generator
from jaxvjp.library.random_tensors import Array, constant, drawn_leaf
from jaxvjp.ops.random import pathwise_dirichlet, pathwise_gamma
from jaxvjp.tensor.apply import apply
from jaxvjp.tensor.batched_randomness import drawn_from
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import Dtype, float64

UNDERNEATH = "NumPy's MT19937 on the host, as torch's on the CPU; `jax.lax.random_gamma_grad`"


def _gamma(source: Generator, shape: np.floating) -> float:
    """A gamma number, by the rejection of G. Marsaglia and W. W. Tsang (2000)."""
    kind, scale = type(shape), 1.0
    if shape < 1:
        if shape == 0:
            return 0.0
        scale = (1 - float(source.__doubles__(1)[0])) ** float(kind(1) / shape)
        shape = kind(shape + kind(1))
    d = float(kind(shape - kind(np.float32(1) / np.float32(3))))
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        y = 0.0
        while y <= 0:
            x = float(source.__normals_one_by_one__(1)[0])
            y = 1.0 + c * x
        v, u = y**3, 1 - float(source.__doubles__(1)[0])
        if u < 1 - float(np.float32(0.0331)) * x**4 or math.log(u) < 0.5 * x * x + d * (1 - v + math.log(v)):
            return scale * d * v


def _gammas(source: Generator, shapes: Array, own: Dtype) -> Array:
    kind = own.numpy.type if own.itemsize >= 4 else np.float32
    drawn = np.array([_gamma(source, kind(each)) for each in shapes.reshape(-1)], np.float64)
    return np.maximum(drawn, float(np.finfo(kind).tiny))


def _drawn(draw: Callable[..., Array], own: Dtype, generator: Generator | None, *parameters: Tensor) -> Tensor:
    """What `draw` gives for a generator and the values of the parameters."""

    def drawn(*given: Tensor) -> Tensor:
        values = [np.asarray(each.detach().__value__) for each in given]
        shape = tuple(given[0].shape)
        numbers = lambda source, _: draw(source, *values)  # noqa: E731
        return drawn_leaf(numbers, shape, own, generator=generator, device=given[0].device)

    return drawn_from(drawn, *parameters)


def standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma numbers of which `input` has the shapes, as a function of them."""
    drawn = _drawn(lambda source, shapes: _gammas(source, shapes, input.dtype), input.dtype, generator, input)
    return apply(pathwise_gamma, (input, drawn))


def sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Points of the simplex with concentrations along the last dimension, as a function of them.

    The gradient is that of gamma numbers divided by their sum. torch's is another estimate with the same mean.
    """
    drawn = _drawn(lambda source, shapes: _gammas(source, shapes, float64), float64, generator, input.double())
    return apply(pathwise_dirichlet, (input, drawn))


@public("function")
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of `count` tries succeed, each with the probability `prob`, elementwise.

    Args:
        count: how many tries, of a floating dtype.
        prob: of the same dtype, from 0 to 1.
    """
    if count.dtype is not prob.dtype:
        raise RuntimeError(f"Found dtype {prob.dtype.legacy} but expected {count.dtype.legacy}")
    shape = np.broadcast_shapes(tuple(count.shape), tuple(prob.shape))

    def draw(source: Generator, counts: Array, probs: Array) -> Array:
        pairs = zip(counts.ravel().tolist(), probs.ravel().tolist(), strict=True)
        return np.array([_binomial(source, n, p, count.dtype) for n, p in pairs], np.float64)

    drawn = _drawn(draw, count.dtype, generator, count.expand(shape), prob.expand(shape))
    return constant(drawn, [count, prob], "binomial")


def _binomial(source: Generator, n: float, p: float, own: Dtype) -> float:
    if n <= 0 or p <= 0:
        return 0
    if p >= 1:
        return n
    if p != p:  # NaN
        return math.nan
    least = min(p, 1 - p)

    def uniform() -> float:
        return float(own.numpy.type(source.__doubles__(1)[0]))

    found = _by_rejection(uniform, n, least) if n * least >= 10 else _by_gaps(uniform, n, least)
    return found if p <= 0.5 else n - found


def _by_gaps(uniform: Callable[[], float], n: float, p: float) -> float:
    """A binomial number for few successes: how many gaps between them fit into `n`."""
    total, found = 0.0, 0
    while True:
        drawn = uniform()
        total += math.ceil(math.log(drawn) / math.log1p(-p)) if drawn else n + 1
        if total > n:
            return found
        found += 1


def _by_rejection(uniform: Callable[[], float], n: float, p: float) -> float:
    """A binomial number by the transformed rejection of W. Hörmann (1993)."""
    deviation = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    ratio, alpha, mode = p / (1 - p), (2.83 + 5.1 / b) * deviation, math.floor((n + 1) * p)
    while True:
        u, v = uniform() - 0.5, uniform()
        edge = 0.5 - abs(u)
        k = math.floor((2 * a / edge + b) * u + n * p + 0.5) if edge else -1
        if not 0 <= k <= n:
            continue
        if edge >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (ratio * (n - mode + 1)))
            + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * math.log(ratio * (n - k + 1) / (k + 1))
            + sum(sign * _tail(each) for sign, each in ((1, mode), (1, n - mode), (-1, k), (-1, n - k)))
        )
        if not v or math.log(v * alpha / (a / edge**2 + b)) <= bound:
            return k


def _tail(k: float) -> float:
    """What Stirling's formula for `log(k!)` leaves."""
    return math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))

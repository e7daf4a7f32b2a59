"""Bessel functions and Airy's, which JAX does not have: integrals by the trapezoidal rule.

With a few dozen nodes that rule is exact to the last digit for integrands that are periodic or decay like `exp(-u²)`,
as these are. Far from 0, where the functions oscillate, they are computed by an expansion in 1 / x. All is computed in
double precision, because of cancellation. As in torch, none of them has a gradient.
"""

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import jax.scipy.special as scipy
import numpy as np

from jaxvjp.ops.op import FLOAT, op
from jaxvjp.ops.pointwise import supported

Function = Callable[[Any], Any]
FAR = 25.0
"""From this x on, 16 terms of the expansion in 1 / x are exact to the last digit."""
ANGLES = 64
SINES = np.sin(np.pi * (np.arange(ANGLES // 2) + 0.5) / ANGLES)
"""Sines of the nodes between 0 and π/2; those between π/2 and π have the same."""


ORDERS = np.arange(1, ANGLES // 2)
WEIGHTS = 4 / np.pi * np.sum((-1.0) ** (ORDERS + 1) * np.cos(2 * ORDERS * np.arcsin(SINES)[:, None]) / ORDERS, -1)
"""The terms of the angles in Y: Neumann's series, summed over the orders first."""


def _mean(function: Function, weights: Any = None):
    """The mean of a function of the sine over all angles, times `weights`."""
    factors = np.ones(len(SINES)) if weights is None else weights
    return sum(float(weight) * function(float(sine)) for weight, sine in zip(factors, SINES, strict=True)) / len(SINES)


def _far(order: float, x, phase: float):
    """`sqrt(2 / πx) * (P cos(x - phase) - Q sin(x - phase))`: Hankel's expansion."""
    total, term = [1.0, 0.0], 1.0
    for number in range(1, 17):
        term = term * (4 * order**2 - (2 * number - 1) ** 2) / (8 * number * x)
        total[number % 2] = total[number % 2] + (-1) ** (number // 2) * term
    # By cos(x - phase) and sin(x - phase), without the difference, which rounds.
    p, q, cosine, sine = *total, math.cos(phase), math.sin(phase)
    wave = (p * cosine + q * sine) * jnp.cos(x) + (p * sine - q * cosine) * jnp.sin(x)
    return math.sqrt(2 / math.pi) / jnp.sqrt(x) * wave


def _near_or_far(order: int, near: Function, quarter: int) -> Function:
    def function(x):
        close = x < FAR
        far = _far(order, jnp.where(close, FAR, x), (2 * order + 1 + 2 * quarter) * np.pi / 4)
        return jnp.where(close, near(jnp.where(close, x, FAR)), far)

    return function


def _near_j0(x):
    return _mean(lambda sine: jnp.cos(x * sine))


def _near_j1(x):
    return _mean(lambda sine: sine * jnp.sin(x * sine))


def _logarithm(x):
    return 2 / np.pi * (jnp.log(x) + (np.euler_gamma - math.log(2)))


def _near_y0(x):
    return _logarithm(x) * _near_j0(x) + _mean(lambda sine: jnp.cos(x * sine), WEIGHTS)


def _near_y1(x):  # minus the derivative of the former
    rest = _mean(lambda sine: sine * jnp.sin(x * sine), WEIGHTS)
    return _logarithm(x) * _near_j1(x) + rest - 2 / np.pi * _near_j0(x) / x


_positive_j0, _positive_j1 = _near_or_far(0, _near_j0, 0), _near_or_far(1, _near_j1, 0)
_positive_y = _near_or_far(0, _near_y0, 1), _near_or_far(1, _near_y1, 1)


def _from_zero(function: Function, at_zero: float) -> Function:
    """`function` for x > 0, `at_zero` at 0, and NaN below."""

    def whole(x):
        return jnp.where(x > 0, function(jnp.where(x > 0, x, 1.0)), jnp.where(x == 0, at_zero, jnp.nan))

    return whole


STEP = 0.3


def _falling(x, order: int):
    """`exp(x) * K`: the integral of `exp(-u²) * 2 / sqrt(2x + u²)`, for order 1 times `1 + u²/x`, from 0 on."""
    total: Any = 0.0
    for number in range(21):
        square = (number * STEP) ** 2
        height = math.exp(-square) * (STEP / 2 if number == 0 else STEP)
        total += height * math.sqrt(2) / jnp.sqrt(x + square / 2) * (1 + square / x if order else 1)
    return total


def _scaled_k(order: int) -> Function:
    def function(x):
        close = x < 2
        small = jnp.where(close, x, 1.0)
        term, harmonic, series = jnp.ones_like(small), 0.0, jnp.zeros_like(small)
        for number in range(1, 16):
            term, harmonic = term * (small / 2) ** 2 / number**2, harmonic + 1 / number
            series += term * harmonic
        i0, i1 = scipy.i0(small), scipy.i1(small)
        k0 = series - (jnp.log(small) + (np.euler_gamma - math.log(2))) * i0
        near = (1 / small - i1 * k0) / i0 if order else k0  # by the Wronskian of I and K
        return jnp.where(close, jnp.exp(small) * near, _falling(jnp.where(close, 2.0, x), order))

    return function


def _unscaled(function: Function) -> Function:
    return lambda x: function(x) * jnp.exp(-x)


def _airy(x):
    """The integral of `exp(i(u³/3 + xu)) / 2π` along a line above the real axis, where it decays; far below 0 by J."""
    close = x > -9
    near = jnp.where(close, jnp.minimum(x, 200.0), 0.0)  # beyond, it is 0
    above = jnp.sqrt(jnp.maximum(near, 0.36))
    total: Any = 0.0
    for number in range(90):
        place = number * 0.1
        falling = jnp.exp(-above * place**2 + above**3 / 3 - near * above)
        total += falling * jnp.cos(place**3 / 3 - place * above**2 + near * place) * (0.5 if number == 0 else 1)
    angle = 2 / 3 * jnp.abs(jnp.where(close, -9.0, x)) ** 1.5
    far = jnp.sqrt(jnp.where(close, 9.0, -x) / 3) * _far(1 / 3, angle, np.pi / 4)
    return jnp.where(jnp.isinf(x), jnp.nan, jnp.where(close, total * 0.1 / np.pi, far) + 0 * x)


def _spherical_j0(x):
    some = jnp.where((x == 0) | jnp.isinf(x), 1.0, x)
    return jnp.where(jnp.isinf(x), 0.0, jnp.where(x == 0, 1.0, jnp.sin(some) / some))


def _declare(name: str, function: Function, meaning: str) -> None:
    @op(name=f"special_{name}", promotion=FLOAT, differentiable=False, doc=meaning)
    def row(input):
        return function(supported(name, input, "short complex").astype("float64")).astype(input.dtype)


_scaled = [_scaled_k(order) for order in (0, 1)]
KINDS = {
    "bessel_j": (
        "The Bessel function of the first kind",
        [lambda x: _positive_j0(jnp.abs(x)), lambda x: jnp.sign(x) * _positive_j1(jnp.abs(x))],
    ),
    "bessel_y": ("The Bessel function of the second kind", [_from_zero(each, -math.inf) for each in _positive_y]),
    "modified_bessel_i": (
        "The modified Bessel function of the first kind",
        [scipy.i0, lambda x: jnp.where(x == 0, 0.0, scipy.i1(x))],  # at -0 torch's is 0
    ),
    "modified_bessel_k": (
        "The modified Bessel function of the second kind",
        [_from_zero(_unscaled(each), math.inf) for each in _scaled],
    ),
    "scaled_modified_bessel_k": (
        "`exp(input)` times the modified Bessel function of the second kind",
        [_from_zero(each, math.inf) for each in _scaled],
    ),
}
for _name, (_meaning, _orders) in KINDS.items():
    for _order, _function in enumerate(_orders):
        _declare(f"{_name}{_order}", _function, f"{_meaning}, of order {_order}.")
_declare("spherical_bessel_j0", _spherical_j0, "The spherical Bessel function of the first kind, of order 0: sin(x)/x.")
_declare("airy_ai", _airy, "Airy's function Ai, the solution of `y'' = x y` that falls to 0.")

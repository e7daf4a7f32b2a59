"""The functions of one number: exponential, trigonometric, hyperbolic, special.

Each is one line of the table below. Integers are first converted to the default floating dtype.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.special as scipy
import numpy as np

from jaxvjp.ops.arguments import Index, Real
from jaxvjp.ops.identity import rebind
from jaxvjp.ops.layouts import CONTIGUOUS
from jaxvjp.ops.op import FLOAT, Op, op
from jaxvjp.ops.pointwise import supported


class Line(NamedTuple):
    """One function: its implementation, its meaning, what torch saves, and its aliases."""

    function: Any
    meaning: str
    saves: str = "input"
    aliases: str = ""


def _on_both_sides(function):
    """Mends a function with a branch cut on the real axis: sqrt(-4 - 0j) is -2j, but XLA reads it as -4 + 0j."""

    def cut(input):
        if not jnp.iscomplexobj(input):
            return function(input)
        below = (input.imag == 0) & jnp.signbit(input.imag)
        result = function(jnp.where(below, input.conj(), input))
        return jnp.where(below, result.conj(), result)

    return cut


_sqrt = _on_both_sides(jnp.sqrt)


def _rsqrt(input):
    # `lax.rsqrt` of a complex zero is NaN, and its derivative at -0 has the wrong sign.
    return 1 / _sqrt(input)


def _exp2(input):
    if not jnp.iscomplexobj(input):
        # XLA computes exp2 as the exponential of a product, which has five correct digits at 2 ** 100.
        moderate = jnp.abs(input) < 2000  # beyond, it is 0 or infinite, and so is its derivative
        shown = jnp.where(moderate, input, 0)
        whole = jax.lax.stop_gradient(jnp.round(shown))
        return jnp.where(moderate, jnp.ldexp(jnp.exp2(shown - whole), whole.astype("int32")), jnp.exp2(input))
    return jnp.exp(jax.lax.complex(input.real * jnp.log(2), input.imag * jnp.log(2)))  # of infinity no NaN


def _erf(input):
    """XLA's rounds to more than 1 in float32. What is too much is taken off, and the slope is left as it is."""
    found = scipy.erf(input)
    return found - jax.lax.stop_gradient(found - jnp.clip(found, -1, 1))


def _acosh(input):
    if not jnp.iscomplexobj(input):
        return jnp.arccosh(input)
    # Kahan's formula; the derivative of JAX's has the wrong sign to the left of the imaginary axis.
    above, below = (jax.lax.complex((input.real + each) / 2, input.imag / 2) for each in (1, -1))
    return 2 * jnp.log(jnp.sqrt(above) + jnp.sqrt(below))


def _sinc(input):
    scaled = jnp.pi * input
    # Near 0 by its series: the derivative of the quotient is a difference of terms with 1 / x².
    near = jnp.abs(jax.lax.stop_gradient(scaled)) < 1e-2
    square = jnp.where(near, scaled, 0) ** 2
    far = jnp.where(near, 1, scaled)
    return jnp.where(near, 1 - square / 6 * (1 - square / 20 * (1 - square / 42)), jnp.sin(far) / far)


def _ndtr(input):
    half = jnp.sqrt(0.5).astype(input.dtype)
    return scipy.erfc(-input * half) / 2


def _erfcx(input):
    # Element by element: the second derivative that JAX 0.12 has of it takes arrays without dimensions only.
    near = jax.vmap(scipy.erfcx)(input.reshape(-1)).reshape(input.shape)
    # Far out by a series: just before its own series JAX's is 0, for there `erfc` is denormal, which XLA takes as 0.
    limit, terms = (9, [6.5625]) if input.dtype == "float32" else (26, [162.421875, -29.53125, 6.5625])
    far = input > limit
    inverse = 1 / jnp.where(far, input, limit)
    series = jnp.polyval(jnp.array([*terms, -1.875, 0.75, -0.5, 1], input.dtype) / np.pi**0.5, inverse**2)
    return jnp.where(far, inverse * series, near)


def _log_ndtr(input):
    # In the far tail by erfcx, which neither underflows nor cancels there.
    half = jnp.sqrt(0.5).astype(input.dtype)
    low = input < -1
    tail = jnp.log(_erfcx(-jnp.where(low, input, -1) * half) / 2) - jnp.where(low, input, 0) ** 2 / 2
    return jnp.where(low, tail, jnp.log1p(-scipy.erfc(jnp.where(low, 0, input) * half) / 2))


@jax.custom_jvp
def tanh(input):
    return jnp.tanh(input)


@tanh.defjvp
def _tanh_jvp(primals, tangents):
    # By hand, for JAX's own rule is `g + g * t` with `g = dx * (1 - t)`. Next to -1 that cancels: by 1e-4 at -4.5, a
    # fifth at -7.9, but not where the compiler makes one fused operation of it, so that programs disagree. This form
    # is exact in each of them; `copysign(tanh(abs(x)), x)`, whose slope is, too, takes twice the time in a chain.
    value = tanh(*primals)
    return value, tangents[0] * ((1 - value) * (1 + value))


def _entr(input):
    # The value is replaced at 0 and infinity; the derivative stays that of the logarithm, and at 0 that of a root,
    # infinite.
    zero, infinite = input == 0, jnp.isposinf(input)
    logarithm = jnp.where(infinite, jnp.inf, jnp.log(jnp.where(zero | infinite, 1, input)))
    start = jnp.sqrt(jnp.where(zero, input - jax.lax.stop_gradient(input), 1))
    inner = jnp.where(zero, start, -input * logarithm)
    return rebind.function(inner, jnp.where(input < 0, -jnp.inf, inner))


def _i0(input):
    # Where it overflows, by the exponential, whose derivative is infinite; the product's would be inf - inf, NaN.
    size = jnp.abs(input)
    beyond = jnp.isinf(jnp.exp(size)) & jnp.isfinite(input)
    return jnp.where(beyond, jnp.exp(size), _unscaled(scipy.i0e)(jnp.where(beyond, 0, input)))


def _unscaled(scaled):
    """A Bessel function from its exponentially scaled form. Not by `jnp.abs`, whose derivative at 0 is 1 where 0 is
    right."""
    return lambda x: jnp.exp(x * jax.lax.stop_gradient(jnp.sign(x))) * scaled(x)


def _i1e(input):
    result = scipy.i1e(input)
    return rebind.function(result, jnp.where(input == 0, 0, result))  # at -0 torch's is 0


def _reflected(function, mirrored):
    """A function whose series hold for positive numbers only; of negative ones `mirrored(x, function(1 - x))`."""

    def reflected(input):
        negative = input < 0
        values = function(jnp.where(negative, 1 - input, input))
        return jnp.where(negative, mirrored(jnp.where(negative, input, -0.5), values), values)

    return reflected


def _cotangent(input):
    # By the distance to the nearest integer (a pole), so that it is precise far from 0. Not by the tangent, which is
    # huge between the poles: rounding its derivatives costs as much as the second derivative is.
    angle = jnp.pi * (input - jax.lax.stop_gradient(jnp.round(input)))
    return jnp.pi * jnp.cos(angle) / jnp.sin(angle)


def _exp(input):
    """Of complex minus infinity 0, whatever the phase is, as torch has it; XLA's is NaN for an infinite one."""
    if not jnp.iscomplexobj(input):
        return jnp.exp(input)
    nothing = jnp.real(input) == -jnp.inf
    return jnp.where(nothing, 0, jnp.exp(jnp.where(nothing, 0, input)))


def _positive_digamma(input):
    # By the expansion for large numbers, ten steps further; nearer than JAX's, and ten times as fast with derivatives.
    inverse = 1 / (input + 10)
    coefficients = [1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12]
    series = inverse**2 * jnp.polyval(jnp.array(coefficients, input.dtype), inverse**2)
    steps = sum(1 / (input + step) for step in range(9, -1, -1))
    return jnp.log(input + 10) - inverse / 2 - series - steps


def _digamma(input):
    values = _reflected(_positive_digamma, lambda x, mirrored: mirrored - _cotangent(x))
    pole = (input <= 0) & (input == jnp.round(input))
    # Signed infinity at 0, NaN at the other poles; the derivative is infinite at all of them.
    distance = jnp.where(pole, jnp.where(input == 0, input, input - jax.lax.stop_gradient(input)), 1)
    at_pole = jnp.where(input == 0, 0, jnp.nan) - 1 / distance
    return jnp.where(pole, at_pole, values(jnp.where(pole, 0.5, input)))


AROUND_TWO = {
    8: """
    0.0005631591990363806 -0.0013125623822621145 0.00288196555904312 -0.007366421845287885
    0.02058123942781242 -0.06735326573945029 0.3224670300514728 0.4227843426470044""",
    18: """
    2.7475390051909663e-07 -5.811277768921246e-07 9.242852225162277e-07 -1.9743106888421067e-06
    4.3828545383846665e-06 -9.45628851510172e-06 2.050601970174762e-05 -4.4923727564247656e-05
    9.945761692157133e-05 -0.00022315497746292723 0.0005096695196526673 -0.0011927539009983087
    0.002890510330865901 -0.007385551028935545 0.02058080842778338 -0.06735230105319563
    0.3224670334241132 0.42278433509846713""",
}
"""lgamma(2 + z) / z for z between -1/2 and 1/2, as polynomials through so many of Chebyshev's nodes: for float32 and
float64."""


def _positive_lgamma(input):
    # JAX's loses its digits around the zeros 1 and 2: there, and around 3, by a polynomial and a logarithm.
    close = (input > 0.5) & (input < 3.5)
    shown = jnp.where(close, input, 2)
    centre = jax.lax.stop_gradient(jnp.round(shown))
    distance, series = shown - centre, jnp.zeros_like(shown)
    for each in AROUND_TWO[18 if input.dtype == "float64" else 8].split():
        series = series * distance + float(each)
    step = (centre - 2) * jnp.log(jnp.where(centre == 3, shown - 1, shown))
    return jnp.where(close, distance * series + step, scipy.gammaln(jnp.where(close, 4, input)))


def _lgamma(input):
    values = _reflected(
        _positive_lgamma,
        lambda x, mirrored: (
            jnp.log(jnp.pi / jnp.abs(jnp.sin(jnp.pi * (x - jax.lax.stop_gradient(jnp.round(x)))))) - mirrored
        ),
    )
    # Near 0 it behaves as minus the logarithm; far below it is infinite at every number, as all are integers.
    near, end = jnp.abs(input) < 1e-20, input < -1e30
    logarithm = -jnp.log(jnp.where(near & (input < 0), -input, jnp.where(near, input, 1)))
    result = jnp.where(near, logarithm, values(jnp.where(near | end, 0.5, input)))
    undefined = jnp.sqrt(jnp.where(end, input, 1))  # there, and all derivatives
    return rebind.function(jnp.where(end, undefined, result), jnp.where(end, jnp.inf, result))


def _ndtri(input):
    # At the ends 0 and 1 by logarithms, whose derivative there is infinite, too.
    lowest, highest = input == 0, input == 1
    low = jnp.log(jnp.where(lowest, input - jax.lax.stop_gradient(input), 1))  # from above, also at -0
    high = -jnp.log1p(-jnp.where(highest, input, 0))
    inner = scipy.ndtri(jnp.where(lowest | highest, 0.5, input))
    return jnp.where(lowest, low, jnp.where(highest, high, inner))


ELEMENTARY = {
    "exp": Line(_exp, "e to the power of `input`.", "result"),
    "exp2": Line(_exp2, "2 to the power of `input`.", "result", "special.exp2"),
    "expm1": Line(jnp.expm1, "`exp(input) - 1`, precise near 0.", "result", "special.expm1"),
    "log": Line(jnp.log, "The natural logarithm."),
    "log2": Line(jnp.log2, "The logarithm to base 2."),
    "log10": Line(jnp.log10, "The logarithm to base 10."),
    "log1p": Line(jnp.log1p, "`log(1 + input)`, precise near 0.", aliases="special.log1p"),
    "sqrt": Line(_sqrt, "The square root.", "result"),
    "rsqrt": Line(_rsqrt, "`1 / sqrt(input)`.", "result"),
    "sin": Line(jnp.sin, "The sine of an angle in radians."),
    "cos": Line(jnp.cos, "The cosine of an angle in radians."),
    "tan": Line(jnp.tan, "The tangent of an angle in radians.", "result"),
    "asin": Line(_on_both_sides(jnp.arcsin), "The angle in radians whose sine is `input`.", aliases="arcsin"),
    "acos": Line(_on_both_sides(jnp.arccos), "The angle in radians whose cosine is `input`.", aliases="arccos"),
    "atan": Line(jnp.arctan, "The angle in radians whose tangent is `input`.", aliases="arctan"),
    "sinh": Line(jnp.sinh, "The hyperbolic sine."),
    "cosh": Line(jnp.cosh, "The hyperbolic cosine."),
    "tanh": Line(tanh, "The hyperbolic tangent.", "result", aliases="nn.functional.tanh"),
    "asinh": Line(jnp.arcsinh, "The number whose hyperbolic sine is `input`.", aliases="arcsinh"),
    "acosh": Line(_on_both_sides(_acosh), "The number whose hyperbolic cosine is `input`.", aliases="arccosh"),
    "atanh": Line(jnp.arctanh, "The number whose hyperbolic tangent is `input`.", aliases="arctanh"),
    "sigmoid": Line(jax.nn.sigmoid, "`1 / (1 + exp(-input))`.", "result", "special.expit nn.functional.sigmoid"),
    "sinc": Line(_sinc, "`sin(πx) / (πx)`, and 1 at 0.", aliases="special.sinc"),
    "erf": Line(_erf, "The error function.", aliases="special.erf"),
    "erfc": Line(scipy.erfc, "`1 - erf(input)`.", aliases="special.erfc"),
    "erfinv": Line(scipy.erfinv, "The number whose error function is `input`.", aliases="special.erfinv"),
    "lgamma": Line(_lgamma, "The logarithm of the magnitude of the gamma function.", aliases="special.gammaln"),
    "digamma": Line(_digamma, "The derivative of `lgamma`.", aliases="special.digamma special.psi"),
    "i0": Line(_i0, "The modified Bessel function of the first kind, of order 0.", aliases="special.i0"),
    "special_i0e": Line(scipy.i0e, "`exp(-|x|) * i0(x)`.", "input, result"),
    "special_i1": Line(_unscaled(_i1e), "The modified Bessel function of the first kind, of order 1.", "input, result"),
    "special_i1e": Line(_i1e, "`exp(-|x|) * i1(x)`.", "input, result"),
    "special_erfcx": Line(_erfcx, "`exp(x²) * erfc(x)`.", "input, result"),
    "special_ndtr": Line(_ndtr, "The area under the standard normal density up to `input`."),
    "special_ndtri": Line(_ndtri, "The number up to which that area is `input`.", "result"),
    "special_log_ndtr": Line(_log_ndtr, "The logarithm of that area.", "input, result"),
    "special_entr": Line(_entr, "The entropy `-x log(x)`, 0 at 0 and minus infinity below."),
}


VECTORIZED = frozenset(["erf", "erfc", "erfinv", "lgamma"])
"""Functions that torch's errors call by the name of a vector library's kernel: `erf_vml_cpu`."""
REFUSED = {
    **dict.fromkeys([*VECTORIZED, "digamma", "i0"], "complex"),
    **dict.fromkeys(["special_erfcx", "special_ndtri", "special_log_ndtr"], "complex short"),
}
"""The types that torch does not have these functions for; others of `special` it does not have for complex numbers."""


def _declared(name: str, line: Line) -> Op:
    function, special = line.function, name.startswith("special_")
    refused = REFUSED.get(name, "complex" if special else "")
    kernel = f"{name}_vml" if name in VECTORIZED else name.removeprefix("special_")
    columns = {"promotion": FLOAT, "inplace": not special, "saves": line.saves, "aliases": line.aliases}

    @op(name=name, doc=line.meaning, **columns)
    def row(input):
        return function(supported(kernel, input, refused))

    return row


ROWS = {name: _declared(name, line) for name, line in ELEMENTARY.items()}


def _scaled(name, factor, input):
    if jnp.iscomplexobj(input):
        raise RuntimeError(f"{name} is not supported for complex tensors.")
    return input * jnp.asarray(factor, input.dtype)


for _name, _factor, _meaning in (
    ("deg2rad", jnp.pi / 180, "Degrees as radians."),
    ("rad2deg", 180 / jnp.pi, "Radians as degrees."),
):
    _declared(_name, Line(partial(_scaled, _name, _factor), _meaning, ""))


@op(promotion=FLOAT, inplace=True, saves="input", aliases="special.logit")
def logit(input, eps: Real | None = None):
    """`log(x / (1 - x))`, with x clamped to between `eps` and `1 - eps`."""
    supported("logit", input, "complex")
    if eps is not None:
        constant = jax.lax.stop_gradient(input)
        low, high = constant < eps, constant > 1 - eps
        input = jnp.where(low, eps, jnp.where(high, 1 - eps, input)).astype(input.dtype)
    outside = jnp.where((input < 0) | (input > 1), jnp.nan, 0).astype(input.dtype)
    return jnp.log(input + outside) - jnp.log1p(-input)  # the derivative there is NaN, too


@op(name="polygamma", promotion=FLOAT, inplace=True, saves="input", aliases="special.polygamma")
def polygamma(n: Index, input):
    """The derivative of order `n` of `digamma`."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return ROWS["digamma"].function(input)
    # Each derivative of the cotangent c is a polynomial in it, for c' = -π(1 + c²).
    polynomial = np.polynomial.Polynomial([0, np.pi])
    for _ in range(n):
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([-np.pi, 0, -np.pi])
    coefficients = jnp.asarray(polynomial.coef[::-1], input.dtype)
    sign = -1 if n % 2 else 1
    result = _reflected(
        partial(scipy.polygamma, n),
        lambda x, mirrored: sign * mirrored - jnp.polyval(coefficients, _cotangent(x) / jnp.pi),
    )
    pole = (input <= 0) & (input == jnp.round(input))
    distance = jnp.where(pole, input - jax.lax.stop_gradient(input), 1)
    return jnp.where(pole, -sign * distance ** -(n + 1), result(jnp.where(pole, 0.5, input)))


@op(promotion=FLOAT, inplace=True, saves="input", aliases="special.multigammaln", keeps=CONTIGUOUS)
def mvlgamma(input, p: Index):
    """The logarithm of the multivariate gamma function of dimension `p`."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    supported("mvlgamma", input, "complex")
    steps = (1 - jnp.arange(1, p + 1, dtype=input.dtype)) / 2
    constant = p * (p - 1) / 4 * jnp.log(jnp.pi)
    return jnp.sum(_lgamma(input[..., None] + steps), -1) + constant.astype(input.dtype)


def logaddexp(input, other, base=None):
    """`log(exp(input) + exp(other))`, also to another `base`; the phase of complex results may wind around, as in
    torch."""
    swapped = input.real < other.real
    larger, smaller = jnp.where(swapped, other, input), jnp.where(swapped, input, other)
    # By their difference: JAX's own derivative is that of a rounded sum. For two infinities it is 0.
    difference = smaller - larger
    if base is None:
        result = larger + jnp.log1p(jnp.exp(difference))
    else:
        result = larger + jnp.log1p(_exp2(difference)) / jnp.log(base).astype(larger.dtype)
    return rebind.function(result, jnp.where((larger == smaller) & jnp.isinf(larger), larger, result))

"""Arithmetic beyond the basic operators: maximum and minimum of two, rounding, signs, sums of products.

Operands arrive promoted to one dtype.
"""

from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as scipy

from jaxvjp.ops.arguments import Either, Index, Real, Scalar
from jaxvjp.ops.division import integral, ordered
from jaxvjp.ops.elementary import ROWS
from jaxvjp.ops.elementary import logaddexp as _logaddexp
from jaxvjp.ops.identity import rebind, refused
from jaxvjp.ops.op import ARITHMETIC, DOUBLE, FLOAT, OPMATH, Op, by_number, op
from jaxvjp.ops.pointwise import (
    ALL_BUT_FLOATS,
    OTHER_TENSOR_OR_NUMBER,
    SCALED,
    broadcast,
    fitting_alpha,
    mul,
    not_implemented,
    pow_,
    refuse_masks,
    sub,
    supported,
)
from jaxvjp.types.dtypes import CTYPES, FLOATING, INTEGRAL, fitted


@op(promotion=DOUBLE, inplace=True, saves="input, exponent, result", grad_fn=by_number("pow", 1, 0, 2))
def float_power(input: Either, exponent: Either):
    """`input ** exponent` in double precision."""
    return pow_.function(input, exponent)


# Maximum and minimum of two. Equal operands share the gradient in halves, except in `fmax` and `fmin`.


def _extreme(better, input, other):
    if not jnp.issubdtype(input.dtype, jnp.inexact):
        return better(input, other)
    # If one is NaN, neither is less: torch gives each the whole gradient.
    return jnp.where(jnp.isnan(input) | jnp.isnan(other), input + other, better(input, other))


def _number_first(better, input, other):
    return jnp.where(better(input, other) | jnp.isnan(other), input, other)


def _declare_extreme(name: str, choose: Any, better: Any, meaning: str, aliases: str = "") -> Op:
    @op(name=name, promotion=ARITHMETIC, saves="input, other", slopes="", doc=meaning, aliases=aliases)
    def row(input, other):
        if jnp.iscomplexobj(input):
            raise RuntimeError(f"{name} not implemented for complex tensors.")
        return choose(better, *broadcast(input, other))

    return row


FIRST = "of two elements; of a number and NaN the number. The first has the gradient where they are equal."
maximum = _declare_extreme(
    "maximum", _extreme, jnp.maximum, "The larger of two elements; NaN where one of them is.", "max"
)
minimum = _declare_extreme(
    "minimum", _extreme, jnp.minimum, "The smaller of two elements; NaN where one of them is.", "min"
)
_declare_extreme("fmax", _number_first, jnp.greater_equal, f"The larger {FIRST}")
_declare_extreme("fmin", _number_first, jnp.less_equal, f"The smaller {FIRST}")


# Functions of two numbers.


@op(promotion=FLOAT, inplace=True, saves="input, other", aliases="arctan2")
def atan2(input, other):
    """The angle of the point (`other`, `input`); its derivative at the origin is 0."""
    input, other = ordered("atan2", input, other)
    origin = (input == 0) & (other == 0)
    constant = jax.lax.stop_gradient(jnp.arctan2(input, other))
    return jnp.where(origin, constant, jnp.arctan2(jnp.where(origin, 1, input), jnp.where(origin, 1, other)))


@op(promotion=ARITHMETIC, inplace=True, saves="input, other, result")
def hypot(input, other):
    """`sqrt(input² + other²)`."""
    input, other = jnp.broadcast_arrays(*broadcast(supported("hypot", input, ALL_BUT_FLOATS), other))
    size = jax.lax.stop_gradient(jnp.maximum(jnp.abs(input), jnp.abs(other)))
    infinite = jnp.isinf(input) | jnp.isinf(other)
    # Both sides are divided by a constant first, so that no square, also in the derivative, overflows.
    size = jnp.where((size > 0) & jnp.isfinite(size), size, 1)
    return jnp.where(infinite, jnp.inf, size * jnp.sqrt((input / size) ** 2 + (other / size) ** 2))


@op(
    promotion=FLOAT,
    inplace=True,
    saves="input, result",
    grad_fn=by_number("copysign", 0, 1),
    arities=OTHER_TENSOR_OR_NUMBER,
)
def copysign(input, other: Either):
    """The magnitude of `input` with the sign of `other`."""
    input, other = ordered("copysign", input, other)
    # torch's derivative is the quotient result / input: NaN at infinity, and 0 at 0.
    quotient = jnp.where(jnp.signbit(input) != jnp.signbit(other), -1, 1)
    quotient = jnp.where(input == 0, 0, jnp.where(jnp.isfinite(input), quotient, jnp.nan))
    return rebind.function(input * quotient, jnp.copysign(input, other))


def _by_bits(row, operands, static):
    input, other = (operand.aval.dtype.category for operand in operands)
    return (ldexp_whole if input == FLOATING and other <= INTEGRAL else row), operands, static


@op(promotion=FLOAT, inplace=True, saves="input, other", rewrite=_by_bits)
def ldexp(input, other):
    """`input * 2 ** other`."""
    return mul.function(input, ROWS["exp2"].function(other))


@op(name="ldexp.whole", public="", saves="input, other", rounds_once=True)
def ldexp_whole(input, other):
    """`ldexp` of a floating number by an integer: its exponent is raised, so that 0 and infinity stay."""
    input, other = broadcast(input, supported("ldexp", other, "bool", "_cpu_exp").astype("int32"))
    product = input * ROWS["exp2"].function(other.astype(input.dtype))  # has the derivative
    return rebind.function(product, jnp.ldexp(jax.lax.stop_gradient(input), other))


@op(promotion=ARITHMETIC, saves="input, other")
def logaddexp(input, other):
    """`log(exp(input) + exp(other))`."""
    return _logaddexp(*broadcast(supported("logaddexp", input, "bool integers"), other))


@op(promotion=ARITHMETIC, saves="input, other")
def logaddexp2(input, other):
    """`log2(2 ** input + 2 ** other)`."""
    first, second = broadcast(supported("logaddexp2", input, ALL_BUT_FLOATS), other)
    return _logaddexp(first, second, 2.0)


TIMES = "`input * log({})`, 0 where `input` is."


def _times_log(name: str, logarithm: Any, edge: int, **columns: Any) -> None:
    """`input` times a logarithm that is -inf at `edge`. The product is 0 where `input` is, unless `other` is NaN."""

    columns |= {"saves": "input, other", "slopes": "other for input, input for other, other for other"}
    shown = name.replace("1p", "1_p")  # torch's name has an underscore there

    @op(name=name, promotion=FLOAT, grad_fn=by_number(shown, 0, 2, 1), arities=((2, 3),) * 3, **columns)
    def row(input: Either, other: Either):
        input, other = jnp.broadcast_arrays(*ordered(name.removeprefix("special_"), input, other))
        # The derivatives are the logarithm, if it is finite, and `input / other`, which is NaN at two zeros.
        zero = input == 0
        value = logarithm(other)
        value = rebind.function(value, jnp.where(zero & (other <= edge), 0, value))
        product = input * value
        return rebind.function(product, jnp.where(zero & ~jnp.isnan(other), 0, product))


_times_log("xlogy", jnp.log, 0, doc=TIMES.format("other"), inplace=True, aliases="special.xlogy")
_times_log("special_xlog1py", jnp.log1p, -1, doc=TIMES.format("1 + other"))


@op(promotion=ARITHMETIC, inplace=True, saves="input for input, other for input", slopes="", rounds_once=False)
def nextafter(input, other):
    """The next representable number after `input` in the direction of `other`."""
    input, other = broadcast(supported("nextafter", input, ALL_BUT_FLOATS), other)
    constant, target = jax.lax.stop_gradient((input, other))
    # Where nothing moves, and at infinities, neither has a gradient.
    moved = jnp.where((constant != target) & jnp.isfinite(constant), input, constant)
    return rebind.function(moved, jnp.nextafter(constant, target))


def _refuse_complex(result, out):
    if out.is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")


@op(inplace=True, grad_fn="NotImplemented", refuse_out=_refuse_complex)
def heaviside(input, values):
    """0 for negative numbers, 1 for positive ones, `values` at 0."""
    if jnp.iscomplexobj(input) or jnp.iscomplexobj(values):
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    found, values_there = broadcast(*jax.lax.stop_gradient((input, values)))
    found = jnp.where(found == 0, values_there, (found > 0).astype(found.dtype))
    error = RuntimeError, "derivative for aten::heaviside is not implemented"
    return refused.function((input, values), found, error=error)


def _of_integers(name: str, function: Any, meaning: str) -> None:
    @op(name=name, promotion=ARITHMETIC, inplace=True, differentiable=False, doc=meaning)
    def row(input, other):
        return function(*broadcast(supported(name, input, "bool floats complex"), other))


_of_integers("gcd", jnp.gcd, "The greatest common divisor.")
_of_integers("lcm", jnp.lcm, "The least common multiple.")


MANY = 10_000.0


def _upper_tail(order, limit):
    """The regularized upper incomplete gamma function of a large order, by Temme's uniform expansion.

    (DLMF 8.12.4: the normal distribution's tail, and two terms of a series in the reciprocal of the order.)
    """
    excess = (limit - order) / order
    near = jnp.abs(excess) < 0.01
    small = jnp.where(near, excess, 0)
    series = jnp.polyval(jnp.array([(-1) ** k / k for k in range(9, 1, -1)] + [0, 0]), small)
    half_square = jnp.where(near, series, jnp.where(near, 1, excess) - jnp.log1p(jnp.where(near, 1, excess)))
    eta = jnp.sign(excess) * jnp.sqrt(2 * half_square)
    flat = jnp.abs(eta) < 0.1
    first = jnp.where(
        flat,
        jnp.polyval(jnp.array([-139 / 777600, 1 / 2835, 1 / 864, -2 / 135, 1 / 12, -1 / 3]), jnp.where(flat, eta, 0)),
        1 / jnp.where(flat, 1, excess) - 1 / jnp.where(flat, 1, eta),
    )
    second = jnp.polyval(jnp.array([-77 / 77760, 1 / 378, -1 / 288, -1 / 540]), jnp.where(flat, eta, 0))
    density = jnp.exp(-order * half_square) / jnp.sqrt(2 * jnp.pi * order)
    return scipy.erfc(eta * jnp.sqrt(order / 2)) / 2 + density * (first + second / order)


def _incomplete_gamma(name: str, function: Any, meaning: str, alias: str) -> None:
    @op(name=name, promotion=ARITHMETIC, inplace=True, saves="input, other", aliases=alias, doc=meaning)
    def row(input, other):
        input, other = broadcast(supported(name, input, ALL_BUT_FLOATS), other)
        own, error = input.dtype, (NotImplementedError, f"the derivative for '{name}: input' is not implemented.")
        # In double precision, for which JAX's loops end in time up to `MANY`; the derivative for `input` is refused.
        input = refused.function(input, jax.lax.stop_gradient(input), error=error)
        order, limit = input.astype("float64"), other.astype("float64")
        many = (order > MANY) & jnp.isfinite(order) & (limit > 0) & jnp.isfinite(limit)
        found = function(jnp.where(many, 1, order), jnp.where(many, 1, limit))
        tail = _upper_tail(jnp.where(many, order, 1), jnp.where(many, limit, 1))
        found = jnp.where(many, tail if name == "igammac" else 1 - tail, found)
        found = jnp.where((order == 0) & (limit > 0), float(name == "igamma"), found)
        beyond = jnp.where(jnp.isinf(limit), jnp.nan, float(name == "igammac"))
        return jnp.where(jnp.isinf(order) & (limit > 0), beyond, found).astype(own)


REGULARIZED = "The regularized {} incomplete gamma function."
_incomplete_gamma("igamma", scipy.gammainc, REGULARIZED.format("lower"), "special.gammainc")
_incomplete_gamma("igammac", scipy.gammaincc, REGULARIZED.format("upper"), "special.gammaincc")


@op(promotion=FLOAT, saves="other")
def special_zeta(input: Either, other: Either):
    """The Hurwitz zeta function: the sum of `(k + other) ** -input` over k from 0 on."""
    error = NotImplementedError, "the derivative for 'zeta' is not implemented."
    input, other = broadcast(refused.function(input, jax.lax.stop_gradient(input), error=error), other)
    whole = other == jnp.floor(other)
    beyond = jnp.where(whole, jnp.inf, jnp.nan)
    # Where the first term of the sum is all that is left of it, JAX's is infinity less infinity.
    first = ((input > 2000) & (other > 0)) | ((jnp.abs(other) < 1e-35) & (other != 0))
    value = jnp.where(first, jnp.where(first, other, 1) ** -input, scipy.zeta(input, jnp.where(first, 1, other)))
    value = jnp.where((other <= 0) & (whole | (input != jnp.floor(input))), beyond, value)
    return jnp.where(input > 1, value, jnp.where(input == 1, jnp.inf, jnp.nan))


# Rounding and signs: integers stay as they are; only `frac` has a derivative other than 0.


def _step(name: str, function: Any, meaning: str, aliases: str = "") -> None:
    @op(name=name, inplace=True, aliases=aliases, doc=meaning)
    def row(input):
        if jnp.iscomplexobj(input):
            refusal = NotImplementedError(f"{name} is not supported for complex inputs")
            raise not_implemented(name, input) if name == "round" else refusal
        return input if integral(supported(f"{name}_vml", input, "bool")) else function(input)


_step("ceil", jnp.ceil, "The next integer above.")
_step("floor", jnp.floor, "The next integer below.")
_step("trunc", jnp.trunc, "The integer part.", "fix")
_step("round", jnp.round, "The nearest integer, of two equally near the even one.", "special.round")


@op(name="round.decimals", aliases="special.round", inplace=True, grad_fn="RoundBackward1", rounds_once=True)
def round_decimals(input, *, decimals: Index):
    """`input` rounded to `decimals` decimal places."""
    supported("round", input, ALL_BUT_FLOATS)
    scale = 10.0 ** min(abs(decimals), 308)
    return jnp.round(input * scale) / scale if decimals >= 0 else jnp.round(input / scale) * scale


@op(inplace=True)
def frac(input):
    """`input` without its integer part."""
    return supported("frac", input, ALL_BUT_FLOATS) - jnp.trunc(input)


@op(inplace=True)
def sign(input):
    """-1, 0 or 1."""
    if jnp.iscomplexobj(input):
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    # Of NaN and of -0 it is 0.
    return input if input.dtype == bool else (input > 0).astype(input.dtype) - (input < 0).astype(input.dtype)


@op(inplace=True, saves="input")
def sgn(input):
    """`input / abs(input)`, and 0 at 0."""
    if not jnp.iscomplexobj(input):
        return sign.function(input)
    zero = input == 0
    shown = jnp.where(zero, 1, input)
    return jnp.where(zero, 0, shown / jnp.abs(shown).astype(input.dtype))


@op(inplace=True, saves="input", grad_fn="PowBackward0", rounds_once=True)
def square(input):
    """`input ** 2`."""
    return input.astype("int64") ** 2 if input.dtype == bool else input * input


@op(inplace=True, saves="input")
def nan_to_num(input, nan: Real | None = None, posinf: Real | None = None, neginf: Real | None = None):
    """`input` with NaN (by 0), infinity (by the largest number) and minus infinity (by the smallest) replaced."""
    if integral(input):
        return input
    limits = jnp.finfo(input.dtype)
    largest, smallest = (limits.max if posinf is None else posinf), (limits.min if neginf is None else neginf)

    def numbers(part):
        constant = jax.lax.stop_gradient(part)
        part = jnp.where(jnp.isposinf(constant), largest, jnp.where(jnp.isneginf(constant), smallest, part))
        return jnp.where(jnp.isnan(constant), 0 if nan is None else nan, part).astype(constant.dtype)

    return jax.lax.complex(numbers(input.real), numbers(input.imag)) if jnp.iscomplexobj(input) else numbers(input)


# Sums of products.


@op(promotion=ARITHMETIC, inplace=True, saves="tensor1 for tensor2, tensor2 for tensor1", numbers=OPMATH)
def addcmul(input, tensor1, tensor2, *, value: Scalar = 1):
    """`input + value * tensor1 * tensor2`."""
    tensor1, tensor2 = broadcast(supported("addcmul", tensor1, "bool", "_cpu_out"), tensor2)
    return jnp.add(*broadcast(input, value.astype(tensor1.dtype) * tensor1 * tensor2))


@op(promotion=ARITHMETIC, inplace=True, saves="tensor1 for tensor2, tensor2", numbers=OPMATH)
def addcdiv(input, tensor1, tensor2, *, value: Scalar = 1):
    """`input + value * tensor1 / tensor2`."""
    if integral(tensor1):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value "
            "* torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value "
            "* tensor1 / tensor2), for all dtypes."
        )
    quotient = jnp.divide(*broadcast(tensor1, tensor2))
    return jnp.add(*broadcast(input, value.astype(quotient.dtype) * quotient))


def _weighed(row, operands, static):
    """Promotes a weight that is a 0-dim tensor with the others; refuses a complex number beside real tensors."""
    input, end, weight = operands
    if isinstance(weight, complex) and not input.aval.dtype.is_complex:
        fitted(weight, input.aval.dtype)
    if isinstance(weight, int | float | complex):
        return number_lerp, operands, static
    if weight.aval.shape or input.aval.dtype is not end.aval.dtype:
        return row, operands, static
    return promoting_lerp, operands, static


LERP = {
    "saves": "end for weight, input for weight, weight",
    "slopes": "end for weight, input for weight, weight for input, weight for end",
    "grad_fn": lambda static, avals: f"LerpBackward{int(not avals[2].number)}",
    "rounds_once": True,
}


@op(inplace=True, arities=((3, 4), (3, 4)), rewrite=_weighed, numbers=OPMATH, **LERP)
def lerp(input, end, weight: Either):
    """`input + weight * (end - input)`."""
    if not jnp.issubdtype(input.dtype, jnp.inexact) and end.dtype == input.dtype:
        raise not_implemented("lerp_kernel_scalar" if weight.ndim == 0 else "lerp_kernel_tensor", input, device="")
    for name, each in (("end", end), ("weight", weight)):
        if each.dtype != input.dtype:
            wanted, given = CTYPES[input.dtype.name], CTYPES[each.dtype.name]
            raise RuntimeError(f"expected dtype {wanted} for `{name}` but got dtype {given}")
    input, end = broadcast(input, end)
    difference = jnp.subtract(end, input)
    broadcast(difference, weight)
    # Computed from the nearer end, so that it is exact at both.
    near = jnp.abs(weight) < 0.5
    return jnp.where(near, input, end) + jnp.where(near, weight, weight - 1) * difference


number_lerp = op(name="lerp.number", public="", numbers=OPMATH, **{**LERP, "saves": ""})(lerp.function)
promoting_lerp = op(name="lerp.promoting", public="", promotion=ARITHMETIC, **LERP)(lerp.function)


def _refuse_masks_alone(row, operands, static):
    refuse_masks(row, operands[:2], static)
    return fitting_alpha(row, operands, static)


@op(name="sub.scaled", aliases="subtract", rewrite=_refuse_masks_alone, **SCALED)
def sub_scaled(input: Either, other: Either, *, alpha: Scalar = 1):
    """`input - alpha * other`."""
    return sub.function(input, alpha * other)


@op(
    name="rsub.scaled",
    promotion=ARITHMETIC,
    public="function",
    out=False,
    arities=OTHER_TENSOR_OR_NUMBER,
    rewrite=_refuse_masks_alone,
)
def rsub_scaled(input, other: Either, *, alpha: Scalar = 1):
    """`other - alpha * input`."""
    return sub.function(other, alpha * input)

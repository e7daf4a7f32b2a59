"""Ops that work element by element.

Operands arrive promoted to one dtype; here it is checked whether their shapes broadcast.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from jaxvjp.ops.arguments import Either, Exact, Flag, Scalar, Type, tagged
from jaxvjp.ops.identity import rebind
from jaxvjp.ops.layouts import CONTIGUOUS, LIKE, SAME
from jaxvjp.ops.matrices import legacy
from jaxvjp.ops.op import ARITHMETIC, CHECKED, FLOAT, OPMATH, SHORT, by_number, op, rounded_once
from jaxvjp.types.dtypes import BOOL, COMPLEX, CTYPES, FLOATING, INTEGRAL, bool_, fitted, from_numpy, of_number
from jaxvjp.types.user_code import warn_of_call

OTHER_TENSOR_OR_NUMBER = ((2, 3), (2, 3))
"""The number of arguments of torch's two signatures: for a tensor as `other`, and for a number."""


def not_implemented(name, array, device="_cpu"):
    """torch's error for a type that an op has no kernel for."""
    return NotImplementedError(f"\"{name}{device}\" not implemented for '{legacy(array)}'")


KINDS = {BOOL: "bool", INTEGRAL: "integers", FLOATING: "floats", COMPLEX: "complex"}
ALL_BUT_FLOATS = "bool integers complex"


def supported(kernel, array, refused, device="_cpu"):
    """`array` unchanged; torch's error where its kernel does not take the dtype. `refused` has the words for the dtypes
    that it does not: those of `KINDS`, and "short" for floats of 16 bits."""
    kind = KINDS[from_numpy(array.dtype).category]
    if kind in refused or ("short" in refused and array.dtype in SHORT):
        raise not_implemented(kernel, array, device)
    return array


def broadcast(input, other):
    """Both operands unchanged; torch's RuntimeError if their shapes do not broadcast."""
    check_broadcast(input.shape, other.shape)
    return input, other


def check_broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """torch's RuntimeError if these shapes do not broadcast."""
    for dim in range(1, min(len(a), len(b)) + 1):
        if a[-dim] != b[-dim] and 1 not in (a[-dim], b[-dim]):
            raise RuntimeError(
                f"The size of tensor a ({a[-dim]}) must match the size of tensor b ({b[-dim]}) at non-singleton "
                f"dimension {max(len(a), len(b)) - dim}\n"
                f"The shapes are {list(a)} and {list(b)}. They broadcast where, counted from the last dimension, each "
                f"pair of sizes is equal or one of them is 1; `x.reshape(...)` or `x[:, None]` makes room."
            )


SUMS: dict[str, Any] = {"promotion": ARITHMETIC, "arities": ()}
PRODUCTS: dict[str, Any] = {"inplace": True, "numbers": OPMATH}


@op(operator="+", inplace=True, **SUMS)
def add(input: Either, other: Either):
    """`input + other`."""
    return jnp.add(*broadcast(input, other))


def refuse_masks(row, operands, static):
    """torch's error for subtracting bool tensors, which must be checked before the operands are promoted."""
    numbers = (int, float, complex)
    masks = [type(each) is bool if isinstance(each, numbers) else each.aval.dtype is bool_ for each in operands]
    if all(masks):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if any(masks):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
    return row, operands, static


@op(operator="-", inplace=True, aliases="subtract", rewrite=refuse_masks, **SUMS)
def sub(input: Either, other: Either):
    """`input - other`."""
    return jnp.subtract(*broadcast(input, other))


@op(operator="r-", grad_fn=by_number("rsub", 0, 1), public="function", rewrite=refuse_masks, **SUMS)
def rsub(input, other: Either):
    """`other - input`, for a number on the left of the sign."""
    return sub.function(other, input)


@op(promotion=ARITHMETIC, operator="*", aliases="multiply", saves="other for input, input for other", **PRODUCTS)
def mul(input: Either, other: Either):
    """`input * other`."""
    return jnp.multiply(*broadcast(input, other))


@op(promotion=FLOAT, operator="/", aliases="divide true_divide", saves="other, input for other", **PRODUCTS)
def div(input: Either, other: Either):
    """`input / other`; of integers, too, the result is floating."""
    return jnp.divide(*broadcast(input, other))


@op(
    promotion=FLOAT,
    operator="r/",
    saves="residuals",  # torch saves the reciprocal
    grad_fn="MulBackward0",
    public="",
    rounds_once=False,
    numbers=OPMATH,
)
def rdiv(input, other: Either):
    """`other / input`, for a number on the left of the sign; computed by the reciprocal, as in torch."""
    if input.dtype in SHORT:  # the reciprocal is rounded to 16 bits, too
        once = rounded_once(jnp.reciprocal, (input,))
        return rounded_once(jnp.multiply, (once, other), numbers=(False, True))
    return jnp.multiply(1 / input, other)


@op(promotion=FLOAT, inplace=True, saves="result")
def reciprocal(input):
    """`1 / input`."""
    return 1 / input


@op(operator="neg", inplace=True, aliases="negative")
def neg(input):
    """`-input`."""
    if input.dtype == bool:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )
    return jnp.negative(input)


@op(saves="input", grad_fn="PowBackward0", public="", rounds_once=True)
def power(input, *, exponent: Exact):
    """`input ** exponent` for a fixed exponent: `x ** 2` is `x * x`, with a derivative that is right at zero."""
    _, value = exponent
    if input.dtype == bool:
        return input | (value == 0)
    roots = {0.5: jnp.sqrt, -0.5: jax.lax.rsqrt}
    return roots[value](input) if value in roots else jax.lax.integer_pow(input, int(value))


FIXED_EXPONENTS = frozenset([0.5, -0.5, *range(-8, 9)]) - {1}
"""Exponents that are constants of the program; others are operands, so that a loop over them compiles once.

Not 1: JAX turns `x ** 1` into x, whose second derivative would be None, and torch's is zeros.
"""


def _fixed_power(row, operands, static):
    base, exponent = operands
    numeric = isinstance(exponent, int | float) and not isinstance(base, int | float | complex)
    if numeric and isinstance(exponent, int) and exponent < 0 and base.aval.dtype.category < FLOATING:
        raise RuntimeError(
            "Integers to negative integer powers are not allowed.\n"
            f"The tensor is an integer tensor; `x.float() ** {exponent}` has a floating result."
        )
    exact = numeric and isinstance(exponent, int) and base.aval.dtype.category == INTEGRAL
    if exact or (numeric and base.aval.dtype.numpy in SHORT):
        fitted(exponent, base.aval.dtype)
    if numeric and type(exponent) is bool and base.aval.dtype is bool_:
        return power, (base,), (tagged(int(exponent)),)  # for two tensors of them torch has no kernel
    if numeric and exponent in FIXED_EXPONENTS:
        category = base.aval.dtype.category
        if category >= FLOATING or (category == INTEGRAL and isinstance(exponent, int)):
            exact = exponent if exponent in (0.5, -0.5) else int(exponent)
            return power, (base,), (tagged(exact),)
    return row, operands, static


@jax.custom_jvp
def _power(input, exponent):
    if not jnp.iscomplexobj(input):
        return jnp.power(input, exponent)
    # Of complex zero XLA's is NaN for all complex exponents, and for 0 it is 1; torch's goes by the real part.
    origin = input == 0
    nan = jnp.where(exponent.real < 0, complex(jnp.inf, jnp.nan), complex(jnp.nan, jnp.nan))
    at_zero = jnp.where(exponent.real > 0, complex(0.0, -0.0), nan).astype(input.dtype)
    return jnp.where(origin, at_zero, jnp.power(jnp.where(origin, 1, input), exponent))


@partial(_power.defjvp, symbolic_zeros=True)
def _power_jvp(primals, tangents):
    """JAX's own rule gives 0 * inf, NaN, at base 0: for x ** 0, whose derivative is 0, and for the derivative of a
    negative power by its exponent, which is infinite. A `where` outside the power would keep NaN from the first
    derivative but not from the second, so the rule itself treats the two cases."""
    input, exponent = primals
    result = _power(input, exponent)
    tangent = jnp.zeros_like(result)
    if type(tangents[0]) is not SymbolicZero:
        varies = exponent != 0
        # The branch that is not taken, for exponent 0, has exponent 0 as well: x ** -1 would give NaN to later orders.
        slope = jnp.where(varies, exponent * _power(input, jnp.where(varies, exponent - 1, 0)), 0)
        tangent += slope * jnp.where(varies, tangents[0], 0)
    if type(tangents[1]) is not SymbolicZero:
        flat = (input == 0) & (exponent.real >= 0) & (exponent.imag == 0)
        tangent += jnp.where(flat, 0, result * jnp.log(input)) * tangents[1]
    return result, tangent


def _integer_power(input, exponent):
    """By repeated squaring, with the dtype's overflow; for a negative exponent the integer part of the fraction."""
    result = jnp.ones_like(input)
    reciprocal = jnp.where(input == 1, 1, jnp.where(input == -1, 1 - 2 * (exponent & 1), 0)).astype(input.dtype)

    def step(state):
        result, square, rest = state
        return jnp.where(rest & 1, result * square, result), square * square, rest >> 1

    left = jnp.maximum(exponent, 0)
    raised = jax.lax.while_loop(lambda state: jnp.any(state[2] > 0), step, (result, input, left))[0]
    return jnp.where(exponent < 0, reciprocal, raised)


@op(
    promotion=ARITHMETIC,
    operator="**",
    inplace=True,
    saves="exponent, input, result for exponent",
    grad_fn=by_number("pow", 1, 0, 2),
    rewrite=_fixed_power,
    arities=((2, 3),) * 3,
)
def pow_(input: Either, exponent: Either):
    """`input ** exponent`."""
    input, exponent = broadcast(input, exponent)
    if input.dtype == bool:
        raise NotImplementedError("\"pow\" not implemented for 'Bool'\nConvert it first: `x.int() ** y`.")
    if jnp.issubdtype(input.dtype, jnp.integer):
        return _integer_power(*jnp.broadcast_arrays(input, exponent))
    return _power(input, exponent)


@op(inplace=True, saves="result", aliases="nn.functional.relu")
def relu(input):
    """The positive part; its derivative is 0 at 0, and 1 at NaN."""
    if input.dtype == bool:
        raise RuntimeError("Boolean inputs not supported for relu")
    if jnp.iscomplexobj(input):
        raise NotImplementedError("clamp is not supported for complex types")
    return jnp.where(input <= 0, 0, input)


@op(operator="abs", inplace=True, saves="input", aliases="absolute")
def abs_(input):
    """The magnitude; its derivative at 0 is 0."""
    if jnp.iscomplexobj(supported("abs", input, "bool")):
        zero = input == 0
        result = jnp.where(zero, 0, jnp.abs(jnp.where(zero, 1, input)))
        infinite = jnp.isinf(input.real) | jnp.isinf(input.imag)  # even if the other part is NaN
        return rebind.function(result, jnp.where(infinite, jnp.inf, result))
    if not jnp.issubdtype(input.dtype, jnp.floating):
        return jnp.abs(input)
    # `jnp.abs` has the derivative 1 at 0; torch's is the sign, and 0 for NaN.
    return input * jnp.where(jnp.isnan(input), 0, jax.lax.stop_gradient(jnp.sign(input)))


def _storable(row, operands, static):
    """torch's error for a number that the tensor cannot hold, checked before the number is converted."""
    if isinstance(operands[-1], int | float | complex):
        fitted(operands[-1], operands[0].aval.dtype)
    return row, operands, static


@op(inplace=True, saves="mask", rewrite=_storable, keeps=CONTIGUOUS, grad_fn=by_number("masked_fill", 1, 0))
def masked_fill(input, mask, value: Either):
    """`input` with one number wherever `mask` is true."""
    if mask.dtype != bool:
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{CTYPES[mask.dtype.name]}\nSuch as `x > 0`, or `mask.bool()`."
        )
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if jnp.iscomplexobj(value) and not jnp.iscomplexobj(input):
        fitted(1j, from_numpy(input.dtype))
    broadcast(input, mask)
    return jnp.where(mask, value.astype(input.dtype), input)


def _bounded(within, input, bound):
    if jnp.iscomplexobj(input):
        raise NotImplementedError("clamp is not supported for complex types")
    # The choice is a constant, as in torch: no derivative goes through the comparison.
    constant, limit = jax.lax.stop_gradient(input), jax.lax.stop_gradient(bound)
    undefined = jnp.isnan(constant) | jnp.isnan(limit)
    nan = jnp.where(jnp.isnan(constant), constant, limit)
    return jnp.where(within(constant, limit), input, jnp.where(undefined, nan, bound))


CLAMPING = {
    "promotion": ARITHMETIC,
    "inplace": True,
    "numbers": CHECKED,
}
CLAMPED = {"slopes": "", "arities": OTHER_TENSOR_OR_NUMBER, **CLAMPING}
TOLD = "`input`, or `{}` where that is {}; at the bound the gradient goes to `input`, at a NaN to neither."


@op(saves="input, min", grad_fn=by_number("clamp_min", 1, 0), doc=TOLD.format("min", "larger"), **CLAMPED)
def clamp_min(input, min: Either):
    return _bounded(jnp.greater_equal, *broadcast(input, min))


@op(saves="input, max", grad_fn=by_number("clamp_max", 1, 0), doc=TOLD.format("max", "smaller"), **CLAMPED)
def clamp_max(input, max: Either):
    return _bounded(jnp.less_equal, *broadcast(input, max))


def _clamp_name(static, avals):
    return f"ClampBackward{int(all(aval.number for aval in avals[1:]))}"


@op(saves="input, min, max", arities=((1, 4), (1, 4)), aliases="clip", grad_fn=_clamp_name, **CLAMPING)
def clamp(input, min: Either = None, max: Either = None):
    """`input` clamped to between `min` and `max`, either of which may be omitted; at a bound `input` has the
    gradient."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if max is None:
        return clamp_min.function(input, min)
    if min is None:
        return clamp_max.function(input, max)
    value = clamp_max.function(clamp_min.function(input, min), max)
    if not jnp.issubdtype(value.dtype, jnp.inexact):
        return value
    # With `min` above `max` every element gets `max`, and its gradient; with equal bounds, elements below get none.
    value, array, low, high = jax.lax.stop_gradient((value, input, min, max))
    inside = jnp.where((low <= array) & (array <= high), input, jnp.where((array < low) & (low < high), min, value))
    return rebind.function(jnp.where((high < array) | (high < low), max, inside), value)


@op(grad_fn="ToCopyBackward0", public="", keeps=LIKE)
def cast(input, *, dtype: Type):
    """The same numbers in another dtype; complex to real keeps the real part, float to integer truncates."""
    if jnp.iscomplexobj(input) and not jnp.issubdtype(dtype.numpy, jnp.complexfloating):
        if dtype is not bool_:
            warn_of_call("Casting complex values to real discards the imaginary part")
        input = jnp.real(input)
    if dtype.category == INTEGRAL and jnp.issubdtype(input.dtype, jnp.floating):
        return _truncated(input, dtype)
    return input.astype(dtype.numpy)


def _truncated(input, dtype):
    """The integer parts, as torch on a CPU has them: of 32 or 64 bits, of which the last are kept; NaN and what takes
    more bits are the least integer. 300.0 as uint8 is 44, and -1.0 is 255."""
    wide = jnp.int64 if dtype.itemsize > 4 or (dtype.numpy.kind == "u" and dtype.itemsize == 4) else jnp.int32
    number = input.astype(jnp.float32) if input.dtype.itemsize < 4 else input
    least = jnp.iinfo(wide).min
    inside = (number >= least) & (number < -float(least))
    return jnp.where(inside, number, least).astype(wide).astype(dtype.numpy)


@op(inplace=True, public="", grad_fn="ZeroBackward0", keeps=LIKE)
def zero(input):
    """Zeros in place of `input`."""
    return jnp.zeros_like(input)


@op(inplace=True, public="function", grad_fn=by_number("fill", 3, 2), out=False, rewrite=_storable, keeps=LIKE)
def fill(input, value: Either):
    """One number in place of all elements of `input`."""
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return jnp.broadcast_to(cast.function(value, dtype=from_numpy(input.dtype)), input.shape)


def _without_waiting(row, operands, static):
    return row, operands, (False,)  # JAX waits for no copy: one program for both


@op(inplace=True, public="", grad_fn="CopyBackwards", keeps=SAME, rewrite=_without_waiting)
def copy(input, other: Either, non_blocking: Flag = False):
    """`other`, expanded to `input`'s shape and converted to its dtype, in place of `input`: `x.copy_(y)`."""
    input, other = broadcast(input, other)
    shape = jnp.broadcast_shapes(input.shape, other.shape)  # the caller raises if that is not input's shape
    return jnp.broadcast_to(cast.function(other, dtype=from_numpy(input.dtype)), shape)


@op(public="", keeps=SAME, grad_fn=lambda static, avals: "CopyBackwards" if avals[1].shape else "FillBackward3")
def assigned(input, src: Either):
    """As `copy`, with the errors of an indexed write: `x[0:2] = src`."""
    sizes, own = list(input.shape), list(src.shape)
    while own and own[0] == 1:  # torch drops leading dimensions of size 1
        del own[0]
    if len(own) > len(sizes):
        raise RuntimeError(
            f"expand(torch.{from_numpy(src.dtype).legacy}Tensor{{{own}}}, size={sizes}): the number of sizes provided "
            f"({len(sizes)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(own)})\nThe value has shape {own}."
        )
    for dim in range(1, len(own) + 1):
        if own[-dim] not in (1, sizes[-dim]):
            raise RuntimeError(
                f"The expanded size of the tensor ({sizes[-dim]}) must match the existing size ({own[-dim]}) at "
                f"non-singleton dimension {len(sizes) - dim}.  Target sizes: {sizes}.  Tensor sizes: {own}"
            )
    return jnp.broadcast_to(cast.function(src.reshape(own), dtype=from_numpy(input.dtype)), input.shape)


def fitting_alpha(row, operands, static):
    """RuntimeError for an `alpha` of another kind than the operands are: 2.5 beside integers, True beside floats."""
    *beside, alpha = operands
    category = fitting_numbers(beside, alpha=alpha)
    if isinstance(alpha, complex) and category < COMPLEX:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return row, operands, static


def fitting_numbers(beside, **numbers):
    """The category of the operands `beside`; RuntimeError where numbers are of another kind."""
    categories = [each.aval.dtype.category if hasattr(each, "aval") else of_number(each).category for each in beside]
    category = max(*categories, BOOL)
    for name, number in numbers.items():
        if isinstance(number, bool) and category != BOOL:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(number, float | complex) and category <= INTEGRAL:
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    return category


SCALED = {"promotion": ARITHMETIC, "inplace": True, "arities": ((2, 4), (4, 4))}


@op(name="add.scaled", rewrite=fitting_alpha, **SCALED)
def add_scaled(input: Either, other: Either, *, alpha: Scalar = 1):
    """`input + alpha * other`."""
    input, other = broadcast(input, other)
    return jnp.add(input, (alpha * other).astype(input.dtype) if input.dtype == bool else alpha * other)

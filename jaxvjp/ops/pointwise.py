"""Ops that work element by element. `op` comes before this room.

Operands arrive already promoted to one dtype; what is left to check here is whether their shapes broadcast.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxvjp.dtypes import FLOATING, INTEGRAL, from_numpy
from jaxvjp.ops.arguments import Exponent, TypeGiven, tagged
from jaxvjp.ops.op import ARITHMETIC, COMPARE, FLOAT, op


def broadcast(input, other):
    """Both operands, once it is sure that their shapes agree; RuntimeError in torch's words where they do not."""
    a, b = input.shape, other.shape
    for dim in range(1, min(len(a), len(b)) + 1):
        if a[-dim] != b[-dim] and 1 not in (a[-dim], b[-dim]):
            raise RuntimeError(
                f"The size of tensor a ({a[-dim]}) must match the size of tensor b ({b[-dim]}) at non-singleton "
                f"dimension {max(len(a), len(b)) - dim}\n"
                f"The shapes are {list(a)} and {list(b)}. They broadcast where, counted from the last dimension, each "
                f"pair of sizes is equal or one of them is 1; `x.reshape(...)` or `x[:, None]` makes room."
            )
    return input, other


@op(promotion=ARITHMETIC, operator="+", inplace=True)
def add(input, other):
    """`input + other`."""
    input, other = broadcast(input, other)
    return jnp.add(input, other)


@op(promotion=ARITHMETIC, operator="-", inplace=True)
def sub(input, other):
    """`input - other`."""
    input, other = broadcast(input, other)
    if input.dtype == bool:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    return jnp.subtract(input, other)


@op(promotion=ARITHMETIC, operator="r-", grad_fn="RsubBackward1", public="")
def rsub(input, other):
    """`other - input`, for a number on the left of the sign."""
    return sub.function(other, input)


@op(promotion=ARITHMETIC, operator="*", inplace=True, saves="other for input, input for other")
def mul(input, other):
    """`input * other`."""
    input, other = broadcast(input, other)
    return jnp.multiply(input, other)


@op(promotion=FLOAT, operator="/", inplace=True, saves="other, input for other")
def div(input, other):
    """`input / other`, of integers too a floating result."""
    input, other = broadcast(input, other)
    return jnp.divide(input, other)


@op(promotion=FLOAT, operator="r/", saves="input", grad_fn="MulBackward0", public="")
def rdiv(input, other):
    """`other / input`, for a number on the left of the sign: as torch computes it, by the reciprocal."""
    return jnp.multiply(1 / input, other)


@op(promotion=FLOAT, inplace=True, saves="result")
def reciprocal(input):
    """`1 / input`."""
    return 1 / input


@op(operator="neg", inplace=True)
def neg(input):
    """`-input`."""
    if input.dtype == bool:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )
    return jnp.negative(input)


@op(saves="input", grad_fn="PowBackward0", public="")
def power(input, *, exponent: Exponent):
    """`input ** exponent` for a fixed exponent: `x ** 2` is `x * x`, with a derivative that is right at zero."""
    _, value = exponent
    if jnp.issubdtype(input.dtype, jnp.integer) and value < 0:
        raise RuntimeError(
            "Integers to negative integer powers are not allowed.\n"
            f"The tensor is an integer tensor; `x.float() ** {value}` has a floating result."
        )
    return jnp.sqrt(input) if value == 0.5 else jax.lax.integer_pow(input, int(value))


FIXED_EXPONENTS = frozenset([0.5, *range(-8, 9)])
"""Exponents that become part of the program; a loop that varies others does not compile at each step."""


def _fixed_power(row, operands, static):
    base, exponent = operands
    numeric = isinstance(exponent, int | float) and not isinstance(base, int | float | complex)
    if numeric and exponent in FIXED_EXPONENTS:
        category = base.aval.dtype.category
        if category >= FLOATING or (category == INTEGRAL and isinstance(exponent, int)):
            exact = exponent if exponent == 0.5 else int(exponent)
            return power, (base,), (tagged(exact),)
    return row, operands, static


def _power_name(static, avals):
    base, exponent = avals
    return f"PowBackward{2 if base.number else 0 if exponent.number else 1}"


@op(
    promotion=ARITHMETIC,
    operator="**",
    inplace=True,
    saves="exponent, input, result for exponent",
    grad_fn=_power_name,
    rewrite=_fixed_power,
)
def pow_(input, exponent):
    """`input ** exponent`."""
    input, exponent = broadcast(input, exponent)
    return jnp.power(input, exponent)


@op(promotion=FLOAT, inplace=True, saves="input")
def log(input):
    """The natural logarithm."""
    return jnp.log(input)


@op(promotion=FLOAT, inplace=True, saves="result")
def exp(input):
    """e to the power of `input`."""
    return jnp.exp(input)


@op(promotion=FLOAT, inplace=True, saves="input")
def sin(input):
    """The sine of an angle in radians."""
    return jnp.sin(input)


@op(promotion=FLOAT, inplace=True, saves="input")
def cos(input):
    """The cosine of an angle in radians."""
    return jnp.cos(input)


@op(promotion=FLOAT, inplace=True, saves="result")
def tanh(input):
    """The hyperbolic tangent."""
    return jnp.tanh(input)


@op(promotion=FLOAT, inplace=True, saves="result")
def sigmoid(input):
    """`1 / (1 + exp(-input))`."""
    return jax.nn.sigmoid(input)


@op(promotion=FLOAT, inplace=True, saves="result")
def sqrt(input):
    """The square root."""
    return jnp.sqrt(input)


@op(inplace=True, saves="result")
def relu(input):
    """The positive part; its derivative at 0 is 0."""
    return jax.nn.relu(input)


@op(inplace=True, saves="input")
def abs_(input):
    """The magnitude; its derivative at 0 is 0."""
    return jnp.abs(input)


@op(inplace=True, saves="mask")
def masked_fill(input, mask, value):
    """`input` with one number wherever `mask` is true."""
    if mask.dtype != bool:
        long = {"int64": "long int", "int32": "int", "float32": "float", "uint8": "unsigned char"}
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{long.get(mask.dtype.name, mask.dtype.name)}\nSuch as `x > 0`, or `mask.bool()`."
        )
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    broadcast(input, mask)
    return jnp.where(mask, value.astype(input.dtype), input)


@op(promotion=ARITHMETIC, inplace=True, saves="input, min")
def clamp_min(input, min):
    """`input`, or `min` where that is larger; at the bound the gradient is `input`'s."""
    input, min = broadcast(input, min)
    return jnp.where(input < min, min, input)


@op(promotion=ARITHMETIC, inplace=True, saves="input, max")
def clamp_max(input, max):
    """`input`, or `max` where that is smaller; at the bound the gradient is `input`'s."""
    input, max = broadcast(input, max)
    return jnp.where(input > max, max, input)


def _given_bounds(row, operands, static):
    input, lower, upper = operands
    if lower is None and upper is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if lower is None:
        return clamp_max, (input, upper), static
    return (clamp_min, (input, lower), static) if upper is None else (row, operands, static)


def _clamp_name(static, avals):
    return f"ClampBackward{1 if all(each.number for each in avals[1:]) else 0}"


clamp_min.grad_fn = clamp_max.grad_fn = _clamp_name


@op(promotion=ARITHMETIC, inplace=True, saves="input, min, max", grad_fn=_clamp_name, rewrite=_given_bounds)
def clamp(input, min=None, max=None):
    """`input` kept between `min` and `max`, either of which may be left out; at a bound the gradient is `input`'s."""
    return clamp_max.function(clamp_min.function(input, min), max)


@op(promotion=COMPARE, operator="==", inplace=True)
def eq(input, other):
    """Whether the elements are equal."""
    return jnp.equal(*broadcast(input, other))


@op(promotion=COMPARE, operator="!=", inplace=True)
def ne(input, other):
    """Whether the elements differ."""
    return jnp.not_equal(*broadcast(input, other))


@op(promotion=COMPARE, operator="<", inplace=True)
def lt(input, other):
    """Whether the elements of `input` are smaller."""
    return jnp.less(*broadcast(input, other))


@op(promotion=COMPARE, operator="<=", inplace=True)
def le(input, other):
    """Whether the elements of `input` are smaller or equal."""
    return jnp.less_equal(*broadcast(input, other))


@op(promotion=COMPARE, operator=">", inplace=True)
def gt(input, other):
    """Whether the elements of `input` are larger."""
    return jnp.greater(*broadcast(input, other))


@op(promotion=COMPARE, operator=">=", inplace=True)
def ge(input, other):
    """Whether the elements of `input` are larger or equal."""
    return jnp.greater_equal(*broadcast(input, other))


@op(grad_fn="ToCopyBackward0", public="")
def cast(input, *, dtype: TypeGiven):
    """The same numbers in another dtype; complex to real keeps the real part, a float to an integer is cut off."""
    if jnp.iscomplexobj(input) and not jnp.issubdtype(dtype.numpy, jnp.complexfloating):
        input = jnp.real(input)
    return input.astype(dtype.numpy)


@op(inplace=True, public="", grad_fn="ZeroBackward0")
def zero(input):
    """Zeros in the place of `input`."""
    return jnp.zeros_like(input)


@op(inplace=True, public="", grad_fn="FillBackward0")
def fill(input, value):
    """One number in the place of all of `input`."""
    return jnp.broadcast_to(value.astype(input.dtype), input.shape)


@op(inplace=True, public="", grad_fn="CopyBackwards")
def copy(input, src):
    """`src`, expanded to `input`'s shape and converted to its dtype, in the place of `input`."""
    sizes, own = list(input.shape), list(src.shape)
    if len(own) > len(sizes):
        raise RuntimeError(
            f"expand(size={sizes}): the number of sizes provided ({len(sizes)}) must be greater or equal to the number "
            f"of dimensions in the tensor ({len(own)})\nThe value has shape {own}."
        )
    for dim in range(1, len(own) + 1):
        if own[-dim] not in (1, sizes[-dim]):
            raise RuntimeError(
                f"The expanded size of the tensor ({sizes[-dim]}) must match the existing size ({own[-dim]}) at "
                f"non-singleton dimension {len(sizes) - dim}.  Target sizes: {sizes}.  Tensor sizes: {own}"
            )
    return jnp.broadcast_to(cast.function(src, dtype=from_numpy(input.dtype)), input.shape)

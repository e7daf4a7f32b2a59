"""Activations: functions of each element.

At a kink, the comparison in the code (`>` or `>=`) says which side's derivative counts.
"""

import jax
import jax.numpy as jnp

from jaxvjp.ops.arguments import Fixed, Flag, Index, Kept, Scalar, Text, wrap
from jaxvjp.ops.layouts import CONTIGUOUS
from jaxvjp.ops.matrices import legacy
from jaxvjp.ops.op import FLOAT, OPMATH, op
from jaxvjp.ops.pointwise import not_implemented

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
"""The two constants that keep mean 0 and variance 1 through a deep network (Klambauer et al., 2017)."""


def floating(input, kernel, device="_cpu"):
    """`input` unchanged; torch's NotImplementedError unless its dtype is floating."""
    if not jnp.issubdtype(input.dtype, jnp.floating):
        raise NotImplementedError(f"{not_implemented(kernel, input, device)}\nConvert it first: `x.float()`.")
    return input


def _exponential(input, alpha, slope=1.0, scale=1.0):
    """`input` above 0; below it an exponential that tends to `-alpha`. At 0 the derivative is that of the exponential;
    the second derivative is 0."""
    below = jnp.where(input < 0, input, 0)  # so that the side that is not taken cannot overflow
    above = jnp.where(input == 0, alpha * slope, 1) * input
    return scale * jnp.where(input < 0, alpha * jnp.expm1(below * slope), above)


@op(public="nn.functional", inplace=True, saves="input", rounds_once=True)
def elu(input, alpha: Fixed = 1.0):
    """`input` where it is positive, `alpha * (exp(input) - 1)` elsewhere."""
    return _exponential(floating(input, "elu"), alpha)


@op(public="nn.functional function", inplace=True, saves="input", grad_fn="EluBackward0", out=False, rounds_once=True)
def selu(input):
    """`elu` with the two constants that keep mean 0 and variance 1 through the layers."""
    return _exponential(floating(input, "elu"), SELU_ALPHA, scale=SELU_SCALE)


@op(public="nn.functional function", inplace=True, saves="input", out=False, rounds_once=True)
def celu(input, alpha: Fixed = 1.0):
    """`input` where it is positive, `alpha * (exp(input / alpha) - 1)` elsewhere."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _exponential(floating(input, "elu"), alpha, 1 / alpha)


@op(public="nn.functional", saves="input", out=True, rounds_once=True)
def gelu(input, *, approximate: Text = "none"):
    """`input` times the probability that a standard normal number is below it, or a formula with `tanh` close to it."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    floating(input, "GeluKernelImpl", "")
    if approximate == "tanh":
        return jax.nn.gelu(input, approximate=True)
    # By erf, as in torch, not by erfc as in JAX: erf is one operation of XLA, and takes half the time.
    return input * (0.5 * (1 + jax.lax.erf(input * 0.5**0.5)))


@op(public="nn.functional", inplace=True, saves="input", rounds_once=True)
def silu(input):
    """`input * sigmoid(input)`."""
    return input * jax.nn.sigmoid(input if jnp.iscomplexobj(input) else floating(input, "silu"))


@op(public="nn.functional", saves="input", out=True, grad_fn="LogSigmoidBackward0", rounds_once=True, keeps=CONTIGUOUS)
def logsigmoid(input):
    """The logarithm of the sigmoid, precise also where that is nearly 0."""
    return 0 - jax.nn.softplus(-floating(input, "log_sigmoid"))  # where it ends in 0, that is not -0


@op(public="nn.functional", inplace=True, saves="input", rounds_once=True)
def mish(input):
    """`input * tanh(softplus(input))`."""
    return input * jnp.tanh(jax.nn.softplus(floating(input, "mish")))


@op(public="nn.functional", inplace=True, saves="input", rounds_once=True)
def hardtanh(input, min_val: Fixed = -1.0, max_val: Fixed = 1.0):
    """`input` clamped to the bounds, where its derivative is 0."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input.dtype == bool:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if jnp.issubdtype(input.dtype, jnp.unsignedinteger) and min_val < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    low, high = (jnp.asarray(each, input.dtype) for each in (min_val, max_val))
    return jnp.where((input > low) & (input < high), input, jnp.clip(jax.lax.stop_gradient(input), low, high))


@op(public="nn.functional", inplace=True, saves="input", grad_fn="HardtanhBackward0")
def relu6(input):
    """`input` clamped to between 0 and 6, where its derivative is 0."""
    return hardtanh.function(input, 0.0, 6.0)


@op(public="nn.functional", inplace=True, saves="input", rounds_once=True)
def hardsigmoid(input):
    """`input / 6 + 1 / 2` clamped to between 0 and 1."""
    rising = (floating(input, "hardsigmoid") + 3) / 6
    return jnp.where((input > -3) & (input < 3), rising, jnp.clip(jax.lax.stop_gradient(rising), 0, 1))


@op(public="nn.functional", inplace=True, saves="input", rounds_once=True)
def hardswish(input):
    """`input` times its `hardsigmoid`."""
    floating(input, "hardswish")
    curved = jnp.where((input > -3) & (input < 3), input, 0)  # squares of others could overflow
    constant = jax.lax.stop_gradient(input) * 0
    return jnp.where(input <= -3, constant, jnp.where(input < 3, curved * (curved + 3) / 6, input))


def _undefined_or_zero(input):
    """NaN where `input` is NaN, else 0; no gradient passes."""
    return jnp.where(jnp.isnan(input), jax.lax.stop_gradient(input), 0)


@op(public="nn.functional function method", saves="input", out=True)
def hardshrink(input, lambd: Fixed = 0.5):
    """`input`, or 0 where its magnitude is at most `lambd`."""
    rest = _undefined_or_zero(floating(input, "hardshrink"))
    return jnp.where((input > lambd) | (input < -lambd), input, rest)


@op(public="nn.functional", saves="input", out=True, rounds_once=True)
def softshrink(input, lambd: Fixed = 0.5):
    """`input` moved towards 0 by `lambd`, at most to 0."""
    rest = _undefined_or_zero(floating(input, "softshrink"))
    if lambd < 0:
        most = f"{float(jnp.finfo(input.dtype).max):g}"
        told = f"lambda must be in range [0, {most}] for input dtype {legacy(input)}, but found {lambd:g}"
        raise RuntimeError(told)
    return jnp.where(input > lambd, input - lambd, jnp.where(input < -lambd, input + lambd, rest))


@op(public="nn.functional", promotion=FLOAT, saves="residuals", grad_fn="SubBackward0")
def tanhshrink(input):
    """`input - tanh(input)`."""
    return input - jnp.tanh(input)


@op(public="nn.functional", inplace=True, saves="input", rounds_once=True)
def leaky_relu(input, negative_slope: Fixed = 0.01):
    """`input` where it is positive, `negative_slope * input` elsewhere, at 0 too."""
    return jnp.where(floating(input, "leaky_relu") > 0, input, input * negative_slope)


@op(public="nn.functional", promotion=FLOAT, saves="input", grad_fn="DivBackward0")
def softsign(input):
    """`input / (1 + abs(input))`."""
    if jnp.iscomplexobj(input):
        return input / (1 + jnp.abs(input))
    return input / (1 + input * jax.lax.stop_gradient(jnp.sign(input)))


@op(public="nn.functional", saves="input", out=True, rounds_once=True)
def softplus(input, beta: Fixed = 1.0, threshold: Fixed = 20.0):
    """`log(1 + exp(beta * input)) / beta`, and `input` itself where `beta * input` is above the threshold."""
    scaled = floating(input, "softplus") * beta
    linear = scaled > threshold
    curved = jnp.where(linear, 0, scaled)
    return jnp.where(linear, input, jnp.log1p(jnp.exp(curved)) / beta)


@op(public="nn.functional function", inplace=True, saves="input", rounds_once=True)
def threshold(input, threshold: Fixed, value: Fixed):
    """`input`, or `value` where it is not above the threshold."""
    return jnp.where(input <= threshold, jnp.asarray(value, input.dtype), input)


@op(public="nn.functional", saves="input", rounds_once=True)
def glu(input, dim: Index = -1):
    """The first half of `dim` times the sigmoid of the second half."""
    if input.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap(dim, input.ndim)
    size = input.shape[dim]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {size}")
    first, second = jnp.split(floating(input, "glu"), 2, dim)
    return first * jax.nn.sigmoid(second)


PRELU = {"saves": "input, weight", "slopes": "input, weight", "grad_fn": "PreluKernelBackward0"}


@op(public="nn.functional function method", out=False, rounds_once=True, **PRELU)
def prelu(input, weight):
    """`input` where it is positive, `weight * input` elsewhere: one weight, or one per channel (dimension 1)."""
    if input.dtype != weight.dtype:
        given = f"{legacy(input)} and {legacy(weight)}"
        raise RuntimeError(f"prelu: Type promoting not supported. Got {given}\nConvert one: `x.to(weight.dtype)`.")
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.size != 1:
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != weight.size:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.size} and "
                f"channel size = {channels}.\nThe channels are dimension 1."
            )
    per_channel = weight.reshape([weight.size if dim == 1 else 1 for dim in range(input.ndim)])
    # As a factor, so that an infinite weight is not in the gradient where it is not in the value. Its derivative at 0
    # is 0.
    weight = jnp.where(input == 0, jax.lax.stop_gradient(per_channel), per_channel)
    return jnp.where(input > 0, 1, weight) * input


@op(public="", saves="input, noise", grad_fn="RreluWithNoiseBackward0", rounds_once=True)
def rrelu_with_noise(input, noise: Kept):
    """`input` where it is positive, `noise * input` elsewhere."""
    return jnp.where(input > 0, input, noise.astype(input.dtype) * input)


def _gumbel_name(static, avals):
    return "AddBackward0" if static[0] else "SoftmaxBackward0"


@op(public="", saves="result", grad_fn=_gumbel_name, rounds_once=True, numbers=OPMATH)
def perturbed_softmax(input, noise: Kept, tau: Scalar, hard: Flag, dim: Index):
    """The softmax of `(input + noise) / tau`; if `hard`, one-hot at its largest entry, with the softmax's gradient."""
    dim = wrap(dim, input.ndim)
    soft = jax.nn.softmax((input + noise) / tau, dim)
    if not hard:
        return soft
    winner = jnp.expand_dims(jnp.argmax(soft, dim), dim) == jax.lax.broadcasted_iota(jnp.int64, soft.shape, dim)
    return winner.astype(soft.dtype) - jax.lax.stop_gradient(soft) + soft

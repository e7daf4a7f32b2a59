"""Complex numbers, and their real and imaginary parts.

The parts of a complex tensor are views of it, as in torch: a write to `x.real` changes x.
"""

from functools import partial

import jax
import jax.numpy as jnp

from jaxvjp.ops.layouts import Layout
from jaxvjp.ops.matrices import legacy
from jaxvjp.ops.op import op
from jaxvjp.ops.pointwise import broadcast


def _apart(layout, part=0):
    """A layout in which every element has room for a pair; of which it is the first or the second number."""
    strides = tuple([2 * stride for stride in layout.strides])
    return Layout(layout.shape, strides, 2 * layout.offset + part, layout.itemsize // 2)


def _pairs(layout):
    return _apart(layout).with_dim(len(layout.shape), 2, 1)


def _joined(pairs):
    return jax.lax.complex(pairs[..., 0], pairs[..., 1])


def _split(array):
    return jnp.stack([array.real, array.imag], -1)


@op(write=lambda base, new: jax.lax.complex(new, base.imag), layout=_apart, public="", grad_fn="SelectBackward0")
def real_part(input):
    """The real parts of complex numbers."""
    return jnp.real(input)


_second = partial(_apart, part=1)


@op(write=lambda base, new: jax.lax.complex(base.real, new), layout=_second, public="", grad_fn="SelectBackward0")
def imaginary_part(input):
    """The imaginary parts of complex numbers."""
    return jnp.imag(input)


@op(write=lambda base, new: jnp.conj(new), layout=lambda layout: layout, public="", grad_fn="ConjBackward0")
def conjugate(input):
    """The complex conjugates, as a view."""
    return jnp.conj(input)


@op(public="function", write=lambda base, new: _joined(new), layout=_pairs)
def view_as_real(input):
    """Complex numbers as pairs of real ones, along a last dimension of size 2."""
    if not jnp.iscomplexobj(input):
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return _split(input)


def _together(layout):
    for wrong, needed in (
        (layout.shape[-1] != 2, "last dimension of size 2"),
        (layout.strides[-1] != 1, "last dimension with stride 1"),
        (any(stride % 2 for stride in layout.strides[:-1]), "stride divisible by 2 for all but last dimension"),
        (layout.offset % 2, "storage_offset divisible by 2"),
    ):
        if wrong:
            raise RuntimeError(f"Tensor must have a {needed}")
    strides = tuple([stride // 2 for stride in layout.strides[:-1]])
    return Layout(layout.shape[:-1], strides, layout.offset // 2, 2 * layout.itemsize)


@op(public="function", write=lambda base, new: _split(new), layout=_together)
def view_as_complex(input):
    """Pairs of real numbers, along a last dimension of size 2, as complex ones."""
    if not jnp.issubdtype(input.dtype, jnp.floating):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{legacy(input)}"
        )
    if input.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return _joined(input)


@op(inplace=True)
def conj_physical(input):
    """The complex conjugates."""
    return jnp.conj(input) if jnp.iscomplexobj(input) else input


@op(saves="input", slopes=lambda static, avals: None if avals[0].dtype.is_complex else "")
def angle(input):
    """The angle of a complex number in radians; π for negative numbers."""
    if not jnp.iscomplexobj(input):
        real = input if jnp.issubdtype(input.dtype, jnp.floating) else input.astype(jnp.float32)
        return jnp.where(jnp.isnan(real), real, jnp.where(real < 0, jnp.pi, 0).astype(real.dtype))
    zero = input == 0
    at_zero = jax.lax.stop_gradient(jnp.angle(input))  # π for -0
    return jnp.where(zero, at_zero, jnp.angle(jnp.where(zero, 1, input)))


def _two_reals(first, second):
    one, two = legacy(first), legacy(second)
    if not {one, two} <= {"Half", "Float", "Double"}:
        raise RuntimeError(f"Expected both inputs to be Half, Float or Double tensors but got {one} and {two}")
    if one != two:
        raise RuntimeError(f"Expected object of scalar type {one} but got scalar type {two} for second argument")
    return broadcast(first, second)


@op(public="function", saves="real, imag")
def complex(real, imag):
    """Complex numbers from their real and imaginary parts."""
    return jax.lax.complex(*jnp.broadcast_arrays(*_two_reals(real, imag)))


@op(public="function", saves="result", slopes="abs, angle")
def polar(abs, angle):
    """Complex numbers from their magnitudes and angles."""
    size, angle = _two_reals(abs, angle)
    return jax.lax.complex(size * jnp.cos(angle), size * jnp.sin(angle))

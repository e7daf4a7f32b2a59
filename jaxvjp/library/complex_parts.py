"""Real part, imaginary part and conjugate: views of a complex tensor."""

from jaxvjp.ops import complex as ops
from jaxvjp.tensor.published import public
from jaxvjp.tensor.tensor import Tensor, view
from jaxvjp.tensor.view_steps import Step

UNDERNEATH = "a view op of `jaxvjp.ops.complex`, and `jax.vjp` of it"


@public("function")
def real(input: Tensor) -> Tensor:
    """The real part: a view of a complex tensor, a real tensor itself. Counterpart of `torch.real`."""
    return view(input, Step(ops.real_part, ())) if input.dtype.is_complex else input


@public("function")
def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view; RuntimeError for a real tensor. Counterpart of `torch.imag`."""
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return view(input, Step(ops.imaginary_part, ()))


@public()
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view; a real tensor itself. Counterpart of `torch.conj`."""
    return view(input, Step(ops.conjugate, ())) if input.dtype.is_complex else input


def _set_real(input: Tensor, value: Tensor) -> None:
    real(input).copy_(value)


def _set_imag(input: Tensor, value: Tensor) -> None:
    imag(input).copy_(value)


setattr(Tensor, "real", property(real, _set_real))  # noqa: B010 - added, as methods are
setattr(Tensor, "imag", property(imag, _set_imag))  # noqa: B010

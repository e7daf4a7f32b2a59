"""Fourier transforms: torch's `fft`, declared from one table.

A transform over several dimensions is one over each. A real one begins with the last dimension, which it halves; its
inverse ends with it.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from jaxvjp.ops.arguments import Dims, Index, Text, axes
from jaxvjp.ops.matrices import legacy
from jaxvjp.ops.op import FLOAT, op
from jaxvjp.types.dtypes import FLOATING

NORMS = ("forward", "backward", "ortho")

REAL = "real"

TRANSFORMS: dict[str, tuple[str, bool, str, str, str]] = {
    "fft": ("fft", False, "", "FftC2CBackward0", "Fourier's transform"),
    "ifft": ("ifft", False, "", "FftC2CBackward0", "the inverse of Fourier's transform"),
    "rfft": ("fft", False, REAL, "FftR2CBackward0", "the first half of Fourier's transform of real numbers"),
    "irfft": ("ifft", True, REAL, "FftC2RBackward0", "real numbers from the first half of their Fourier transform"),
    "hfft": ("fft", True, REAL, "FftC2RBackward0", "Fourier's transform of a signal of which Hermite's half is given"),
    "ihfft": ("ifft", False, REAL, "ConjBackward0", "the half that determines the inverse of a real spectrum"),
}
"""By name: the transform of the other dimensions, whether they come first, whether one side is real, `grad_fn`'s name,
and the meaning."""


REFUSALS = {
    "rfft": ("rfft expects a real input tensor, but got {}", "rfftn expects a real-valued input tensor, but got {}"),
    "ihfft": ("ihfft expects a real input tensor, but got {}", "Only supports floating-point dtypes, but found: {}"),
}
"""torch's errors for complex input of the transforms of real numbers: over one dimension, and over several."""


def _dimension(dim, ndim):
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return axes(dim, ndim)[0]


def _checked(name, input, norm, several=False):
    if norm not in (None, *NORMS):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if input.dtype.itemsize == 2 and input.dtype.kind != "i":
        raise RuntimeError(f"Unsupported dtype {legacy(input)}")
    if name in REFUSALS and jnp.iscomplexobj(input):
        refusal = REFUSALS[name][several].format(legacy(input))
        raise RuntimeError(f"{refusal}\nGive its real part, `x.real`, or take `fft`.")


def _one(name: str) -> Callable[..., Any]:
    def row(input, n: Index | None = None, dim: Index = -1, norm: Text | None = None):
        _checked(name, input, norm)
        return _over(name, input, (n,), (_dimension(dim, input.ndim),), norm)

    return row


def _over(name, input, sizes, dims, norm):
    """The transform over these dimensions, at the lengths `sizes`, None for that of the input."""
    other, others_first, *_ = TRANSFORMS[name]
    last, rest = getattr(jnp.fft, name), getattr(jnp.fft, other)
    lengths = [input.shape[place] if size is None else size for size, place in zip(sizes, dims, strict=True)]
    if others_first and sizes[-1] is None:
        lengths[-1] = 2 * (input.shape[dims[-1]] - 1)
    for each in lengths:
        if each < 1:
            raise RuntimeError(f"Invalid number of data points ({each}) specified")
    steps = [(rest, size, place) for size, place in zip(lengths[:-1], dims[:-1], strict=True)]
    steps.insert(len(steps) if others_first else 0, (last, lengths[-1], dims[-1]))
    for transform, size, place in steps:
        input = transform(input, size, place, norm)
    return input


def _places(input, s, dim):
    """The dimensions of a transform over several, and the length of each."""
    if dim is None:
        dims = tuple(range(input.ndim)) if s is None else tuple(range(input.ndim - len(s), input.ndim))
        if s is not None and len(s) > input.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {input.ndim} dimensions.")
    else:
        dims = tuple(_dimension(each, input.ndim) for each in ((dim,) if isinstance(dim, int) else dim))
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is None:
        return (None,) * len(dims), dims
    sizes = (s,) if isinstance(s, int) else s
    if len(sizes) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    return tuple(None if size == -1 else size for size in sizes), dims


def _several(name: str, default: tuple[int, ...] | None) -> Callable[..., Any]:
    def row(input, s: Dims = None, dim: Dims = default, norm: Text | None = None):
        _checked(name, input, norm, several=True)
        sizes, dims = _places(input, s, dim)
        if not dims:
            if TRANSFORMS[name][2]:
                raise RuntimeError(f"{name}n must transform at least one axis")
            return input.astype(jnp.result_type(input.dtype, jnp.complex64))
        return _over(name, input, sizes, dims, norm)

    return row


def _refusing_out(name: str) -> Callable[..., None]:
    """RuntimeError where one of result and `out` is complex and the other is not."""

    def refuse(result, out):
        if result.is_complex and not out.is_complex:
            raise RuntimeError(f"{name} expects a complex output tensor, but got {out.legacy}")
        if not result.is_complex and out.category != FLOATING:
            raise RuntimeError(f"{name} expects a floating point output tensor, but got {out.legacy}")

    return refuse


def _declare(name: str, row: Callable[..., Any], grad_fn: str, doc: str) -> None:
    op(name=f"fft_{name}", doc=doc, promotion=FLOAT, grad_fn=grad_fn, refuse_out=_refusing_out(name.replace("2", "n")))(
        row
    )


for _name, _transform in TRANSFORMS.items():
    _node, _meaning = _transform[-2:]
    _declare(_name, _one(_name), _node, f"Along one dimension {_meaning}.")
    _declare(_name + "2", _several(_name, (-2, -1)), _node, f"Over the last two dimensions {_meaning}.")
    _declare(_name + "n", _several(_name, None), _node, f"Over several dimensions, by default all, {_meaning}.")


def _shift(name: str, meaning: str) -> None:
    shifted = getattr(jnp.fft, name)

    @op(name=f"fft_{name}", grad_fn="RollBackward0", out=False, doc=meaning)
    def row(input, dim: Dims = None):
        return shifted(input, axes(dim, input.ndim))


_shift("fftshift", "The spectrum with frequency 0, which a transform gives first, in the middle.")
_shift("ifftshift", "The inverse of `fftshift`.")

# Written by `python -m tools.stubs`.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"

from typing import Any, Literal, NamedTuple, Self, overload
from collections.abc import Sequence
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.devices import device
from jaxvjp.types.dtypes import dtype

def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Along one dimension Fourier's transform."""
def fft2(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Over the last two dimensions Fourier's transform."""
def fftfreq(n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None) -> Tensor:
    """The frequency of each bin of a transform of `n` samples: in hertz, if `d` is the seconds between samples."""
def fftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Over several dimensions, by default all, Fourier's transform."""
def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The spectrum with frequency 0, which a transform gives first, in the middle."""
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Along one dimension Fourier's transform of a signal of which Hermite's half is given."""
def hfft2(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Over the last two dimensions Fourier's transform of a signal of which Hermite's half is given."""
def hfftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Over several dimensions, by default all, Fourier's transform of a signal of which Hermite's half is given."""
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Along one dimension the inverse of Fourier's transform."""
def ifft2(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Over the last two dimensions the inverse of Fourier's transform."""
def ifftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Over several dimensions, by default all, the inverse of Fourier's transform."""
def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`."""
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Along one dimension the half that determines the inverse of a real spectrum."""
def ihfft2(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Over the last two dimensions the half that determines the inverse of a real spectrum."""
def ihfftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Over several dimensions, by default all, the half that determines the inverse of a real spectrum."""
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Along one dimension real numbers from the first half of their Fourier transform."""
def irfft2(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Over the last two dimensions real numbers from the first half of their Fourier transform."""
def irfftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Over several dimensions, by default all, real numbers from the first half of their Fourier transform."""
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Along one dimension the first half of Fourier's transform of real numbers."""
def rfft2(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = (-2, -1), norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Over the last two dimensions the first half of Fourier's transform of real numbers."""
def rfftfreq(n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: dtype | None = None, layout: Any = None, device: device | str | int | None = None, requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None) -> Tensor:
    """The frequency of each bin of a transform of `n` real samples, `d` apart: in hertz for seconds."""
def rfftn(input: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] | None = None, norm: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Over several dimensions, by default all, the first half of Fourier's transform of real numbers."""

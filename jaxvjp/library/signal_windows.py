"""torch's `signal.windows`: window functions, by which a frame of a signal is multiplied.

With `sym` a window is symmetric; without it, it is one period of a periodic function, as a Fourier transform assumes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import numpy as np

from jaxvjp.library.factories import factory
from jaxvjp.library.windows import Array, cosines
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: N812 - `dtype` is an argument's name here
from jaxvjp.types.dtypes import float32, float64, get_default_dtype

UNDERNEATH = "NumPy's formula, a leaf"


def _window(heights: Callable[..., Array]) -> Callable[..., Array]:
    """Publishes the window whose values `heights` computes, with torch's checks of length and dtype; returns
    `heights`."""
    name = heights.__name__

    @wraps(heights)
    def make(M: int, *, dtype: Dtype | None = None, **named: Any) -> tuple[Array, Dtype]:
        own = dtype or get_default_dtype()
        _check(CHECKED_AS.get(name, name), M, own)
        return heights(M, **named), own

    factory(make, "signal.windows")
    return heights


CHECKED_AS = dict.fromkeys(["hamming", "hann", "general_hamming", "nuttall"], "general_cosine")
"""Windows that torch computes by another one, whose name is in its errors."""


def _check(name: str, length: int, own: Dtype) -> None:
    if length < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={length}")
    if own not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {own}")


def _places(length: int, sym: bool) -> Array:
    """The sample points of a window from 0 to 1; a single one is in the middle."""
    return np.arange(length) / (length - sym) if length != 1 else np.array([0.5])


def _from_middle(length: int, sym: bool) -> Array:
    """The sample points in steps of 1, from the middle."""
    middle = (length - (sym or length == 1)) / 2
    places: Array = np.arange(length) - middle
    return places


@_window
def bartlett(M: int, *, sym: bool = True) -> Array:
    """A triangle that starts from 0."""
    from_end: Array = 1 - np.abs(2 * _places(M, sym) - 1)
    return from_end


@_window
def cosine(M: int, *, sym: bool = True) -> Array:
    """The upper half of a cosine."""
    return np.sin(np.pi * (np.arange(M) + 0.5) / (M + (not sym and M > 1)))


@_window
def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True) -> Array:
    """`exp(-|distance| / tau)` from the middle or, of one that is not symmetric, from `center`."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return np.exp(-np.abs(_from_middle(M, sym) if center is None else np.arange(M) - center) / tau)


@_window
def gaussian(M: int, *, std: float = 1.0, sym: bool = True) -> Array:
    """A bell of standard deviation `std`."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return np.exp(-((_from_middle(M, sym) / std) ** 2) / 2)


@_window
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True) -> Array:
    """Kaiser's window, the narrower the larger `beta`."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return np.i0(beta * np.sqrt(np.maximum(1 - (2 * _places(M, sym) - 1) ** 2, 0))) / np.i0(beta)


@_window
def general_cosine(M: int, *, a: Iterable[float], sym: bool = True) -> Array:
    """The alternating sum of cosines of 0, 1, 2, … periods with the weights `a`."""
    if M < 2:
        return np.ones(M)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return cosines(_places(M, sym), *a)


@_window
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True) -> Array:
    """`alpha` minus a period of a cosine times `1 - alpha`."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym)


@_window
def hamming(M: int, *, sym: bool = True) -> Array:
    """A period of a cosine, raised so that it starts from 0.08."""
    return general_hamming(M, sym=sym)


@_window
def hann(M: int, *, sym: bool = True) -> Array:
    """A period of a cosine, raised to start from 0."""
    return general_hamming(M, alpha=0.5, sym=sym)


@_window
def blackman(M: int, *, sym: bool = True) -> Array:
    """A sum of two cosines that starts from 0."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym)


@_window
def nuttall(M: int, *, sym: bool = True) -> Array:
    """Nuttall's sum of three cosines."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym)

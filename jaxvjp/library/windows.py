"""What goes with Fourier transforms: window functions, by which a frame of a signal is multiplied, and frequencies.

`hann_window` and its like are `periodic` unless told otherwise. Those of torch's `signal.windows` are symmetric with
`sym`; without it, each is one period of a periodic function, as a Fourier transform assumes. `fftfreq` and
`rfftfreq` are the frequencies of a discrete transform's bins.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from jaxvjp.library.factories import factory
from jaxvjp.types.dtypes import Dtype, float32, float64, get_default_dtype

UNDERNEATH = "NumPy's formula, a leaf"

Array = np.ndarray[Any, Any]


def cosines(places: Array, *weights: float) -> Array:
    """The alternating sum of cosines of 0, 1, 2, … periods with these weights."""
    return sum(((-1) ** k * weight * np.cos(2 * np.pi * k * places) for k, weight in enumerate(weights)), 0 * places)


def _triangle(places: Array) -> Array:
    return 1 - np.abs(2 * places - 1)


def _kaiser(places: Array, beta: float) -> Array:
    return np.i0(beta * np.sqrt(np.maximum(1 - (2 * places - 1) ** 2, 0))) / np.i0(beta)


def _window(name: str, shape: Callable[..., Array], defaults: dict[str, float], meaning: str) -> None:
    """Publishes a window; `shape` computes its values at points from 0 to 1, with torch's further arguments."""

    def make(
        window_length: int, periodic: bool = True, *given: float, dtype: Dtype | None = None, **named: float
    ) -> tuple[Any, Dtype]:
        own = dtype or get_default_dtype()
        if not own.differentiable:
            raise RuntimeError(f"{name} expects floating point dtypes, got: torch.{own.name}")
        if window_length < 0:
            raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
        further = {**defaults, **dict(zip(defaults, given, strict=False)), **named}
        last = window_length if periodic else window_length - 1
        places = np.arange(window_length) / max(last, 1)
        return (shape(places, **further) if window_length != 1 else np.ones(1)), own

    length, periodic, _, dtype_, _ = inspect.signature(make, eval_str=True).parameters.values()
    further = [periodic.replace(name=key, default=value, annotation=float) for key, value in defaults.items()]
    vars(make)["__signature__"] = inspect.Signature([length, periodic, *further, dtype_])
    make.__name__, make.__doc__ = name, f"{meaning}; `periodic` for one whose next height would be the first again."
    factory(make)


_window("bartlett_window", _triangle, {}, "A triangle")
_window("hann_window", lambda x: cosines(x, 0.5, 0.5), {}, "One period of a cosine, raised to start from 0")
_window(
    "hamming_window",
    lambda x, alpha, beta: cosines(x, alpha, beta),
    {"alpha": 0.54, "beta": 0.46},
    "`alpha` minus a period of a cosine times `beta`",
)
_window("blackman_window", lambda x: cosines(x, 0.42, 0.5, 0.08), {}, "A sum of two cosines that starts from 0")
_window("kaiser_window", _kaiser, {"beta": 12.0}, "Kaiser's window, the narrower the larger `beta`")

# Those of `signal.windows`.


def _of_signals(heights: Callable[..., Array]) -> Callable[..., Array]:
    """Publishes the window whose values `heights` computes, with torch's checks of length and dtype; returns
    `heights`."""
    name = heights.__name__
    told = CHECKED_AS.get(name, name)

    @wraps(heights)
    def make(M: int, *, dtype: Dtype | None = None, **named: Any) -> tuple[Array, Dtype]:
        own = dtype or get_default_dtype()
        if M < 0:
            raise ValueError(f"{told} requires non-negative window length, got M={M}")
        if own not in (float32, float64):
            raise ValueError(f"{told} expects float32 or float64 dtypes, got: {own}")
        return heights(M, **named), own

    factory(make, "signal.windows")
    return heights


CHECKED_AS = dict.fromkeys(["hamming", "hann", "general_hamming", "nuttall"], "general_cosine")
"""Windows that torch computes by another one, whose name is in its errors."""


def _places(length: int, sym: bool) -> Array:
    """The sample points of a window from 0 to 1; a single one is in the middle."""
    return np.arange(length) / (length - sym) if length != 1 else np.array([0.5])


def _from_middle(length: int, sym: bool) -> Array:
    """The sample points in steps of 1, from the middle."""
    return np.arange(length) - (length - (sym or length == 1)) / 2


@_of_signals
def bartlett(M: int, *, sym: bool = True) -> Array:
    """A triangle that starts from 0."""
    return _triangle(_places(M, sym))


@_of_signals
def cosine(M: int, *, sym: bool = True) -> Array:
    """The upper half of a cosine."""
    return np.sin(np.pi * (np.arange(M) + 0.5) / (M + (not sym and M > 1)))


@_of_signals
def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True) -> Array:
    """`exp(-|distance| / tau)` from the middle or, of one that is not symmetric, from `center`."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return np.exp(-np.abs(_from_middle(M, sym) if center is None else np.arange(M) - center) / tau)


@_of_signals
def gaussian(M: int, *, std: float = 1.0, sym: bool = True) -> Array:
    """A bell of standard deviation `std`."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return np.exp(-((_from_middle(M, sym) / std) ** 2) / 2)


@_of_signals
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True) -> Array:
    """Kaiser's window, the narrower the larger `beta`."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _kaiser(_places(M, sym), beta)


@_of_signals
def general_cosine(M: int, *, a: Iterable[float], sym: bool = True) -> Array:
    """The alternating sum of cosines of 0, 1, 2, … periods with the weights `a`."""
    if M < 2:
        return np.ones(M)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return cosines(_places(M, sym), *a)


@_of_signals
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True) -> Array:
    """`alpha` minus a period of a cosine times `1 - alpha`."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym)


def _sum_of_cosines(name: str, a: list[float], meaning: str) -> None:
    def heights(M: int, *, sym: bool = True) -> Array:
        return general_cosine(M, a=a, sym=sym)

    heights.__name__ = heights.__qualname__ = name
    heights.__doc__ = meaning
    _of_signals(heights)


NUTTALL = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
_sum_of_cosines("hamming", [0.54, 1.0 - 0.54], "A period of a cosine, raised so that it starts from 0.08.")
_sum_of_cosines("hann", [0.5, 0.5], "A period of a cosine, raised to start from 0.")
_sum_of_cosines("blackman", [0.42, 0.5, 0.08], "A sum of two cosines that starts from 0.")
_sum_of_cosines("nuttall", NUTTALL, "Nuttall's sum of three cosines.")

# Frequencies.


def fftfreq(n: int, d: float = 1.0, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """The frequency of each bin of a transform of `n` samples: in hertz, if `d` is the seconds between samples."""
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    return _frequencies("fftfreq", [*range((n + 1) // 2), *range(-(n // 2), 0)], n, d, dtype)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """The frequency of each bin of a transform of `n` real samples, `d` apart: in hertz for seconds."""
    return _frequencies("rfftfreq", range(n // 2 + 1), n, d, dtype)


def _frequencies(name: str, numbers: Sequence[int], n: int, d: float, own: Dtype | None) -> tuple[Array, Dtype]:
    own = own or get_default_dtype()
    if not own.differentiable:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    with np.errstate(divide="ignore", invalid="ignore"):  # n or d may be 0
        return np.array(numbers, np.float64) * (1 / np.float64(n * d)), own


for _each in (fftfreq, rfftfreq):
    factory(_each, "fft")

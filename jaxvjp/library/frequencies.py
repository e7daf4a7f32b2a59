"""The frequencies of a discrete Fourier transform's bins: `fftfreq` and `rfftfreq` of torch's `fft`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxvjp.library.factories import factory
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: N812 - `dtype` is an argument's name here
from jaxvjp.types.dtypes import get_default_dtype

UNDERNEATH = "NumPy's formula, a leaf"


def fftfreq(n: int, d: float = 1.0, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """The frequency of each bin of a transform of `n` samples: in hertz, if `d` is the seconds between samples."""
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    return _frequencies("fftfreq", [*range((n + 1) // 2), *range(-(n // 2), 0)], n, d, dtype)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """The frequency of each bin of a transform of `n` real samples, `d` apart: in hertz for seconds."""
    return _frequencies("rfftfreq", range(n // 2 + 1), n, d, dtype)


def _frequencies(
    name: str, numbers: Sequence[int], n: int, d: float, own: Dtype | None
) -> tuple[np.ndarray[Any, Any], Dtype]:
    own = own or get_default_dtype()
    if not own.differentiable:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    with np.errstate(divide="ignore", invalid="ignore"):  # n or d may be 0
        return np.array(numbers, np.float64) * (1 / np.float64(n * d)), own


for _each in (fftfreq, rfftfreq):
    factory(_each, "fft")

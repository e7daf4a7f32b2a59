"""torch's `fft`: Fourier transforms, one row of `ops` each, and the frequencies. `creation` comes before this room."""

from typing import Any

import numpy as np

from jaxvjp.creation import factory
from jaxvjp.dtypes import dtype as Dtype  # noqa: N812 - `dtype` is an argument's name here
from jaxvjp.dtypes import get_default_dtype
from jaxvjp.functions import functions_in


def fftfreq(n: int, d: float = 1.0, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """The frequencies that a transform of `n` samples, `d` apart, is about."""
    return np.fft.fftfreq(n, d), dtype or get_default_dtype()


def rfftfreq(n: int, d: float = 1.0, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """The frequencies that a transform of `n` real samples, `d` apart, is about."""
    return np.fft.rfftfreq(n, d), dtype or get_default_dtype()


for _each in (fftfreq, rfftfreq):
    factory(_each, "fft")
globals().update(functions_in("fft"))

"""Window functions by which a frame of a signal is multiplied, such as `hann_window`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxvjp.library.factories import factory
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: N812 - `dtype` is an argument's name here
from jaxvjp.types.dtypes import get_default_dtype

UNDERNEATH = "NumPy's formula, a leaf"

Array = np.ndarray[Any, Any]


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


def cosines(places: Array, *weights: float) -> Array:
    """The alternating sum of cosines of 0, 1, 2, … periods with these weights."""
    return sum(((-1) ** k * weight * np.cos(2 * np.pi * k * places) for k, weight in enumerate(weights)), 0 * places)


_window("bartlett_window", lambda x: 1 - np.abs(2 * x - 1), {}, "A triangle")
_window("hann_window", lambda x: cosines(x, 0.5, 0.5), {}, "One period of a cosine, raised to start from 0")
_window(
    "hamming_window",
    lambda x, alpha, beta: cosines(x, alpha, beta),
    {"alpha": 0.54, "beta": 0.46},
    "`alpha` minus a period of a cosine times `beta`",
)
_window("blackman_window", lambda x: cosines(x, 0.42, 0.5, 0.08), {}, "A sum of two cosines that starts from 0")
_window(
    "kaiser_window",
    lambda x, beta: np.i0(beta * np.sqrt(np.maximum(1 - (2 * x - 1) ** 2, 0))) / np.i0(beta),
    {"beta": 12.0},
    "Kaiser's window, the narrower the larger `beta`",
)

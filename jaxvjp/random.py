"""Random numbers: torch's own, for the same seed. `dtypes` comes before this room.

torch draws on the CPU from an MT19937, and so does NumPy's legacy generator, seeded in the same way; what is left is
how torch turns 32-bit draws into floats. Numbers are drawn on the host, whichever device they then go to.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jaxvjp.core.modes import staging
from jaxvjp.dtypes import dtype, float64

Array = np.ndarray[Any, Any]
DEFAULT_SEED = 67280421310721
"""torch's seed before anybody calls `manual_seed`."""
CHUNK = 16
"""From this many normal draws on, torch makes them 16 at a time."""


class Generator:
    """A source of random numbers, as `torch.Generator` on the CPU."""

    def __init__(self) -> None:
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Starts over from `seed`; torch's generator takes its lowest 32 bits."""
        self._seed = seed
        self._draws = np.random.RandomState(seed & 0xFFFFFFFF)
        self._spare: float | None = None
        return self

    def initial_seed(self) -> int:
        return self._seed

    def _bits32(self, count: int) -> Array:
        if staging.journal is not None:
            staging.journal.refuse("draws random numbers, which would be the same at each call")
        return self._draws.randint(0, 1 << 32, size=count, dtype=np.uint32)

    def _bits64(self, count: int) -> Array:
        pairs = self._bits32(2 * count).astype(np.uint64).reshape(count, 2)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    def _doubles(self, count: int) -> Array:
        return (self._bits64(count) & np.uint64((1 << 53) - 1)) * 2.0**-53

    def uniform(self, count: int, own: dtype) -> Array:
        """`count` draws from [0, 1), bit for bit those of `torch.rand`."""
        if own is float64:
            return self._doubles(count)
        digits = {2: 11 if own.name == "float16" else 8}.get(own.itemsize, 24)
        return ((self._bits32(count) & np.uint32((1 << digits) - 1)) * 2.0**-digits).astype(own.numpy)

    def normal(self, count: int, own: dtype) -> Array:
        """`count` draws from the standard normal distribution: those of `torch.randn`, within 3 ulp."""
        if count < CHUNK:
            return np.array([self._one_normal() for _ in range(count)], own.numpy)
        computed = own.numpy if own.itemsize >= 4 else np.dtype(np.float32)
        uniform = self.uniform(count, own).astype(computed)
        full = count - count % CHUNK
        drawn = np.concatenate([_box_muller(uniform[:full]), uniform[full:]])
        if full < count:  # torch fills the last 16 anew, from fresh draws
            drawn[-CHUNK:] = _box_muller(self.uniform(CHUNK, own).astype(computed))
        return drawn.astype(own.numpy)

    def _one_normal(self) -> float:
        if self._spare is not None:
            drawn, self._spare = self._spare, None
            return drawn
        angle, distance = (float(each) for each in self._doubles(2))
        radius = math.sqrt(-2.0 * math.log1p(-distance))
        self._spare = radius * math.sin(2.0 * math.pi * angle)
        return radius * math.cos(2.0 * math.pi * angle)


def _box_muller(uniform: Array) -> Array:
    """Normal draws of uniform ones, sixteen by sixteen: the first eight give the radii, the others the angles.

    Differences and products are rounded as torch rounds them; the functions are computed in float64, which is nearer
    to torch's own float32 approximations than NumPy's are.
    """
    near, far = uniform.reshape(-1, 2, CHUNK // 2).swapaxes(0, 1)
    radius = np.sqrt(-2 * np.log((1 - near).astype(np.float64)))
    angle = (far * uniform.dtype.type(2 * math.pi)).astype(np.float64)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1).astype(uniform.dtype)


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator and returns it; counterpart of `torch.manual_seed`."""
    return default_generator.manual_seed(seed)


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()

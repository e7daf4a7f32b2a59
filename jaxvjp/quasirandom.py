"""torch's `quasirandom`: points of Sobol sequences, which fill a cube more evenly than random ones.

The direction numbers are those of Joe and Kuo (https://web.maths.unsw.edu.au/~fkuo/sobol/), which SciPy brings along.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np

from jaxvjp.library.creation import tensor
from jaxvjp.library.generator import Generator
from jaxvjp.library.random_tensors import randint
from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.out_argument import write_out
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import dtype as Dtype  # noqa: N812 - `dtype` is an argument's name here
from jaxvjp.types.dtypes import get_default_dtype

__all__ = ["SobolEngine"]

Array = np.ndarray[Any, Any]


def _directions(dimension: int, bits: int) -> Array:
    """A row of direction numbers for each dimension: what is xored into a point where its Gray code changes a bit."""
    scipy = find_spec("scipy")
    if scipy is None or scipy.origin is None:
        raise ImportError("SobolEngine reads the direction numbers that SciPy brings along: pip install scipy")
    with np.load(Path(scipy.origin).parent / "stats" / "_sobol_direction_numbers.npz") as table:
        polynomials, first = table["poly"][:dimension].tolist(), table["vinit"][:dimension]
    numbers = np.ones((dimension, bits), np.int64)
    for polynomial, begun, row in zip(polynomials[1:], first[1:], numbers[1:], strict=True):
        degree = polynomial.bit_length() - 1
        row[:degree] = begun[:degree]
        for place in range(degree, bits):
            row[place] = row[place - degree]
            for back in range(1, degree + 1):
                if polynomial >> (degree - back) & 1:
                    row[place] ^= row[place - back] << back
    return numbers << np.arange(bits - 1, -1, -1)


class SobolEngine:
    """Draws the points of a Sobol sequence, one after the other, in a cube from 0 to 1.

    Args:
        dimension: how many numbers a point has, at most `MAXDIM`; ValueError for others.
        scramble: whether to shift and turn the points at random.
        seed: what to seed a generator of its own for that with; None for the usual one.

    Attributes: `num_generated`, how many points it has drawn. ImportError where SciPy, which has the direction numbers,
    is not installed. Counterpart of `torch.quasirandom.SobolEngine`.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.__directions__ = _directions(dimension, self.MAXBIT)
        self.__shift__ = np.zeros(dimension, np.int64)
        if scramble:
            self._scramble()
        self.__point__: Array = self.__shift__
        self.num_generated = 0

    def _scramble(self) -> None:
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        bits = np.arange(self.MAXBIT)
        self.__shift__ = randint(2, (self.dimension, self.MAXBIT), generator=generator).numpy() @ (1 << bits)
        drawn = randint(2, (self.dimension, self.MAXBIT, self.MAXBIT), generator=generator).numpy()
        turns = np.tril(drawn, -1) + np.eye(self.MAXBIT, dtype=np.int64)
        parts = self.__directions__[..., None] >> bits[::-1] & 1
        self.__directions__ = (parts @ turns.swapaxes(1, 2) & 1) @ (1 << bits[::-1])

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Dtype | None = None) -> Tensor:
        """The next `n` points, a row each.

        Args:
            n: how many.
            out: a tensor to write them to.
            dtype: their dtype, by default the default dtype.
        """
        own = dtype or get_default_dtype()
        first = [] if self.num_generated else [self.__point__]
        points = np.vstack([*first, _following(self, n - len(first))])
        self.num_generated += n
        result = tensor(points.astype(own.numpy) * own.numpy.type(2.0**-self.MAXBIT), dtype=own)
        return result if out is None else write_out(out, result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Dtype | None = None) -> Tensor:
        """The next 2 to the power of `m` points; ValueError where that gives no power of 2 in all.

        Args:
            m: the logarithm of how many.
            out: a tensor to write them to.
            dtype: their dtype, by default the default dtype.
        """
        count = 2**m
        total = self.num_generated + count
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(count, out, dtype)

    def reset(self) -> Self:
        """Begins anew."""
        self.__point__, self.num_generated = self.__shift__, 0
        return self

    def fast_forward(self, n: int) -> Self:
        """Leaves out the next `n` points.

        Args:
            n: how many.
        """
        _following(self, n - (not self.num_generated))
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        told = [f"dimension={self.dimension}"]
        told += ["scramble=True"] if self.scramble else []
        told += [] if self.seed is None else [f"seed={self.seed}"]
        return f"SobolEngine({', '.join(told)})"


def _following(engine: SobolEngine, count: int) -> Array:
    """The points after the present one, which the last of them becomes."""
    first = max(engine.num_generated, 1)
    changed = [(~number & number + 1).bit_length() - 1 for number in range(first - 1, first - 1 + count)]
    points = np.bitwise_xor.accumulate(np.vstack([engine.__point__, engine.__directions__.T[changed]]))
    engine.__point__ = points[-1]
    return points[1:]


complete_all(globals(), __all__, "quasirandom")

__dir__ = __all__.copy

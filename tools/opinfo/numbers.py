"""What elementwise ops make of numbers at the edges of a type, beside torch: `python -m tools.opinfo --numbers exp`.

Zeros of both signs, infinities, NaN, denormals, the largest numbers and others between go through each elementwise
entry of torch's database, in four types. Where the results differ, mpmath says which is nearer to the exact number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import jaxvjp
from tools.opinfo.check import counterpart
from tools.opinfo.conversion import array_of

TYPES = {"float64": 4.0, "float32": 4.0, "float16": 1.0, "bfloat16": 1.0}
"""By type, how many units in the last place two results may be apart."""
NAN, OVERFLOW, ZERO, DENORMAL, DIGITS, PAYLOAD = "NaN", "infinity", "sign of zero", "denormal", "digits", "bits of NaN"
NEITHER, THEIRS, OURS, UNKNOWN = "neither", "torch", "here", "nobody"


class Case(NamedTuple):
    """A result that differs: what differs, for which operands, and what torch and jaxvjp give."""

    what: str
    operands: tuple[float, ...]
    theirs: float
    ours: float
    exact: Any
    nearer: str

    def __str__(self) -> str:
        operands = ", ".join(f"{operand:.9g}" for operand in self.operands)
        exact = "" if self.exact is None else f", exactly {float(self.exact):.9g}"
        return f"of {operands} torch gives {self.theirs:.9g}, here {self.ours:.9g}{exact}"


def elementwise(op: Any) -> int:
    """How many operands an entry of the database has, if it is elementwise on floats; else 0.

    0 for polynomials, too: their second operand is an order, and torch goes through all orders below it.
    """
    from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

    if "_polynomial_" in op.name:
        return 0
    return 1 if isinstance(op, UnaryUfuncInfo) else 2 if isinstance(op, BinaryUfuncInfo) else 0


def values(name: str, few: bool) -> list[float]:
    """Numbers of a type, as float64."""
    import torch

    kind = torch.finfo(getattr(torch, name))
    unit = kind.smallest_normal * kind.eps
    edges = [0.0, unit, kind.smallest_normal - unit, kind.smallest_normal, kind.max, math.inf, 1.0, 0.5, 3.0]
    if not few:
        edges += [kind.eps, 1 + kind.eps, 1 - kind.eps / 2, kind.max / 2, math.pi, math.pi / 2, 2.0, 1.5, 2.5, 0.1]
        edges += [11.2, 16.7, 87.5, 88.8, 104.5, 709.9, 745.2, 1e4, 1e5, 1e8, 1e15, 1e22, 9.3, 33.3, 170.7, 1e-3, 1e-5]
        edges += [10.0**each for each in range(-40, 39, 5)]
    return [*edges, *[-edge for edge in edges], math.nan]


def operands(name: str, count: int) -> tuple[Any, ...]:
    """torch's tensors of such numbers: all pairs for two operands."""
    import torch

    rows = [*itertools.product(values(name, count > 1), repeat=count)]
    return tuple(
        [torch.tensor(column, dtype=torch.float64).to(getattr(torch, name)) for column in zip(*rows, strict=True)]
    )


def bits(array: Any, size: int) -> Any:
    """The bits of floats; of bfloat16, which NumPy has not, those of a float32."""
    return np.ascontiguousarray(array).view({8: np.uint64, 4: np.uint32, 2: np.uint16}[size])


def cases(op: Any, name: str) -> Iterator[Case]:
    """The results of an entry that differ in a type."""
    import torch

    given = operands(name, elementwise(op))
    expected = op.op(*given)
    if not (isinstance(expected, torch.Tensor) and expected.is_floating_point() and expected.shape == given[0].shape):
        return
    own = [jaxvjp.tensor(array_of(each), dtype=getattr(jaxvjp, name)) for each in given]
    found = counterpart(op)(*own)
    result = str(expected.dtype).removeprefix("torch.")
    if str(found.dtype).rpartition(".")[2] != result:
        raise ValueError(f"{found.dtype} for {expected.dtype}")
    theirs, ours = array_of(expected), array_of(found)
    rows = np.stack([array_of(each).astype(np.float64) for each in given], axis=1)
    kind = torch.finfo(expected.dtype)
    same = bits(theirs, theirs.itemsize) == bits(ours, ours.itemsize)
    for at in np.flatnonzero(~same):
        x, y = float(theirs[at]), float(ours[at])
        what = sort(x, y, kind, TYPES.get(result, 4.0))
        if what == ZERO and math.copysign(1, op.op(*[each[at : at + 1] for each in given]).item()) == math.copysign(
            1, y
        ):
            continue  # torch's own is another among many numbers than alone
        if what is not None:
            row = tuple(rows[at].tolist())
            exact = None if what in (PAYLOAD, ZERO) else exactly(op.name, row)
            yield Case(what, row, x, y, exact, nearer(x, y, exact))


def sort(x: float, y: float, kind: Any, units: float) -> str | None:
    """What differs between two results of a type whose limits are `kind`; None where it is the last digit."""
    if math.isnan(x) and math.isnan(y):
        return PAYLOAD
    if math.isnan(x) or math.isnan(y):
        return NAN
    if x == y == 0:
        return ZERO
    if math.isinf(x) or math.isinf(y):
        near = [abs(each) >= kind.max * (1 - 4 * kind.eps) for each in (x, y)]
        return None if all(near) and x * y > 0 else OVERFLOW
    unit = max(abs(x), kind.smallest_normal) * kind.eps
    if abs(x - y) <= (units + 0.5) * unit and 0 not in (x, y):
        return None
    if max(abs(x), abs(y)) < 2 * kind.smallest_normal:
        return DENORMAL if abs(x - y) > (units + 0.5) * kind.smallest_normal * kind.eps else None
    return DIGITS


def nearer(x: float, y: float, exact: Any) -> str:
    """Which of torch's result and ours is nearer to the exact number."""
    if exact is None:
        return UNKNOWN
    off = [_off(each, exact) for each in (x, y)]
    return NEITHER if off[0] == off[1] else THEIRS if off[0] < off[1] else OURS


def _off(x: float, exact: Any) -> Any:
    import mpmath

    if math.isnan(x) or mpmath.isnan(exact):
        return 0 if math.isnan(x) and mpmath.isnan(exact) else mpmath.inf
    if math.isinf(x) or mpmath.isinf(exact):
        return 0 if x == exact else mpmath.inf
    return abs(x - exact)


def exactly(name: str, row: Sequence[float]) -> Any:
    """The exact number, by mpmath; NaN where it has none; None for a function that it has not."""
    try:
        import mpmath
    except ImportError:
        return None
    function = references(mpmath).get(name.rpartition(".")[2])
    if function is None:
        return None
    with mpmath.workprec(400):
        try:
            exact = function(*[mpmath.mpf(each) for each in row])
        except (ValueError, ZeroDivisionError, OverflowError, mpmath.mp.NoConvergence, MemoryError):
            return None
        return exact.real if getattr(exact, "imag", 0) == 0 else mpmath.nan


def references(mp: Any) -> dict[str, Callable[..., Any]]:
    """mpmath's functions by torch's names."""
    one = mp.mpf(1)

    def real(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Of a function with complex values outside of its domain."""
        return lambda x: mp.nan if mp.isnan(x) else function(x)

    def sigmoid(x: Any) -> Any:
        return one / (1 + mp.exp(-x)) if x > -1e6 else mp.mpf(0)

    def ndtr(x: Any) -> Any:
        return mp.erfc(-x / mp.sqrt(2)) / 2

    functions: dict[str, Callable[[Any], Any]] = {
        **{name: getattr(mp, name) for name in ("exp", "expm1", "log1p", "sin", "cos", "tan", "asin", "acos", "atan")},
        **{
            name: getattr(mp, name)
            for name in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sqrt", "erf", "erfc")
        },
        "log": mp.log,
        "digamma": mp.digamma,
        "i0": lambda x: mp.besseli(0, x),
        "i1": lambda x: mp.besseli(1, x),
        "log2": lambda x: mp.log(x, 2),
        "log10": mp.log10,
        "exp2": lambda x: mp.power(2, x),
        "erfinv": mp.erfinv,
        "rsqrt": lambda x: one / mp.sqrt(x),
        "reciprocal": lambda x: one / x,
        "square": lambda x: x * x,
        "lgamma": lambda x: mp.inf if x < -1e30 else mp.log(abs(mp.gamma(x))),
        "airy_ai": lambda x: mp.nan if mp.isinf(x) else mp.airyai(x),
        "bessel_j0": lambda x: mp.besselj(0, x),
        "bessel_j1": lambda x: mp.besselj(1, x),
        "bessel_y0": lambda x: mp.nan if x < 0 else mp.bessely(0, x),
        "bessel_y1": lambda x: mp.nan if x < 0 else mp.bessely(1, x),
        "modified_bessel_i0": lambda x: mp.besseli(0, x),
        "modified_bessel_i1": lambda x: mp.besseli(1, x),
        "modified_bessel_k0": lambda x: mp.nan if x < 0 else mp.besselk(0, x),
        "modified_bessel_k1": lambda x: mp.nan if x < 0 else mp.besselk(1, x),
        "scaled_modified_bessel_k0": lambda x: mp.nan if x < 0 else mp.besselk(0, x) * mp.exp(x),
        "scaled_modified_bessel_k1": lambda x: mp.nan if x < 0 else mp.besselk(1, x) * mp.exp(x),
        "spherical_bessel_j0": lambda x: mp.sin(x) / x,
        "sigmoid": sigmoid,
        "expit": sigmoid,
        "ndtr": ndtr,
        "i0e": lambda x: mp.besseli(0, x) * mp.exp(-abs(x)),
        "i1e": lambda x: mp.besseli(1, x) * mp.exp(-abs(x)),
        "log_ndtr": lambda x: mp.log1p(-ndtr(-x)) if x > 0 else mp.log(ndtr(x)),
        "logit": lambda x: mp.log(x / (1 - x)),
        "erfcx": _erfcx(mp),
        "logsigmoid": lambda x: -mp.log1p(mp.exp(-x)),
        "tanhshrink": lambda x: x - mp.tanh(x),
        "sinc": _sinc(mp),
        "silu": lambda x: x * sigmoid(x),
        "softsign": lambda x: x / (1 + abs(x)),
        "ndtri": _ndtri(mp),
        "deg2rad": lambda x: x * mp.pi / 180,
        "rad2deg": lambda x: x * 180 / mp.pi,
        "frac": lambda x: x - int(x),
        "entr": lambda x: -x * mp.log(x),
        "mish": lambda x: x * mp.tanh(mp.log1p(mp.exp(x))),
    }
    pairs: dict[str, Callable[[Any, Any], Any]] = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y,
        "true_divide": lambda x, y: x / y,
        "pow": mp.power,
        "float_power": mp.power,
        "atan2": mp.atan2,
        "hypot": lambda x, y: mp.sqrt(x * x + y * y),
        "rsub": lambda x, y: y - x,
        "xlogy": lambda x, y: x * mp.log(y),
        "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
        "xlog1py": lambda x, y: x * mp.log1p(y),
        "fmod": _fmod(mp),
        "remainder": _remainder(mp),
        "__rmod__": lambda x, y: _remainder(mp)(y, x),
        "igamma": lambda a, x: _gamma(mp, a, x, 0, x),
        "igammac": lambda a, x: _gamma(mp, a, x, x, mp.inf),
        "zeta": lambda s, q: _zeta(mp, s, q),
        "logaddexp2": lambda x, y: mp.log(mp.power(2, x) + mp.power(2, y), 2),
    }
    return {**{name: real(each) for name, each in functions.items()}, **pairs}


def _fmod(mp: Any) -> Callable[..., Any]:
    def fmod(x: Any, y: Any) -> Any:
        with mp.workprec(5000):  # the quotient of the largest by the smallest number has 2,100 bits
            return mp.nan if mp.isinf(x) or y == 0 else x if mp.isinf(y) else mp.sign(x) * (abs(x) % abs(y))

    return fmod


def _remainder(mp: Any) -> Callable[..., Any]:
    def remainder(x: Any, y: Any) -> Any:
        rest = _fmod(mp)(x, y)
        return rest + y if rest * y < 0 else rest

    return remainder


def _gamma(mp: Any, order: Any, limit: Any, low: Any, high: Any) -> Any:
    if order < 0 or limit < 0 or (order == 0 and limit == 0) or mp.isnan(order) or mp.isnan(limit):
        return mp.nan
    return mp.gammainc(order, low, high, regularized=True)


def _zeta(mp: Any, order: Any, start: Any) -> Any:
    if mp.isnan(order) or mp.isnan(start) or order < 1:
        return mp.nan
    if order == 1 or (start <= 0 and mp.isint(start)):
        return mp.inf
    if start < -1 or start > 1e6 or (order > 2000 and start < 0):
        raise ValueError("mpmath takes too long")
    return mp.power(start, -order) if order > 2000 else mp.power(start, -order) + mp.zeta(order, start + 1)


def _erfcx(mp: Any) -> Callable[[Any], Any]:
    return lambda x: mp.exp(x * x) * mp.erfc(x)


def _sinc(mp: Any) -> Callable[[Any], Any]:
    return lambda x: mp.mpf(1) if x == 0 else mp.sin(mp.pi * x) / (mp.pi * x)


def _ndtri(mp: Any) -> Callable[[Any], Any]:
    return lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1)

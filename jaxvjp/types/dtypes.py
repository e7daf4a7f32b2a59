"""torch's dtypes, such as `float32`, and its rules for mixing them: `promote_types`, `result_type`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import inf
from typing import Any, Protocol

import ml_dtypes
import numpy as np

from jaxvjp.types.user_code import own_name

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)
"""torch's categories: an operand of a lower one never widens a higher one."""


class dtype:  # noqa: N801 - torch's own spelling
    """An element type, as `torch.dtype`: compared by identity, printed with torch's name.

    Attributes: `numpy` (the NumPy dtype that holds it), `itemsize` (bytes), `category` (BOOL < INTEGRAL < FLOATING <
    COMPLEX), `legacy` (the name that torch's old error messages use: `Float`, `Long`).
    """

    __slots__ = ("category", "itemsize", "legacy", "name", "numpy")

    def __init__(self, name: str, scalar: Any, category: int, legacy: str) -> None:
        self.name = name
        self.numpy = np.dtype(scalar)
        self.itemsize = self.numpy.itemsize
        self.category = category
        self.legacy = legacy

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX

    @property
    def is_signed(self) -> bool:
        return self.numpy.kind != "u" and self.category != BOOL

    @property
    def __numpy_dtype__(self) -> Any:
        """What NumPy 2.4 and later take for it, and so JAX: `jnp.zeros(2, x.dtype)`, `jnp.zeros_like(x)`."""
        return self.numpy

    def to_complex(self) -> dtype:
        """The complex type of which both parts are of this one; RuntimeError where there is none."""
        if self.category < FLOATING or self.itemsize == 1:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.legacy}")
        return self if self.is_complex else _COMPLEX[self.name]

    def to_real(self) -> dtype:
        """The type of the parts of a complex number; RuntimeError for integers."""
        if self.category < FLOATING:
            raise RuntimeError(f"Unexpected ScalarType: {self.legacy}")
        return next((named(real) for real, own in _COMPLEX.items() if own is self and real != "bfloat16"), self)

    @property
    def differentiable(self) -> bool:
        """Whether a tensor of this type can require a gradient."""
        return self.category >= FLOATING

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.name,)


Dtype = dtype  # for who has an argument `dtype`
bool_ = dtype("bool", np.bool_, BOOL, "Bool")
uint8 = dtype("uint8", np.uint8, INTEGRAL, "Byte")
int8 = dtype("int8", np.int8, INTEGRAL, "Char")
int16 = dtype("int16", np.int16, INTEGRAL, "Short")
int32 = dtype("int32", np.int32, INTEGRAL, "Int")
int64 = dtype("int64", np.int64, INTEGRAL, "Long")
float16 = dtype("float16", np.float16, FLOATING, "Half")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOATING, "BFloat16")
float32 = dtype("float32", np.float32, FLOATING, "Float")
float64 = dtype("float64", np.float64, FLOATING, "Double")
complex64 = dtype("complex64", np.complex64, COMPLEX, "ComplexFloat")
complex128 = dtype("complex128", np.complex128, COMPLEX, "ComplexDouble")

uint16 = dtype("uint16", np.uint16, INTEGRAL, "UInt16")
uint32 = dtype("uint32", np.uint32, INTEGRAL, "UInt32")
uint64 = dtype("uint64", np.uint64, INTEGRAL, "UInt64")
complex32 = dtype("complex32", np.complex64, COMPLEX, "ComplexHalf")
complex32.itemsize = 4
FLOAT8 = ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")
NAMES = (
    complex32,
    *[dtype(f"float8_{each}", getattr(ml_dtypes, f"float8_{each}"), FLOATING, f"Float8_{each}") for each in FLOAT8],
    dtype("qint8", np.int8, INTEGRAL, "QInt8"),
    dtype("quint8", np.uint8, INTEGRAL, "QUInt8"),
    dtype("qint32", np.int32, INTEGRAL, "QInt32"),
)
"""Types that are only names here: no tensor can have them."""


def check_usable(own: dtype | None) -> None:
    """NotImplementedError for one of `NAMES`."""
    if own in NAMES:
        instead = "complex64" if own is complex32 else "float16" if own.category == FLOATING else "int8"
        raise NotImplementedError(f"torch.{own.name} is only a name here: no tensor has it\nUse torch.{instead}.")


UNSIGNED = (uint16, uint32, uint64)
"""Types that torch has no promotion for, and hardly any kernel."""
_COMPLEX = {"float16": complex32, "bfloat16": complex64, "float32": complex64, "float64": complex128}
ALL = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128)
ALIASES = {
    "short": int16,
    "int": int32,
    "long": int64,
    "half": float16,
    "float": float32,
    "double": float64,
    "chalf": complex32,
    "cfloat": complex64,
    "cdouble": complex128,
}
_FROM_NUMPY = {each.numpy: each for each in (*ALL, *UNSIGNED)}
FROM_PYTHON: dict[Any, dtype] = {bool: bool_, int: int64, float: float64, complex: complex128}
"""What Python's types of numbers stand for where a dtype is asked for: `zeros(2, dtype=float)`."""
_NAMED = {each.name: each for each in (*ALL, *UNSIGNED, *NAMES)}

_default = float32


def named(name: str) -> dtype:
    """The dtype of torch's name, without the "torch."; KeyError where there is none."""
    return _NAMED[name]


def from_numpy(numpy_dtype: Any) -> dtype:
    """The dtype that NumPy (or JAX) calls `numpy_dtype`; TypeError where torch has no such type."""
    try:
        return _FROM_NUMPY[np.dtype(numpy_dtype)]
    except KeyError:
        name = np.dtype(numpy_dtype).type.__name__
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{name}. The only supported types are: float64, float32, float16, "
            "complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        ) from None


def typename(value: Any) -> str:
    """What torch calls the type of an argument: with its module where it is NumPy's."""
    kind = type(value)
    if kind is dtype:
        return "torch.dtype"
    return f"{kind.__module__}.{kind.__name__}" if kind.__module__.partition(".")[0] == "numpy" else kind.__name__


def taken(name: str, value: Any, argument: str = "dtype", position: int | None = None) -> Any:
    """What a function called `name` takes for a dtype: one, None, or Python's `bool`, `int`, `float` or `complex`.

    TypeError, in torch's words, for anything else.
    """
    if value is None or type(value) is dtype:
        return value
    if isinstance(value, type) and value in FROM_PYTHON:
        return FROM_PYTHON[value]
    place = "" if position is None else f" (position {position})"
    told = f"{name}(): argument '{argument}'{place} must be torch.dtype, not {typename(value)}"
    raise TypeError(told + advice_on_type(value))


def advice_on_type(value: Any) -> str:
    """What to write in place of a dtype of NumPy's or JAX's, after a line break; nothing for another value."""
    try:
        own = _NAMED.get(np.dtype(value).name)
    except TypeError:
        own = None
    return f"\nThat is `{own_name()}.{own.name}`." if own and value is not None and type(value) is not dtype else ""


def python_number(value: Any) -> Any:
    """A number of NumPy's as torch's parser reads it: an int, or else the real part as a float; others as they are."""
    if not isinstance(value, np.generic) or isinstance(value, complex):
        return value
    return int(value) if isinstance(value, np.integer) else float(value)


def get_default_dtype() -> dtype:
    """The floating type of `tensor(1.5)` and of an integer division; counterpart of `torch.get_default_dtype`."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Makes `d` the default floating type; TypeError for any other kind. Counterpart of `torch.set_default_dtype`."""
    global _default
    if not (isinstance(d, dtype) and d.is_floating_point):
        kind = "" if isinstance(d, dtype) else "invalid dtype object: "
        raise TypeError(f"{kind}only floating-point types are supported as the default type\nThat was {d!r}.")
    _default = d
    forget_calls()


class Forgetting(Protocol):
    """Something with a method `clear`."""

    def clear(self) -> None: ...


REMEMBERED: list[Forgetting] = []
"""The caches of calls that `forget_calls` clears, as their entries may depend on the default dtype."""


def forget_calls() -> None:
    """Clears the caches of calls when the default dtype changes: `torch.where(mask, 1.0, 0.0)` has another dtype
    then."""
    for memory in REMEMBERED:
        memory.clear()


def of_number(value: complex) -> dtype:
    """The dtype that a bare Python number has on its own: `tensor(value).dtype`."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return _default
    return default_complex_dtype()


CTYPES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "uint16": "short unsigned int",
    "uint32": "unsigned int",
    "uint64": "long unsigned int",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
"""The C++ names of dtypes, on Linux, in torch's errors for operands that do not match."""
WIDTHS = {"uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int64": "int64_t"}
"""The C++ names of some dtypes in torch's errors for a number that does not fit."""


LARGEST = {
    "float16": 65504.0,
    "bfloat16": (2 - 2.0**-7) * 2.0**127,
    "float32": (2 - 2.0**-23) * 2.0**127,
    "float64": inf,
}
"""The largest number of each floating type."""


def fitted(number: Any, own: dtype) -> Any:
    """A Python number as one of dtype `own`; RuntimeError, in torch's words, where it does not fit.

    A float is truncated to an integer, and negative numbers wrap around in unsigned dtypes.
    """
    overflows = isinstance(number, complex) and own.category < COMPLEX and number.imag != 0
    if isinstance(number, complex) and own.category < COMPLEX:
        number = number.real
    if own.category == INTEGRAL and not overflows:
        limits = np.iinfo(own.numpy)
        least = -limits.max if limits.min == 0 and isinstance(number, int) else limits.min
        overflows = number != number or not least <= number <= limits.max
        if not overflows:
            return int(number) % (limits.max + 1) if limits.min == 0 else int(number)
    if own.category == FLOATING and not overflows:
        overflows = LARGEST[own.name] < abs(number) < inf
    if overflows:
        raise RuntimeError(f"value cannot be converted to type {(CTYPES | WIDTHS)[own.name]} without overflow")
    return number


LEAST, MOST = -(1 << 63), (1 << 64) - 1
"""The smallest and largest integer that torch accepts."""


def within_64_bits(number: Any) -> Any:
    """A Python number unchanged; torch's OverflowError for an integer of more than 64 bits."""
    if isinstance(number, int) and not LEAST <= number <= MOST:
        raise OverflowError(
            ("int too big to convert" if number > 0 else "can't convert negative int to unsigned")
            + f"\nA number that is an int has at most 64 bits; of more, write a float: `float({number:.6e})`."
        )
    return number


def wrapped(number: int, own: dtype, masks: bool = False) -> int:
    """A Python integer beside integer tensors, truncated to the bits of `own`, as in torch's kernels.

    OverflowError for more than 64 bits; RuntimeError if it needs all 64 and the tensors are `masks`.
    """
    if masks and within_64_bits(number) >= 1 << 63:
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote Bool and UInt64"
        )
    least = int(np.iinfo(own.numpy).min)
    return int((within_64_bits(number) - least) % (1 << 8 * own.itemsize)) + least


def default_complex_dtype() -> dtype:
    """The type of `tensor(1j)`: as precise as the default floating type."""
    return complex128 if _default is float64 else complex64


@lru_cache(maxsize=1024)
def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type that holds both; counterpart of `torch.promote_types`.

    Unlike NumPy's table, integers never widen a float: int64 with float32 is float32.
    """
    type1, type2 = taken("promote_types", type1, "type1", 1), taken("promote_types", type2, "type2", 2)
    for own, other in ((type1, type2), (type2, type1)):
        if own in UNSIGNED and other is not own and other.category <= INTEGRAL:
            raise RuntimeError(
                "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                f"{type1.legacy} and {type2.legacy}"
            )
    low, high = sorted((type1, type2), key=lambda each: (each.category, each.itemsize))
    if low is high:
        return high
    if high.category == FLOATING and low.category < FLOATING:
        return high
    if high is complex32 and (low is float16 or low.category < FLOATING):
        return complex32
    if high.category == COMPLEX:
        return complex128 if complex128 in (low, high) or low is float64 else complex64
    if low.category == FLOATING:  # both floating: float16 and bfloat16 together give float32
        return high if high.itemsize > low.itemsize else float32
    return from_numpy(np.promote_types(low.numpy, high.numpy))


def result_type(dimensioned: Iterable[dtype], scalars: Iterable[dtype], numbers: Iterable[dtype]) -> dtype:
    """What operands of these types become: tensors with dimensions, 0-dim tensors, and Python numbers.

    torch's rule: a later group takes part in the result only where its category is higher than that of those before
    it (`int32_vector * 2.5` is float32, `float32_vector * float64_scalar_tensor` stays float32).
    """
    result: dtype | None = None
    for group in (dimensioned, scalars, numbers):
        own: dtype | None = None
        for each in group:
            own = each if own is None else promote_types(own, each)
        if own is not None:
            result = own if result is None else _outranked(result, own)
    if result is None:
        raise ValueError("result_type needs at least one operand")
    return result


def _outranked(higher: dtype, lower: dtype) -> dtype:
    if lower.category <= higher.category:
        return higher
    if higher.category == FLOATING:  # and the other complex: the result has the tensor's precision
        return complex128 if higher is float64 else complex64
    return lower

"""Numbers in order: `arange`, `linspace`, `logspace`."""

import math
from typing import Any, overload

import numpy as np

from jaxvjp.library.factories import UNDERNEATH as UNDERNEATH
from jaxvjp.library.factories import factory, number, refuse_type
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import BOOL, CTYPES, INTEGRAL, Dtype, default_complex_dtype, fitted, get_default_dtype, int64
from jaxvjp.types.user_code import warn_user

INT64_MAX = 2**63 - 1
NO_STEP = "step must be nonzero"


def _check_bounds(start: Any, end: Any, step: Any) -> None:
    """RuntimeError for bounds between which there are no numbers `step` apart."""
    if not all(math.isfinite(each) for each in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


@overload
def arange(end: complex | Tensor, *, dtype: Dtype | None = None) -> Tensor: ...
@overload
def arange(
    start: complex | Tensor, end: complex | Tensor, step: complex | Tensor = 1, *, dtype: Dtype | None = None
) -> Tensor: ...
@factory
def arange(*bounds: Any, dtype: Dtype | None = None, **named: Any) -> tuple[Any, Dtype]:
    """The numbers from `start` (0) on, below `end`, by `step` (1); integers where all three are."""
    names = ("end",) if len(bounds) == 1 and "end" not in named else ("start", "end", "step")
    given = {"start": 0, "step": 1, **dict(zip(names, bounds, strict=False)), **named}
    places = {each: place for place, each in enumerate(names, 1)}
    start, end, step = (
        number(given[each], f"arange(): argument '{each}' (position {places.get(each, 1)})")
        for each in ("start", "end", "step")
    )
    if any(isinstance(each, complex) for each in (start, end, step)):
        raise RuntimeError("value cannot be converted to type double without overflow\nIt is complex.")
    own = dtype or (int64 if all(isinstance(each, int) for each in (start, end, step)) else get_default_dtype())
    refuse_type("arange_cpu", own, own.category == BOOL or own.is_complex)
    if step == 0:
        raise RuntimeError(NO_STEP)
    length = None if own is int64 else (float(end) - float(start)) / step
    if own.category <= INTEGRAL:  # torch truncates the bounds, but not to compute the count
        start, end, step = (fitted(each, int64) if math.isfinite(each) else each for each in (start, end, step))
    if own is int64 and step == 0:
        raise ValueError(NO_STEP)
    _check_bounds(start, end, step)
    count = -((start - end) // step) if length is None else math.ceil(length)
    if count > INT64_MAX:
        raise RuntimeError("invalid size, possible overflow?")
    if count * own.itemsize > INT64_MAX:
        raise RuntimeError(f"Storage size calculation overflowed with sizes=[{count}]")
    return start + step * np.arange(count), own


def range_(start: float, end: float, step: float = 1, *, dtype: Dtype | None = None) -> tuple[Any, Dtype]:
    """The numbers from `start` to `end`, which is one of them, by `step`; floats, with a warning: see `arange`."""
    warn_user(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end)."
    )
    first, last, by = number(start), number(end), number(step)
    if by == 0:
        raise RuntimeError(NO_STEP)
    _check_bounds(first, last, by)
    own = dtype or get_default_dtype()
    if own.category <= INTEGRAL:
        first, last, by = int(first), int(last), int(by)
    return first + by * np.arange(int((last - first) / by) + 1), own


range_.__name__ = "range"
factory(range_)


def _steps(name: str, start: Any, end: Any, steps: Any) -> int:
    if not isinstance(steps, int):
        got = ", ".join(type(each).__name__ for each in (start, end, steps))
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:")
    dims = [each.ndim if isinstance(each, Tensor) else 0 for each in (start, end)]
    if any(dims):
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got start with {dims[0]} dimension(s) and "
            f"end with {dims[1]} dimension(s)."
        )
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return int(steps)


def _spaced(name: str, numbers: tuple[Any, ...], asked: Dtype | None) -> Dtype:
    """The dtype of numbers at equal distances; RuntimeError where they are complex and another is asked for."""
    if not any(isinstance(each, complex) for each in numbers):
        return asked or get_default_dtype()
    own = default_complex_dtype()
    if asked is not None and not asked.is_complex:
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {CTYPES[own.name]} can't be safely cast to passed dtype {asked.legacy}"
        )
    return asked or own


def _evenly(start: Any, end: Any, steps: int, own: Dtype, between: Any = np.float64) -> Any:
    """`steps` numbers, counted from both ends towards the middle, as in torch; `between` is the step's dtype for
    integers."""
    kind = own.numpy.type if own.differentiable and own.itemsize >= 4 else between
    if own.category == INTEGRAL:
        start, end = fitted(start, own), fitted(end, own)
    if steps == 1:
        return np.array([start])
    step = kind((end - start) / (steps - 1)) if steps else 0
    place = np.arange(steps)
    halfway = place < steps // 2
    return np.where(
        halfway, kind(start) + step * place.astype(kind), kind(end) - step * (steps - 1 - place).astype(kind)
    )


@factory
def linspace(
    start: Tensor | complex, end: Tensor | complex, steps: int, *, dtype: Dtype | None = None
) -> tuple[Any, Dtype]:
    """`steps` numbers from `start` to `end`, equally far apart."""
    count = _steps("linspace", start, end, steps)
    first, last = number(start), number(end)
    own = _spaced("linspace", (first, last), dtype)
    refuse_type("linspace_cpu", own, own.category == BOOL)
    return _evenly(first, last, count, own), own


@factory
def logspace(
    start: Tensor | complex, end: Tensor | complex, steps: int, base: float = 10.0, *, dtype: Dtype | None = None
) -> tuple[Any, Dtype]:
    """`steps` powers of `base`, whose exponents go from `start` to `end`, equally far apart."""
    count = _steps("logspace", start, end, steps)
    first, last = number(start), number(end)
    own = _spaced("logspace", (first, last, base), dtype)
    exponents = _evenly(first, last, count, own, np.float32)
    return np.power(np.asarray(base, np.complex128 if own.is_complex else np.float64), exponents), own

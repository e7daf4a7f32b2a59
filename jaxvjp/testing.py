"""Assertions about tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxvjp.tensor.docstrings import complete_all
from jaxvjp.tensor.tensor import Tensor
from jaxvjp.types.dtypes import float16, from_numpy

__all__ = ["assert_allclose", "assert_close"]


NUMBER = (int, float, complex, np.number)

__dir__ = __all__.copy


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """AssertionError, with the differing elements, unless the two agree in shape and, within tolerance, in value.

    Takes tensors, arrays, (nested lists of) numbers, and dicts of those; a tensor may also be compared with an array, a
    list or a number, which torch refuses. The default tolerances are those of
    `torch.testing.assert_close`, for the less precise of the two dtypes; equal infinities agree.

    Args:
        allow_subclasses: False for a TypeError where one is a tensor and the other of a subclass.
        equal_nan: whether NaNs agree.
        check_device: whether tensors have to be on one device.
        check_dtype: whether tensors have to be of one dtype, and numbers of one type.
        check_layout: accepted, without effect: tensors have one layout.
        check_stride: whether tensors have to have the same strides.
        msg: what the error says instead, or a function that makes it of what the error says.

    ValueError where one of `rtol` and `atol` is given without the other; TypeError for what are no numbers.
    """
    if (rtol is None) != (atol is None):
        which = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {which}.")
    checks = (("device", check_device), ("dtype", check_dtype), ("stride()", check_stride), ("", not allow_subclasses))
    asked = [name for name, wanted in checks if wanted]
    found = _difference(actual, expected, (rtol, atol), equal_nan, asked, ())
    if found:
        raise AssertionError(found if msg is None else msg(found) if callable(msg) else msg)


def _difference(
    actual: Any,
    expected: Any,
    tolerance: tuple[float | None, float | None],
    equal_nan: bool,
    asked: list[str],
    place: tuple[Any, ...],
) -> str:
    """What distinguishes the two, in torch's words, and where in a container that is; nothing where they agree."""
    parts: list[tuple[Any, Any, Any]] | None = None
    told = ""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, more = [sorted(one.keys() - two, key=str) for one, two in ((expected, actual), (actual, expected))]
        if missing or more:
            told = "The keys of the mappings do not match:"
            told += f"\nMissing keys in the actual mapping: {missing}" if missing else ""
            told += f"\nAdditional keys in the actual mapping: {more}" if more else ""
        parts = [(name, actual.get(name), each) for name, each in expected.items()]
    elif all(isinstance(each, Sequence) and not isinstance(each, str) for each in (actual, expected)):
        if len(actual) != len(expected):
            told = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
        parts = [(number, *each) for number, each in enumerate(zip(actual, expected, strict=False))]
    elif actual is None or expected is None:
        told = "" if actual is expected else f"None mismatch: {actual} is not {expected}"
    elif isinstance(actual, bool | np.bool) and isinstance(expected, bool | np.bool):
        told = "" if bool(actual) is bool(expected) else f"Booleans mismatch: {actual} is not {expected}"
    elif isinstance(actual, NUMBER) and isinstance(expected, NUMBER):
        kinds = [type(each.item() if isinstance(each, np.number) else each) for each in (actual, expected)]
        if "dtype" in asked and kinds[0] is not kinds[1]:
            told = f"The (d)types do not match: {kinds[0]} != {kinds[1]}."
        else:
            told = _of_numbers(actual, expected, tolerance, equal_nan)
    elif not _comparable(actual, expected, "" not in asked):
        told = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
        raise TypeError(told + _at(place))
    else:
        told = _of_tensors(actual, expected, asked) or _of_numbers(actual, expected, tolerance, equal_nan)
    if told or parts is None:
        return told and told + _at(place)
    found = (_difference(a, b, tolerance, equal_nan, asked, (*place, name)) for name, a, b in parts)
    return next(filter(None, found), "")


def _at(place: tuple[Any, ...]) -> str:
    """Where in a container it is."""
    return "\n\nThe failure occurred for item " + "".join(f"[{each!r}]" for each in place) if place else ""


def _comparable(actual: Any, expected: Any, subclasses: bool) -> bool:
    """Whether both are tensors, or what NumPy makes numbers of, and if it is asked of one class."""
    if not (subclasses or type(actual) is type(expected)):
        return False
    return all(isinstance(each, Tensor) or _array(each).dtype.kind not in "OSU" for each in (actual, expected))


def _of_tensors(actual: Any, expected: Any, asked: list[str]) -> str:
    """Which of the attributes that are asked for two tensors have differently."""
    if isinstance(expected, Tensor) and isinstance(actual, Tensor):
        told: dict[str, Any] = {"shape": lambda x: x.shape, "stride()": lambda x: x.stride()}
        told |= {name: lambda x, name=name: getattr(x, name) for name in ("device", "dtype")}
        for name in ("shape", *filter(None, asked)):
            one, other = told[name](actual), told[name](expected)
            if one != other:
                return f"The values for attribute '{name}' do not match: {one} != {other}."
    return ""


def _of_numbers(actual: Any, expected: Any, tolerance: tuple[float | None, float | None], equal_nan: bool) -> str:
    given, wanted = _array(actual), _array(expected)
    if given.shape != wanted.shape:
        return f"The values for attribute 'shape' do not match: {given.shape} != {wanted.shape}."
    usual = max(_tolerances(given), _tolerances(wanted))
    rtol, atol = [own if each is None else each for own, each in zip(usual, tolerance, strict=True)]
    exact = rtol == atol == 0
    close = given == wanted if exact else np.isclose(given, wanted, rtol, atol, equal_nan)
    if exact and equal_nan:
        close |= (given != given) & (wanted != wanted)
    if np.all(close):
        return ""
    if given.dtype.kind in "bui":
        given, wanted = given.astype(np.int64), wanted.astype(np.int64)
    with np.errstate(all="ignore"):
        absolute = np.where(close, 0, abs(given - wanted))
        relative = np.where(close, 0, absolute / abs(wanted))
    verdict = "equal" if exact else "close"
    kinds = (("absolute", absolute, atol), ("relative", relative, rtol))
    allowed = ["" if exact else f" (up to {each} allowed)" for _, _, each in kinds]
    if not given.shape:
        lines = [f"Scalars are not {verdict}!\n\nExpected {wanted.item()} but got {given.item()}."]
        lines += [f"{name.title()} difference: {each}{by}" for (name, each, _), by in zip(kinds, allowed, strict=True)]
    else:
        wrong = int(np.sum(~close))
        lines = [
            f"Tensor-likes are not {verdict}!\n\nMismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})"
        ]
        for (name, each, _), by in zip(kinds, allowed, strict=True):
            at = tuple(map(int, np.unravel_index(np.argmax(each), each.shape)))
            lines.append(f"Greatest {name} difference: {each[at].item()} at index {at}{by}")
    return "\n".join(lines)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """`assert_close` for who uses its old name; dtypes may differ. Counterpart of `torch.testing.assert_allclose`.

    Args:
        equal_nan: False for an AssertionError where there is a NaN.
        msg: what the error says instead.
    """
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def _array(value: Any) -> Any:
    return np.asarray(value.__value__ if isinstance(value, Tensor) else value)


def _tolerances(array: Any) -> tuple[float, float]:
    precision = from_numpy(array.dtype)
    if not precision.differentiable:
        return 0.0, 0.0
    if precision.itemsize <= float16.itemsize:
        return (1e-3, 1e-5) if precision is float16 else (1.6e-2, 1e-5)
    return (1.3e-6, 1e-5) if precision.numpy in (np.float32, np.complex64) else (1e-7, 1e-7)


complete_all(globals(), __all__, "testing", "NumPy, on the values")
